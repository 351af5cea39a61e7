"""The budget of one data set over all of its releases: a SQLite file, spent before noise is drawn."""

from privgmm.ledger.ledger import Ledger
from privgmm.ledger.records import Spend
from privgmm.ledger.remaining import Remaining

__all__ = ["Ledger", "Remaining", "Spend"]
