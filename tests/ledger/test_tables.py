"""Tables are told apart by public facts only."""

import numpy as np
import pytest

from privgmm import InputError, PrivacyLeakWarning, release
from privgmm.curate import publish
from privgmm.ledger import Ledger, digest_of

CLASSES = ["a", "b"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 2)), np.array(CLASSES * 20)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "l.db", 20.0, 1e-4, "label")


class ChargedError(Exception):
    """Raised where the mechanism would run: the ledger is charged by then."""


@pytest.fixture(autouse=True)
def stop_after_the_charge(monkeypatch):
    def stop(request):
        raise ChargedError

    monkeypatch.setattr(publish, "proven", stop)


def released(rows, ledger, **options):
    X, y = rows
    wishes = {"classes": CLASSES, "unit": "record", "radius": 5.0, **options}
    with pytest.raises(ChargedError):
        release(X, y, **wishes, ledger=ledger.path)


def test_digests_know_names_classes_and_bounds():
    one = digest_of(["x", "y"], "kind", CLASSES, None)
    assert one == digest_of(["x", "y"], "kind", CLASSES[::-1], None)
    assert one != digest_of(["x", "z"], "kind", CLASSES, None)
    assert one != digest_of(["x", "y"], "type", CLASSES, None)
    assert one != digest_of(["x", "y"], "kind", ["a", "c"], None)
    assert one != digest_of(["x", "y"], "kind", CLASSES, [[0.0], [1.0]])


def test_no_row_is_in_a_digest(rows, ledger):
    X, y = rows
    released((X, y), ledger)
    released((X[:30] + 1.0, y[:30][::-1]), ledger)
    one, other = ledger.rows()
    assert one.table == other.table
    assert one.table.name == "a table in memory"


def test_a_class_list_that_was_read_from_labels_is_in_no_digest(rows, ledger):
    X, y = rows
    with pytest.warns(PrivacyLeakWarning):
        released((X, y), ledger, classes=None)
    with pytest.warns(PrivacyLeakWarning):
        released((X, np.where(y == "a", "c", y)), ledger, classes=None)
    one, other = ledger.rows()
    assert one.table == other.table


def test_labels_and_records_of_one_table_share_a_ledger(rows, ledger):
    released(rows, ledger, unit="label", radius=None)
    released(rows, ledger)
    released(rows, ledger, adjacency="add-remove")
    with pytest.raises(InputError, match="other columns, classes or bounds"):
        released(rows, ledger, radius=6.0)
    released(rows, ledger, radius=6.0, ledger_table="the same homes", note="wider")
    last = ledger.rows()[-1]
    assert (last.table.name, last.note) == ("the same homes", "wider")


def test_a_note_without_a_ledger_is_refused(rows):
    X, y = rows
    for wish in ({"note": "lost"}, {"ledger_table": "lost"}):
        with pytest.raises(InputError, match="go with a ledger"):
            release(X, y, classes=CLASSES, **wish)
    with pytest.raises(InputError, match="must be texts"):
        release(X, y, classes=CLASSES, ledger="l.db", note=5)
