"""The budget of one table over all of its releases: a SQLite file, spent before noise is drawn."""

from privgmm.ledger.charge import Charge
from privgmm.ledger.ledger import Ledger
from privgmm.ledger.records import Spend, Table
from privgmm.ledger.remaining import Remaining, Total
from privgmm.ledger.tables import digest_of

__all__ = ["Charge", "Ledger", "Remaining", "Spend", "Table", "Total", "digest_of"]
