"""Thousands of injected faults against releases, samples, reports and ledgers; see ``__main__``."""
