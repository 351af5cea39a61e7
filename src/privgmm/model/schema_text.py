"""A first schema file to fill in: names and kinds of columns, and comments that say what is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

# What can be told of a column without telling a value.
Kind = Literal["number", "integer", "category"]

# Words that make a name that of an identifier: at its start or end; alone; after somebody or something counted.
_ID_WORDS = {
    "id", "ids", "uid", "uuid", "guid", "rowid", "rownames", "ssn", "iban", "nr", "nummer", "identifier",
}  # fmt: skip
_ID_ALONE = {
    "key", "index", "row", "patient", "person", "subject", "participant", "respondent", "household",
    "customer", "meter",
}  # fmt: skip
_ID_ENDS = {"no", "number", "num", "code", "key", "index"}
_OF_SOMEBODY = {
    "patient", "person", "user", "customer", "client", "member", "employee", "student", "subject",
    "participant", "respondent", "home", "household", "meter", "account", "case", "record", "row",
    "sample", "individual", "passport", "phone", "study", "policy", "invoice", "order",
}  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SAVED_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+|X?")

_HEAD = """\
What privgmm is told about {table}, written by 'privgmm schema' from the names and the kinds of its columns.
No value, range, count or level of the table is in this file, and none may be filled in by looking at it:
everything stated here counts as public. Take it from what is known about such tables: a form, a
code book, the range of an instrument. Then: privgmm release {table} --schema THIS_FILE ..."""
_LABEL = (
    "Which column holds the class of a row (remove its own section below; leave both lines out for rows "
    "without classes):"
)
_CLASSES = "Every class that may occur, matched as text and published as written:"
_PERSON = "Which column says whose row it is, if somebody may have several rows:"
_TYPE = "number | integer | category | drop"
_DROP = "named like an identifier; state number, integer or category if it is none"
_BOUNDS = "where values may lie; outside values are clipped"


def like_identifier(name: str) -> bool:
    """Whether a column is named as identifiers are: id, patient_id, homeID, Unnamed: 0, sample number."""
    if _SAVED_INDEX.fullmatch(name.strip()):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    if (
        words[-1] in _ID_WORDS
        or words[0] in _ID_WORDS
        or (len(words) == 1 and words[0] in _ID_ALONE)
    ):
        return True
    return len(words) > 1 and words[-1] in _ID_ENDS and words[-2] in _OF_SOMEBODY


def schema_text(kinds: Mapping[str, Kind], label: str | None, table: str) -> str:
    """The text of a schema file for columns of these kinds, with comments on what to fill in."""
    import tomlkit

    document = tomlkit.document()
    named = "".join(c for c in table if c.isprintable())
    for line in _HEAD.format(table=named).splitlines():
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    if label is None:
        document.add(tomlkit.comment(_LABEL))
        document.add(tomlkit.comment('label = "..."'))
        document.add(tomlkit.comment('classes = ["one", "another"]'))
    else:
        document.add("label", tomlkit.item(label))
        document.add(tomlkit.comment(_CLASSES))
        document.add(tomlkit.comment('classes = ["one", "another"]'))
    document.add(tomlkit.comment(_PERSON))
    document.add(tomlkit.comment('person = "..."'))
    columns = tomlkit.table(is_super_table=True)
    for name, kind in kinds.items():
        if name != label:
            columns.add(name, _column(name, kind))
    document.add("columns", columns)
    return tomlkit.dumps(document)


def _column(name: str, kind: Kind) -> object:
    import tomlkit

    table = tomlkit.table()
    identifier = like_identifier(name)
    table.add("type", tomlkit.item("drop" if identifier else kind))
    table["type"].comment(_DROP if identifier else _TYPE)
    if kind == "category":
        hints = [
            f'levels = ["one", "another"]{"" if identifier else "  # every level that may occur"}'
        ]
    else:
        hints = [f"lo = ...  # {_BOUNDS}", "hi = ..."]
        hints += ["decimals = 1  # samples are rounded so"] * (kind == "number")
    if not identifier:
        for hint in (*hints, "missing = true  # if cells may be empty"):
            table.add(tomlkit.comment(hint))
    table.add(tomlkit.nl())
    return table
