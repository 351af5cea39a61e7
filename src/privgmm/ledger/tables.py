"""Which table a ledger is about: told by public facts, so that a release is not charged to another's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from privgmm.errors import InputError
from privgmm.ledger.records import Spend, Table

# Hexadecimal digits: tells tables apart, keeps nothing secret.
_DIGITS = 16


def digest_of(
    columns: Sequence[str] | int,
    label: str | None,
    classes: Sequence[Any] | None,
    bounds: Sequence[Sequence[float]] | None,
) -> str:
    """A digest of facts that are public anyway: names (or the number) of columns, stated classes and bounds.

    Two parts, because a release of labels states no bounds. Never give it anything read from rows.
    """
    names = columns if isinstance(columns, int) else list(columns)
    listed = None if classes is None else sorted(str(name) for name in classes)
    return f"{_hash([names, label, listed])}-{'' if bounds is None else _hash(bounds)}"


def check_table(table: Table, named: bool, rows: list[Spend]) -> None:
    """Refuse a table that no earlier release was of, unless the user named it."""
    known = [row.table for row in rows if row.table.digest]
    if named or not table.digest or not known:
        return
    if not _known(table.digest, [other.digest for other in known]):
        raise InputError(
            f"This ledger is about {known[0].name}, and {table.name} has other columns, classes or "
            "bounds; name it with --ledger-table NAME (ledger_table=) if it is about the same people, "
            "or charge that table's own ledger."
        )


def _known(digest: str, others: list[str]) -> bool:
    """Equal names and classes, and equal bounds if any were stated before."""
    names, bounds = digest.split("-")
    kin = [other.split("-")[1] for other in others if other.split("-")[0] == names]
    return bool(kin) and (not bounds or not any(kin) or bounds in kin)


def _hash(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:_DIGITS]
