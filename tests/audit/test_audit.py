"""``privgmm audit`` as a whole: rows, JSON, picture, refusals."""

import json

import numpy as np
import pytest

from privgmm.audit import CONFIDENCE, Attack, audit, front_door, judge
from privgmm.cli.audit import run
from privgmm.errors import InputError

pytestmark = pytest.mark.slow

FIELDS = {"query", "trials", "epsilon_claimed", "delta", "epsilon_lower", "refuted"}


@pytest.mark.parametrize("unit", ["label", "record"])
def test_proven_stands_and_the_audit_has_teeth(unit):
    attacks, rows = audit("proven", unit, 1.0, 1e-5, trials=100_000, seed=23, seconds=0)
    assert len(attacks) == len(rows)
    assert not any(row.refuted for row in rows)
    raw = [row for row in rows if row.trials == 100_000]
    assert len(raw) >= 4
    assert min(row.epsilon_lower for row in raw) >= 0.8
    names = " ".join(row.query for row in rows)
    for expected in ("asked until refused", "all queries of one release"):
        assert expected in names
    for adjacency in ("label",) if unit == "label" else ("replace", "add-remove"):
        assert f"({adjacency})" in names


def test_released_mixtures_and_files_are_attacked_too(monkeypatch):
    monkeypatch.setattr(front_door, "FEWEST_RUNS", 2)
    # Whole releases are slow: a few show that the attack runs; the raw rows carry the weight.
    _, rows = audit("proven", "label", 1.0, 1e-5, trials=100, seed=1, seconds=0.01)
    row = next(row for row in rows if row.query.startswith("released mixture"))
    assert row.query == "released mixture (label)"
    assert row.trials == 20
    assert row.epsilon_lower == 0
    assert [row.query for row in rows[-4:]] == [
        "noise-free fields of a released file (label)",
        "a released file (label)",
        "noise-free fields of a released file, PCA (label)",
        "a released file, PCA (label)",
    ]


def test_every_kind_of_neighbour_has_a_row():
    for unit, expected in (
        ("label", ("two smallest classes", "an empty class appears")),
        ("record", ("an outlier far outside leaves", "an outlier far outside enters",
                    "a record at the bound changes class", "an empty class appears",
                    "moves to the opposite one")),
    ):  # fmt: skip
        _, rows = audit("proven", unit, 1.0, 1e-5, trials=1000, seed=3, seconds=0)
        for name in expected:
            assert any(name in row.neighbours for row in rows), name


def test_json_has_the_contract_fields(capsys, tmp_path):
    picture = tmp_path / "scores.svg"
    run("published", "label", 1.0, 1e-5, 400, as_json=True, output=picture, seed=1)
    found = json.loads(capsys.readouterr().out)
    assert found["confidence"] == CONFIDENCE
    assert all(set(row) >= FIELDS for row in found["rows"])
    assert any(row["refuted"] for row in found["rows"])
    assert picture.read_text().lstrip().startswith("<?xml")


def test_table_says_what_is_refuted(capsys):
    run("published", "record", 1.0, 1e-5, 400, seed=1)
    said = capsys.readouterr().out
    assert "REFUTED" in said
    assert "what was claimed is false" in said


def test_bounds_are_corrected_for_the_number_of_attacks():
    rng = np.random.default_rng(0)
    low, high = rng.standard_normal((2, 4000))
    one = Attack("q", "n", low, high + 1.0, gaussian=True)
    alone = judge([one], 1.0, 1e-5)[0].epsilon_lower
    among = judge([one] * 50, 1.0, 1e-5)[0].epsilon_lower
    assert 0 < among < alone


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"trials": 10}, "at least 100 trials"),
        ({"unit": "person"}, "unit must be"),
        ({"mechanism": "magic"}, "mechanism must be"),
        ({"epsilon": -1.0}, "Epsilon must be"),
        ({"delta": 0.0}, "Delta must lie"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        audit(**arguments)


def test_a_picture_needs_a_known_ending(tmp_path):
    with pytest.raises(InputError, match="Name the picture"):
        run("published", "label", 1.0, 1e-5, 400, output=tmp_path / "scores.exe")
