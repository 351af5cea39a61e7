"""Which columns are features and which one is the label: decided from names alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from privgmm.errors import InputError

_LISTED = 10
_LONGEST = 60
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
# Numbers that are years may be shown: a header made of years is accepted as names.
_YEAR = re.compile(r"(1[5-9]|2[01])\d\d")
_INTEGER = re.compile(r"\s*[+-]?\d{1,18}\s*")
# How Python marks bytes that were not UTF-8.
_SURROGATE = re.compile("[\ud800-\udfff]")
# Names that pandas gives to a saved row index, which is an identifier and not a feature.
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+|")


@dataclass(frozen=True)
class Choice:
    """The columns to read, by name; ``label`` is None for an unlabelled table. ``order`` has all of them in the order of the table."""

    features: tuple[str, ...]
    label: str | None
    order: tuple[str, ...]


def shown(names: Iterable[str]) -> str:
    """At most ten names for a message, escaped and cut.

    A name that looks like a number is not shown: in a file without a header it is a record's value.
    """
    listed = list(names)
    words = [_shown(name) for name in listed[:_LISTED]]
    more = len(listed) - len(words)
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def _shown(name: str) -> str:
    if _like_number(name):
        return "(a number)"
    return repr(name if len(name) <= _LONGEST else name[:_LONGEST] + "...")


def _like_number(name: str) -> bool:
    """Whether a name may be a record's value: a number that is no year, or mostly digits, as dates are (but not c10)."""
    if _YEAR.fullmatch(name):
        return False
    digits = sum(c.isdigit() for c in name)
    return bool(_NUMBER.fullmatch(name)) or (2 * digits > len(name) and not name[0].isalpha())


def counted(n: int, noun: str) -> str:
    """A number with its noun: 1 row, 2 rows."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def offered(names: tuple[str, ...]) -> str:
    """The part of a sentence that lists the columns; it names none if one looks like a number, for then all may be values of a record."""
    if any(map(_like_number, names)):
        return f"none of its {len(names)} columns has that name"
    return f"its columns are {shown(names)}"


def looks_like_data(header: Sequence[str]) -> bool:
    """Whether a first line seems to be a record and not names: messages show names, and must not show a record.

    No column is named 5.1. Whole numbers may be names if they have equal steps (0, 1, 2 or 400, 410, 420) or are years.
    """
    numbers = [name for name in header if _NUMBER.fullmatch(name)]
    if not all(_INTEGER.fullmatch(name) for name in numbers):
        return True
    found = [int(name) for name in numbers[:_LISTED]]
    if len(found) > 2 and all(a < b for a, b in pairwise(found)) and _years(found):
        return False
    if len(found) < 3:
        return found not in ([], [0], [1]) and found[1:] != [found[0] + 1]
    step = found[1] - found[0]
    return step < 1 or any(b - a != step for a, b in pairwise(found))


def _years(found: list[int]) -> bool:
    """Whether whole numbers are years in rising order, gaps allowed: 1990, 2000, 2005, 2006. Records rarely look like that."""
    return found[0] >= 1500 and found[-1] < 2200


def check_names(names: Sequence[object], where: str) -> tuple[str, ...]:
    """Column names as distinct strings."""
    if not names:
        raise InputError(f"{where} has no columns; give a table with named columns.")
    # Integer names are what pandas numbers columns with; other objects have no faithful text.
    plain = tuple(str(n) if isinstance(n, int) else n for n in names)
    if not all(isinstance(name, str) for name in plain):
        raise InputError(f"Column names of {where} must be text; rename the columns.")
    text = tuple(str(name) for name in plain)
    if any(_SURROGATE.search(name) for name in text if not name.isascii()):
        raise InputError(f"Column names of {where} must be valid UTF-8 text; rename them.")
    twice = [name for name, count in Counter(text).items() if count > 1]
    if twice:
        raise InputError(f"{where} has more than one column named {shown(twice)}; rename them.")
    return text


def choose(
    names: tuple[str, ...],
    columns: Sequence[str] | None,
    label: str | None,
    where: str,
    person: str | None = None,
) -> Choice:
    """Features and label of a table with these (checked) column names; the column of persons is neither."""
    if isinstance(columns, str) or not (columns is None or isinstance(columns, Iterable)):
        raise InputError("The columns must be a list of names, e.g. ['height', 'weight'].")
    known = set(names)
    if label is not None and label not in known:
        raise InputError(f"{where} has no label column {_shown(str(label))}; {offered(names)}.")
    if person is not None and person not in known:
        raise InputError(
            f"{where} has no column {_shown(str(person))} of persons; {offered(names)}."
        )
    if person is not None and (person == label or person in (columns or ())):
        raise InputError(
            f"The column of persons {_shown(str(person))} cannot also be the label or a feature; leave it out."
        )
    if columns is None:
        features = tuple(name for name in names if name not in (label, person))
        unnamed = [name for name in features if _INDEX.fullmatch(name)]
        if unnamed:
            raise InputError(
                f"{where} has a column without a name of its own ({_shown(unnamed[0])}), perhaps a "
                "saved row index; leave it out: list the columns to use, or write a schema."
            )
    else:
        features = tuple(str(name) for name in columns)
        _check_wanted(features, known, names, label, where)
    if not features:
        raise InputError(f"{where} has no feature columns besides the label; add some.")
    chosen = {*features, label}
    return Choice(features, label, tuple(name for name in names if name in chosen))


def _check_wanted(
    wanted: tuple[str, ...],
    known: set[str],
    names: tuple[str, ...],
    label: str | None,
    where: str,
) -> None:
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InputError(f"{where} has no column named {shown(unknown)}; {offered(names)}.")
    if label in wanted:
        raise InputError(
            f"The label column {_shown(str(label))} cannot also be a feature; leave it out."
        )
    if len(set(wanted)) != len(wanted):
        raise InputError("The list of columns names one of them twice; name each once.")
