"""From private rows to a release: check the request, charge the ledger, run a mechanism, write the statement."""

from privgmm.curate.publish import release

__all__ = ["release"]
