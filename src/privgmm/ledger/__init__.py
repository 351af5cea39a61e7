"""The budget of one table over all of its releases: a SQLite file, spent before noise is drawn."""

from privgmm.ledger.ledger import Charge, Ledger
from privgmm.ledger.records import Spend, Table, digest_of
from privgmm.ledger.remaining import Remaining, Total

__all__ = ["Charge", "Ledger", "Remaining", "Spend", "Table", "Total", "digest_of"]
