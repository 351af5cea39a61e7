"""From private rows to a release: checks, the ledger's charge, a mechanism, its statement."""

from privgmm.curate.publish import release

__all__ = ["release"]
