"""Attackers who guess labels and membership: never surely above the ceiling of ``proven``."""

import json

import numpy as np
import pytest

from privgmm.audit import front_door, inference, proven
from privgmm.audit.pairs import informed, realistic
from privgmm.audit.proven import releases
from privgmm.audit.raw import Claim
from privgmm.cli.audit import run
from privgmm.errors import InputError
from privgmm.privacy import SeededNoise

pytestmark = pytest.mark.slow

DELTA = 1e-5


@pytest.mark.parametrize(("unit", "epsilon"), [("label", 0.5), ("record", 1.0), ("record", 8.0)])
def test_whoever_knows_all_other_rows_reaches_the_ceiling_and_not_more(unit, epsilon):
    # All intervals of one call hold together with probability 0.998.
    _, found = inference("proven", unit, epsilon, DELTA, trials=20_000, seed=31, seconds=0)
    assert not any(guess.broken for guess in found)
    for guess in found:
        assert guess.attacker == "informed"
        # No pair we know moves every round of private EM, whose frames come from earlier noise.
        short = 0.06 if "private EM" in guess.query else 0.02
        assert guess.accuracy.value > guess.accuracy.ceiling - short


def test_half_the_noise_is_caught(monkeypatch):
    class Weak(SeededNoise):
        def gaussian(self, scale, size):
            return super().gaussian(0.5 * scale, size)

    monkeypatch.setattr(proven, "SeededNoise", Weak)
    _, found = inference("proven", "label", 1.0, DELTA, trials=20_000, seed=1, seconds=0)
    assert all(guess.accuracy.broken for guess in found)


@pytest.mark.parametrize(("unit", "trials"), [("label", 1200), ("record", 300)])
def test_the_published_method_breaks_its_ceiling(unit, trials):
    _, found = inference("published", unit, 1.0, DELTA, trials=trials, seed=1)
    guesses = {guess.query: guess for guess in found}
    assert guesses["published method, covariances"].accuracy.broken
    assert guesses["baseline laplace, means"].accuracy.broken
    outsiders = [guess for guess in found if guess.attacker == "realistic"]
    assert len(outsiders) == 1
    if unit == "label":
        assert outsiders[0].broken


@pytest.mark.parametrize(
    "case", [informed("label"), informed("replace"), informed("add-remove"), realistic("label")],
    ids=["label", "replace", "add-remove", "realistic"],
)  # fmt: skip
def test_scores_tell_releases_apart_where_little_is_protected(monkeypatch, case):
    # At epsilon 30 these scores order more than nine tenths of the pairs, bar ties.
    monkeypatch.setattr(proven, "FEWEST_RUNS", 8)
    adjacency = case.adjacency
    claim = Claim(adjacency, 30.0, DELTA, np.empty(0))
    low, high = (
        np.array([case.score(mixture) for mixture in side])
        for side in releases(case.pair, claim, SeededNoise(2), seconds=0)
    )
    assert (high[:, None] >= low).mean() > 0.75
    assert (high[:, None] > low).mean() > 0.5


def test_the_command_prints_rows_and_guesses(capsys, tmp_path):
    picture = tmp_path / "guesses.svg"
    run("published", "label", 1.0, DELTA, 100, True, picture, seed=1, inference=True)
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == len(found["guesses"])
    assert {"query", "trials", "accuracy", "hits", "broken"} <= set(found["guesses"][0])
    assert "true alarms" in picture.read_text()


def test_the_table_says_who_breaks_the_ceiling(capsys):
    run("published", "record", 1.0, DELTA, 200, seed=1, inference=True)
    said = capsys.readouterr().out
    assert "BROKEN" in said
    assert "break the ceiling" in said


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_time_is_a_number(seconds):
    with pytest.raises(InputError, match="Seconds must be"):
        run("proven", "label", 1.0, DELTA, 400, seconds=seconds)


def test_the_proven_mixture_is_guessed_at_too(monkeypatch):
    monkeypatch.setattr(proven, "FEWEST_RUNS", 8)
    monkeypatch.setattr(front_door, "FEWEST_RUNS", 2)
    _, found = inference("proven", "label", 1.0, DELTA, trials=100, seed=1, seconds=1e-3)
    assert [guess.attacker for guess in found[-3:]] == ["informed", "realistic", "informed"]
    assert not any(guess.broken for guess in found[-3:])
