"""The rules between kinds of neighbours, against every pair of tables of a small universe."""

from itertools import combinations_with_replacement, product

import pytest

from privgmm.errors import InputError
from privgmm.ledger.composition import (
    NEIGHBOURS,
    no_bound,
    relation,
    steps_between,
    why_no_bound,
)

# A person with at most two rows and one with at most one; a row is a feature and a label.
CAP, OTHER_CAP = 2, 1
KINDS = list(product((0, 1), (0, 1)))


def all_rows(cap):
    return [rows for n in range(cap + 1) for rows in combinations_with_replacement(KINDS, n)]


TABLES = list(product(all_rows(CAP), all_rows(OTHER_CAP)))


def changed_rows(rows, options):
    """All ways in which one of the rows changes, by what it may become."""
    for at, row in enumerate(rows):
        for new in options(row):
            if new != row:
                yield tuple(sorted((*rows[:at], new, *rows[at + 1 :])))


def person_steps(kind, rows, cap):
    """The rows that one person may have in a neighbouring table."""
    if kind == "label":
        yield from changed_rows(rows, lambda row: [(row[0], label) for label in (0, 1)])
    elif kind == "replace":
        yield from changed_rows(rows, lambda row: KINDS)
    elif kind == "add-remove":
        yield from (rows[:at] + rows[at + 1 :] for at in range(len(rows)))
        if len(rows) < cap:
            yield from (tuple(sorted((*rows, row))) for row in KINDS)
    elif kind == "person-label":
        features = sorted(row[0] for row in rows)
        yield from (
            new for new in all_rows(cap) if sorted(r[0] for r in new) == features and new != rows
        )
    elif kind == "person-replace":
        yield from (new for new in all_rows(cap) if len(new) == len(rows) and new != rows)
    elif rows:
        yield ()
    else:
        yield from all_rows(cap)[1:]


def neighbours(kind, table):
    p, q = table
    yield from ((new, q) for new in person_steps(kind, p, CAP))
    yield from ((p, new) for new in person_steps(kind, q, OTHER_CAP))


def distances(kind, start):
    """How many steps of this kind lead from one table to each other that can be reached."""
    found, edge, steps = {start: 0}, [start], 0
    while edge:
        steps += 1
        edge = {new for table in edge for new in neighbours(kind, table)} - found.keys()
        found.update(dict.fromkeys(edge, steps))
    return found


@pytest.fixture(scope="module")
def far():
    return {kind: {table: distances(kind, table) for table in TABLES} for kind in NEIGHBOURS}


@pytest.mark.parametrize(("protected", "released"), list(product(NEIGHBOURS, NEIGHBOURS)))
def test_each_rule_is_the_largest_distance_there_is(protected, released, far):
    steps = steps_between(protected, released, CAP)
    found = [
        far[released][table].get(new) for table in TABLES for new in neighbours(protected, table)
    ]
    if steps is None:
        assert None in found, "a bound exists and is not used"
    else:
        assert None not in found, "a bound is claimed and none exists"
        assert max(found) == steps


def test_rows_bound_persons_only_with_a_cap():
    assert steps_between("person-replace", "replace") is None
    assert steps_between("person-replace", "replace", 7) == 7
    assert steps_between("person-replace", "add-remove", 7) == 14
    assert steps_between("person-add-remove", "add-remove", 7) == 7
    assert steps_between("person-add-remove", "replace", 7) is None
    assert steps_between("person-replace", "label", 7) is None
    assert steps_between("label", "replace", 7) == 1


@pytest.mark.parametrize(
    ("protected", "released", "words"),
    [
        ("replace", "label", "features of every row to be public"),
        ("add-remove", "label", "features of every row to be public"),
        ("person-replace", "label", "features of every row to be public"),
        ("add-remove", "replace", "number of rows to be public"),
        ("person-add-remove", "replace", "number of rows to be public"),
        ("person-add-remove", "person-replace", "number of persons to be public"),
        ("add-remove", "person-replace", "number of persons to be public"),
        ("person-replace", "replace", "no cap"),
        ("person-add-remove", "add-remove", "no cap"),
    ],
)
def test_no_bound_is_said_in_words(protected, released, words):
    assert steps_between(protected, released) is None
    assert words in why_no_bound(protected, released)
    sentence = no_bound(protected, released)
    assert words in sentence
    assert "privgmm ledger budget --" in sentence
    assert "own kind" not in sentence


def test_relations():
    assert relation("label") == "label"
    assert relation("record") == "replace"
    assert relation("record", "add-remove") == "add-remove"
    assert relation("person") == "person-replace"
    assert relation("person", "add-remove") == "person-add-remove"
    with pytest.raises(InputError, match="unit must be"):
        relation("household")
    with pytest.raises(InputError, match="adjacency must be"):
        relation("record", "swap")
