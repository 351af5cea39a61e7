"""Nothing is spent twice, nothing is lost, and every refusal is one sentence."""

import math
import sqlite3

import pytest

from privgmm.errors import BudgetError, InputError
from privgmm.ledger import Ledger, Table
from privgmm.ledger import records as records_module
from privgmm.privacy import mu_from_epsilon

DELTA = 1e-5


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "data.ledger", 1.0, DELTA, "label")


def spend(ledger, epsilon, **kwargs):
    return ledger.spend(
        mu_from_epsilon(epsilon, DELTA), epsilon, DELTA, kwargs.pop("unit", "label"), **kwargs
    )


def test_spending_is_remembered_and_composed(ledger):
    spend(ledger, 0.5, note="first")
    spend(ledger, 0.25, note="second")
    rows = Ledger.open(ledger.path).rows()
    assert [(row.number, row.note, row.epsilon) for row in rows] == [
        (1, "first", 0.5),
        (2, "second", 0.25),
    ]
    rest = ledger.remaining()
    spent = math.hypot(mu_from_epsilon(0.5, DELTA), mu_from_epsilon(0.25, DELTA))
    assert rest.mu == pytest.approx(
        math.sqrt(mu_from_epsilon(1.0, DELTA) ** 2 - spent**2), rel=1e-6
    )
    assert 0.55 < rest.spent_epsilon < 0.6
    assert (rest.total_epsilon, rest.delta, rest.releases) == (1.0, DELTA, 2)


def test_what_remains_can_be_spent_and_no_more(ledger):
    spend(ledger, 0.7)
    rest = ledger.remaining().epsilon
    assert 0.6 < rest < 0.8
    with pytest.raises(BudgetError, match=rf"at most epsilon={rest:g} at delta=1e-05\.$"):
        spend(ledger, rest + 0.001)
    spend(ledger, rest)
    with pytest.raises(BudgetError, match="does not fit"):
        spend(ledger, 0.1)
    assert len(ledger.rows()) == 2


def test_the_whole_budget_in_one_release(ledger):
    spend(ledger, 1.0)
    assert (ledger.remaining().mu, ledger.remaining().epsilon) == (0, 0)
    with pytest.raises(BudgetError, match=r"nothing remains of epsilon=1\."):
        spend(ledger, 0.01)


def test_a_release_without_a_proof_is_refused(ledger):
    with pytest.raises(BudgetError, match="no proven bound"):
        ledger.spend(None, 0.1, DELTA, "label")
    assert ledger.rows() == []


def test_releases_made_elsewhere_add_plainly(ledger):
    ledger.spend_elsewhere(0.6, 0.0, "a Laplace count")
    rest = ledger.remaining()
    assert rest.spent_epsilon == pytest.approx(0.6)
    assert rest.epsilon == pytest.approx(0.4, abs=1e-3)
    with pytest.raises(BudgetError):
        spend(ledger, 0.45)
    with pytest.raises(BudgetError):
        ledger.spend_elsewhere(0.1, 2e-5)
    spend(ledger, 0.39)


def test_first_release_fixes_what_an_open_ledger_protects(tmp_path):
    ledger = Ledger.create(tmp_path / "open.ledger", 1.0, DELTA)
    assert ledger.remaining().relation is None
    spend(ledger, 0.1, unit="record")
    assert ledger.remaining().relation == "replace"
    with pytest.raises(BudgetError, match="one label changes does not bound"):
        spend(ledger, 0.1, unit="label")


def test_add_remove_costs_twice_where_records_are_replaced(tmp_path):
    ledger = Ledger.create(tmp_path / "r.ledger", 1.0, DELTA, "record", "replace")
    spend(ledger, 0.4, unit="record", adjacency="add-remove")
    totals = ledger.totals()
    mu = mu_from_epsilon(0.4, DELTA)
    assert totals["replace"].cost.mu == pytest.approx(2 * mu)
    assert totals["label"].cost.mu == pytest.approx(2 * mu)
    assert totals["add-remove"].cost.mu == pytest.approx(mu)
    with pytest.raises(BudgetError) as refusal:
        spend(ledger, 0.4, unit="record", adjacency="add-remove")
    # What the refusal offers is what can be had, for a release of that kind.
    most = float(str(refusal.value).split("at most epsilon=")[1].split()[0])
    assert 0.1 < most < ledger.remaining().epsilon / 1.9
    spend(ledger, most, unit="record", adjacency="add-remove")


def test_the_total_can_change_but_not_below_what_is_spent(ledger):
    spend(ledger, 0.8)
    with pytest.raises(BudgetError, match="cannot be taken back"):
        ledger.set_budget(0.7, DELTA)
    ledger.set_budget(2.0, DELTA)
    spend(ledger, 1.5)
    with sqlite3.connect(ledger.path) as connection:
        totals = connection.execute("SELECT epsilon FROM budget ORDER BY id").fetchall()
    assert totals == [(1.0,), (2.0,)]


def test_a_clock_that_runs_backwards_changes_nothing(ledger, monkeypatch):
    for year in (2030, 2010, 2020):
        monkeypatch.setattr(records_module, "_now", lambda year=year: f"{year}-01-01T00:00:00")
        spend(ledger, 0.1, note=str(year))
    assert [row.note for row in ledger.rows()] == ["2030", "2010", "2020"]


def test_rows_cannot_be_rewritten(ledger):
    spend(ledger, 0.1)
    with sqlite3.connect(ledger.path) as connection:
        for change in (
            "UPDATE spend SET cost_mu = 1e-9",
            "DELETE FROM spend",
            "DELETE FROM budget",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(change)


def test_notes_of_any_kind_are_kept(ledger):
    for note in ("'; DROP TABLE spend; --", "naïve ☃", "x" * 10_000, "\ud800"):
        spend(ledger, 0.01, note=note)
    kept = [row.note for row in ledger.rows()]
    assert kept[:2] == ["'; DROP TABLE spend; --", "naïve ☃"]
    assert len(kept[2]) == 500


@pytest.mark.parametrize(("epsilon", "delta"), [(0, DELTA), (1, 0), (math.nan, DELTA), (1, 2)])
def test_totals_without_meaning_leave_no_file(tmp_path, epsilon, delta):
    with pytest.raises(InputError):
        Ledger.create(tmp_path / "no.ledger", epsilon, delta)
    assert list(tmp_path.iterdir()) == []


def test_a_second_create_is_refused(ledger):
    with pytest.raises(InputError, match="exists already"):
        Ledger.create(ledger.path, 5.0, DELTA)
    assert ledger.remaining().total_epsilon == 1.0


def test_a_record_release_counts_for_labels_too(tmp_path):
    """Two releases of epsilon 1, one of records and one of labels: 1.465 for a label, never 1.0."""
    ledger = Ledger.create(tmp_path / "both.ledger", 2.0, DELTA, "record")
    spend(ledger, 1.0, unit="record")
    with pytest.raises(BudgetError, match=r"in this same ledger .*--unit label"):
        spend(ledger, 1.0, unit="label")
    ledger.set_budget(1.5, DELTA, "label")
    spend(ledger, 1.0, unit="label")
    records, labels = ledger.budgets()
    assert labels.relation == "label"
    assert labels.spent_epsilon == pytest.approx(1.465, abs=5e-4)
    assert records.relation == "replace"
    assert records.spent_epsilon == math.inf
    assert "no bound any more" in records.words
    assert "release 2 bounds nothing there, because it takes the features" in records.words
    totals = ledger.totals()
    assert totals["label"].epsilon(DELTA) == labels.spent_epsilon
    assert totals["replace"].epsilon(DELTA) == math.inf
    # The label budget is nearly spent, whoever asks.
    for unit in ("label", "record"):
        with pytest.raises(BudgetError, match="one label changes"):
            spend(ledger, 0.5, unit=unit)


def test_a_release_must_fit_into_every_budget(tmp_path):
    ledger = Ledger.create(tmp_path / "two.ledger", 1.0, DELTA, "record", "add-remove")
    ledger.set_budget(1.0, DELTA, "record", "replace")
    # Replacing a record is two steps: 0.7 alone fits into one budget and not into the other.
    with pytest.raises(BudgetError, match="one record is replaced"):
        spend(ledger, 0.7, unit="record", adjacency="add-remove")
    spend(ledger, 0.4, unit="record", adjacency="add-remove")
    assert len(ledger.rows()) == 1


def test_a_budget_for_what_has_no_bound_cannot_be_stated(ledger):
    spend(ledger, 0.1)
    with pytest.raises(BudgetError, match="release 1 bounds nothing there"):
        ledger.set_budget(9.0, DELTA, "record")
    assert [rest.relation for rest in ledger.budgets()] == ["label"]


def test_several_budgets_have_names(ledger):
    ledger.set_budget(3.0, DELTA, "record")
    with pytest.raises(InputError, match="say which with --unit"):
        ledger.set_budget(4.0, DELTA)
    ledger.set_budget(4.0, DELTA, "record")
    assert [(r.relation, r.total_epsilon) for r in ledger.budgets()] == [
        ("label", 1.0),
        ("replace", 4.0),
    ]


def test_persons_are_counted_with_a_cap_on_their_rows(tmp_path):
    ledger = Ledger.create(tmp_path / "p.ledger", 2.0, DELTA, "person")
    with pytest.raises(
        BudgetError, match=r"no cap on the rows of one person is stated.*--max-rows"
    ):
        spend(ledger, 0.1, unit="record")
    ledger.set_budget(2.0, DELTA, max_rows=3)
    spend(ledger, 0.1, unit="record")
    mu = mu_from_epsilon(0.1, DELTA)
    assert ledger.totals()["person-replace"].cost.mu == pytest.approx(3 * mu)
    ledger.set_budget(2.0, DELTA, max_rows=4)
    assert ledger.totals()["person-replace"].cost.mu == pytest.approx(4 * mu)
    with pytest.raises(BudgetError, match="already spent"):
        ledger.set_budget(2.0, DELTA, max_rows=400)
    with pytest.raises(InputError, match="whole number"):
        ledger.set_budget(2.0, DELTA, max_rows=0)


def test_persons_releases_protect_rows(tmp_path):
    ledger = Ledger.create(tmp_path / "p.ledger", 2.0, DELTA, "label")
    mu = mu_from_epsilon(0.3, DELTA)
    spend(ledger, 0.3, unit="person")
    assert ledger.totals()["label"].cost.mu == pytest.approx(mu)
    spend(ledger, 0.3, unit="person", adjacency="add-remove")
    totals = ledger.totals()
    for kind in ("label", "replace", "person-replace"):
        assert totals[kind].cost.mu == pytest.approx(math.hypot(mu, 2 * mu))
    assert [u.number for u in totals["add-remove"].unbounded] == [1]


def test_what_was_written_is_known_also_after_an_interrupt(ledger, monkeypatch):
    assert ledger.charged() == []
    row = spend(ledger, 0.1, note="one")
    assert ledger.charged() == [row]
    monkeypatch.setattr("privgmm.ledger.ledger.write_spend", interrupted_write)
    with pytest.raises(KeyboardInterrupt):
        spend(ledger, 0.1, note="two")
    assert ledger.charged() == [row]
    assert Ledger.open(ledger.path).charged() == []


def interrupted_write(*arguments):
    records_module.write_spend(*arguments)
    raise KeyboardInterrupt


def test_entries_name_table_output_and_note(ledger):
    row = spend(ledger, 0.1, note="why", table=Table("homes.csv", "ab-"), output="r.json")
    (found,) = ledger.rows()
    assert found == row
    assert (found.table.name, found.table.digest) == ("homes.csv", "ab-")
    assert (found.output, found.note) == ("r.json", "why")


def test_another_table_is_refused_until_it_is_named(ledger):
    spend(ledger, 0.1, table=Table("homes.csv", "ab-"))
    other = Table("wine.csv", "cd-")
    with pytest.raises(
        InputError, match=r"about homes\.csv, and wine\.csv has other .*--ledger-table"
    ):
        spend(ledger, 0.1, table=other)
    assert len(ledger.rows()) == 1
    spend(ledger, 0.1, table=other, table_named=True)
    spend(ledger, 0.1, table=other)
    # Releases made elsewhere name no table.
    ledger.spend_elsewhere(0.01, 0.0)
    assert len(ledger.rows()) == 4
