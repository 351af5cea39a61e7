"""Schema files: write one for the user to fill in, and read what the user stated."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from privgmm.errors import InputError
from privgmm.files import read_limited
from privgmm.model.columns import Column
from privgmm.model.labels import label_text
from privgmm.model.mixture import class_names
from privgmm.types import ClassName

# A thousand columns with a hundred levels each are a few MiB.
_LARGEST_FILE = 1 << 24
_TOP = ("label", "classes", "person", "columns")
_OF_COLUMN = ("type", "lo", "hi", "decimals", "missing", "levels")
_TYPES = ("number", "integer", "category", "drop")


@dataclass(frozen=True)
class Schema:
    """Label, classes, person and columns of a table, as stated (docs/schema.md).

    Parameters
    ----------
    label : the column of classes; None for rows without labels
    classes : the class list, published as stated; None where it was not stated
    person : the column that says whose row it is, if a person may have several
    columns : the features, in the order in which they are stated
    dropped : names of columns that are left out, ``type = "drop"``
    """

    label: str | None = None
    classes: tuple[ClassName, ...] | None = None
    person: str | None = None
    columns: tuple[Column, ...] = ()
    dropped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        for role, name in (("label", self.label), ("person", self.person)):
            if name in names:
                raise InputError(
                    f"The {role} {name!r} cannot be a feature too; remove [columns.{_key(name)}] or "
                    'set its type = "drop".'
                )
        if self.label is not None and self.label == self.person:
            raise InputError(f"{self.label!r} is stated as label and as person; name two columns.")
        if len(set(names)) != len(names):
            raise InputError("The schema states one of its columns twice; state each once.")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema file (TOML); a refusal names the column that is wrong."""
        return parse_schema(read_limited(path, _LARGEST_FILE), str(path))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the feature columns."""
        return tuple(column.name for column in self.columns)


def schema_of(given: object) -> Schema:
    """A schema as callers give it: the object itself, or the path of its file."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Schema.load(given)
    raise InputError("The schema must be a privgmm.Schema or the path of a schema file.")


def parse_schema(data: bytes, where: str) -> Schema:
    """The schema in a file's bytes, or one sentence on what is wrong with it."""
    try:
        document = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{where} is not UTF-8 text; save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as problem:
        raise InputError(f"{where} is not valid TOML: {str(problem)[:200]}.") from None
    except (RecursionError, ValueError):  # endlessly nested lists; a number of 5,000 digits
        raise InputError(f"{where} is not a schema; make one with 'privgmm schema'.") from None
    unknown = [key for key in document if key not in _TOP]
    if unknown:
        raise InputError(
            f"{where} states {unknown[0]!r}, which no schema has; it can have label, classes, person and "
            "[columns.NAME]."
        )
    columns, dropped = _columns(document.get("columns", {}), where)
    classes = document.get("classes")
    if classes is not None and not (isinstance(classes, list) and classes):
        raise InputError(f'The classes in {where} must be a list, e.g. classes = ["yes", "no"].')
    return Schema(
        _name(document, "label", where),
        None if classes is None else class_names(classes),
        _name(document, "person", where),
        columns,
        dropped,
    )


def _name(document: Mapping[str, Any], key: str, where: str) -> str | None:
    value = document.get(key)
    if value is not None and not (isinstance(value, str) and value):
        raise InputError(f'The {key} in {where} must be a column name in quotes: {key} = "...".')
    return value


def _columns(tables: object, where: str) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    if not isinstance(tables, dict):
        raise InputError(f"The columns in {where} must be tables: [columns.NAME].")
    kept, dropped = [], []
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(
                f"The column {name!r} in {where} must be a table: [columns.{_key(name)}]."
            )
        unknown = [key for key in table if key not in _OF_COLUMN]
        if unknown:
            raise InputError(
                f"The column {name!r} in {where} states {unknown[0]!r}, which no column has; it can have "
                f"{', '.join(_OF_COLUMN)}."
            )
        kind = table.get("type", "number")
        if kind not in _TYPES:
            raise InputError(
                f"The type of the column {name!r} in {where} must be one of "
                + ", ".join(f'"{word}"' for word in _TYPES)
                + "."
            )
        if kind == "drop":
            dropped.append(name)
        else:
            kept.append(_column(name, kind, table, where))
    return tuple(kept), tuple(dropped)


def _column(name: str, kind: Any, table: Mapping[str, Any], where: str) -> Column:
    stated = table.get("levels", [])
    levels = [label_text(level) for level in stated] if isinstance(stated, list) else [None]
    texts = tuple(level for level in levels if level is not None)
    if len(texts) < len(levels):
        raise InputError(
            f"The levels of {name!r} in {where} must be a list of texts: levels = ['yes', 'no']."
        )
    if kind == "category" and not texts:
        raise InputError(
            f"State the levels of the category {name!r} in {where}, e.g. levels = ['yes', 'no'], from what "
            'is known about such tables; or set type = "drop" to leave it out.'
        )
    missing = table.get("missing", False)
    if not isinstance(missing, bool):
        raise InputError(f"The column {name!r} in {where} needs missing = true or missing = false.")
    decimals = table.get("decimals")
    if decimals is not None and (not isinstance(decimals, int) or isinstance(decimals, bool)):
        raise InputError(f"The decimals of {name!r} in {where} must be a whole number.")
    return Column(
        name,
        kind,
        _number(name, "lo", table, where),
        _number(name, "hi", table, where),
        decimals,
        missing,
        texts,
    )


def _number(name: str, key: str, table: Mapping[str, Any], where: str) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise InputError(f"The bound {key} of {name!r} in {where} must be a number.")


def _key(name: str | None) -> str:
    """A name as a TOML key, for a message."""
    bare = name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    return str(name) if bare else f'"{name}"'


# The kind of a column, which may be written down because it reveals no value.
Kind = Literal["number", "integer", "category"]

# Words that mark a name as that of an identifier: at its start or end (_ID_WORDS), as the whole name (_ID_ALONE), or at its end after
# a word for a person or thing (_ID_ENDS after _OF_SOMEBODY).
_ID_WORDS = {
    "id", "ids", "uid", "uuid", "guid", "rowid", "rownames", "ssn", "iban", "nr", "nummer", "identifier",
}  # fmt: skip
# At the start of a name these words mean a count and no identifier: nr_children.
_COUNTS = {"nr", "nummer"}
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
        or words[0] in _ID_WORDS - _COUNTS
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
            columns.add(name, _blank(name, kind))
    document.add("columns", columns)
    return tomlkit.dumps(document)


def _blank(name: str, kind: Kind) -> object:
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
