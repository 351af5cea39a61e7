"""Where a release is to be charged, and what its line in the ledger will say beside the cost."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from privgmm.errors import InputError
from privgmm.ledger.ledger import Ledger


@dataclass(frozen=True)
class Charge:
    """A ledger and what one line of it will name.

    ``file`` is the table's file and ``output`` the release's, names only; ``table`` is how the user
    calls the table, which admits one whose public facts the ledger has not seen.
    """

    ledger: Ledger
    file: str = ""
    output: str = ""
    note: str = ""
    table: str | None = None

    @property
    def table_name(self) -> str:
        """How the ledger calls the table: as the user said, or by its file."""
        return self.table or self.file or "a table in memory"


def charge_of(
    ledger: str | os.PathLike[str] | Charge | None, note: str, table: str | None, source: object
) -> Charge | None:
    """The charge that the arguments of ``privgmm.release`` describe."""
    if not isinstance(note, str) or not isinstance(table, (str, type(None))):
        raise InputError("The note and the ledger's name of the table must be texts.")
    if ledger is None:
        if note or table:
            raise InputError("A note and a ledger's name of the table go with a ledger; name one.")
        return None
    if isinstance(ledger, Charge):
        return replace(ledger, note=note, table=table)
    if not isinstance(ledger, (str, os.PathLike)):
        raise InputError("The ledger must be the path of a file.")
    file = Path(source).name if isinstance(source, (str, os.PathLike)) else ""
    return Charge(Ledger(Path(ledger)), file, "", note, table)
