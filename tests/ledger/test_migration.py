"""Ledgers of version 1 still open, and say what they said."""

import hashlib
import json
import sqlite3

import pytest

from privgmm.errors import BudgetError, InputError
from privgmm.ledger import Ledger
from privgmm.privacy import mu_from_epsilon
from privgmm.privacy.accounting import TV_LIMIT, epsilon_from_mu

DELTA = 1e-5
AT = "2026-01-01T00:00:00+00:00"
# As version 1 made them.
LAYOUT = """
CREATE TABLE budget (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, relation TEXT,
    epsilon REAL NOT NULL CHECK (epsilon > 0), delta REAL NOT NULL CHECK (delta > 0 AND delta < 1),
    seal TEXT NOT NULL
);
CREATE TABLE spend (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, kind TEXT NOT NULL, relation TEXT,
    epsilon REAL NOT NULL, delta REAL NOT NULL, note TEXT NOT NULL,
    cost_mu REAL NOT NULL CHECK (cost_mu >= 0), cost_epsilon REAL NOT NULL CHECK (cost_epsilon >= 0),
    cost_delta REAL NOT NULL CHECK (cost_delta >= 0), cost_distance REAL NOT NULL, seal TEXT NOT NULL,
    CHECK (cost_mu > 0 OR cost_epsilon > 0)
);
CREATE TRIGGER budget_update BEFORE UPDATE ON budget BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER budget_delete BEFORE DELETE ON budget BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER spend_update BEFORE UPDATE ON spend BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER spend_delete BEFORE DELETE ON spend BEGIN SELECT RAISE(ABORT, 'append-only'); END;
PRAGMA application_id = 1885826412;
PRAGMA user_version = 1;
"""
MU = mu_from_epsilon(1.0, DELTA)


def sealed(row):
    return (*row, hashlib.sha256(json.dumps(row).encode()).hexdigest())


def version_one(path, relation, spends):
    with sqlite3.connect(path) as connection:
        connection.executescript(LAYOUT)
        budget = sealed((1, AT, relation, 9.0, DELTA))
        connection.execute("INSERT INTO budget VALUES (?, ?, ?, ?, ?, ?)", budget)
        for number, row in enumerate(spends, 1):
            marks = ", ".join("?" * 12)
            connection.execute(f"INSERT INTO spend VALUES ({marks})", sealed((number, AT, *row)))
    connection.close()
    return path


@pytest.fixture
def old(tmp_path):
    """A ledger of replaced records: costs of other kinds were stored doubled."""
    spends = [
        ("release", "replace", 1.0, DELTA, "one", MU, 0.0, 0.0, TV_LIMIT),
        ("release", "add-remove", 1.0, DELTA, "two", 2 * MU, 0.0, 0.0, TV_LIMIT),
        ("manual", None, 0.1, 1e-7, "three", 0.0, 0.1, 1e-7, 0.0),
        ("manual", "add-remove", 0.1, 1e-7, "four", 0.0, 0.2, 2.1051709180756475e-07, 0.0),
    ]
    return version_one(tmp_path / "old.ledger", "replace", spends)


def test_old_ledgers_say_what_they_said(old):
    ledger = Ledger.open(old)
    rest = ledger.remaining()
    left = DELTA - 1e-7 - 2.1051709180756475e-07
    assert (rest.relation, rest.total_epsilon, rest.releases) == ("replace", 9.0, 4)
    assert rest.spent_epsilon == pytest.approx(0.3 + epsilon_from_mu(5**0.5 * MU, left))
    assert [(row.number, row.at, row.note) for row in ledger.rows()] == [
        (number, AT, note) for number, note in enumerate(("one", "two", "three", "four"), 1)
    ]
    assert [row.cost.mu for row in ledger.rows()] == [MU, MU, 0.0, 0.0]
    # Told for other neighbours too, which version 1 could not.
    assert ledger.totals()["label"].epsilon(DELTA) == rest.spent_epsilon
    assert [row.table.digest for row in ledger.rows()] == [""] * 4


def test_an_old_ledger_is_brought_over_once_and_stays_append_only(old):
    ledger = Ledger.open(old)
    rows = ledger.rows()
    with sqlite3.connect(old) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        for change in (
            "UPDATE spend SET cost_mu = 1e-9",
            "DELETE FROM spend",
            "DELETE FROM budget",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(change)
    connection.close()
    new = ledger.spend(MU, 1.0, DELTA, "record")
    assert ledger.rows() == [*rows, new]
    assert new.number == 5


def test_what_the_first_release_fixed_stays_fixed(tmp_path):
    spends = [
        ("manual", None, 0.1, 1e-7, "", 0.0, 0.1, 1e-7, 0.0),
        ("release", "label", 1.0, DELTA, "", MU, 0.0, 0.0, TV_LIMIT),
    ]
    ledger = Ledger.open(version_one(tmp_path / "open.ledger", None, spends))
    assert ledger.remaining().relation == "label"
    assert ledger.remaining().spent_epsilon > 1.1
    with pytest.raises(BudgetError):
        ledger.set_budget(9.0, DELTA, "record")


def test_an_old_ledger_nobody_has_spent_from(tmp_path):
    ledger = Ledger.open(version_one(tmp_path / "fresh.ledger", None, []))
    assert ledger.remaining().relation is None
    ledger.spend(MU, 1.0, DELTA, "record")
    assert ledger.remaining().relation == "replace"


def test_a_damaged_old_ledger_is_not_brought_over(old):
    with sqlite3.connect(old) as connection:
        connection.execute("DROP TRIGGER spend_update")
        connection.execute("UPDATE spend SET cost_mu = 0.01 WHERE id = 1")
    connection.close()
    with pytest.raises(InputError, match="damaged"):
        Ledger.open(old)
    with sqlite3.connect(old) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize("version", [-1, 0, 2])
def test_a_version_that_does_not_match_its_rows_is_damage(old, version):
    with sqlite3.connect(old) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(InputError, match="damaged"):
        Ledger.open(old)


def test_new_rows_under_an_old_version_are_damage(tmp_path):
    ledger = Ledger.create(tmp_path / "new.ledger", 1.0, DELTA)
    ledger.spend(0.1, 0.3, DELTA, "label")
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with pytest.raises(InputError, match="damaged"):
        ledger.remaining()
