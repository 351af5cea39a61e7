"""Errors in the release file and in words: exact round trip, shapes checked, plain sentences."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import privgmm.releases.document as document
from privgmm import InputError, Mixture, Release
from privgmm.model.uncertainty import KINDS, Errors, Interval, Intervals
from privgmm.releases import Guarantee
from privgmm.releases.statement import statement_text
from privgmm.releases.wording import not_usable, with_error


def made(usable: Any = ((True, True), (True, True)), errors: bool = True) -> Release:
    """Two classes, two columns; the mean of class a in column x is 1.25 with error 0.021."""
    mixture = Mixture(
        [0.75, 0.25], [[1.25, -3.0], [0.0, 2.0]], np.tile(4 * np.eye(2), (2, 1, 1)), ("a", "b")
    )
    guarantee = Guarantee("proven", "label", "label", 1.0, 1e-5, 0.268, True)
    told = {
        "weights": (mixture.weights, np.array([0.012, 0.012])),
        "means": (mixture.means, np.full((2, 2), 0.021)),
        "deviations": (np.full((2, 2), 2.0), np.full((2, 2), 0.1)),
        "correlations": (np.tile(np.eye(2), (2, 1, 1)), np.full((2, 2, 2), 1 / 3)),
    }
    columns = np.array(usable)
    intervals = [Interval(value - 2 * error, value + 2.2 * error) for value, error in told.values()]
    found = Errors(*(error for _, error in told.values()), Intervals(*intervals), columns)
    return Release(mixture, guarantee, ("x", "y"), "kind", errors=found if errors else None)


def test_errors_come_back_to_the_last_bit() -> None:
    before = made(((True, False), (True, True))).errors
    after = document.parse(
        document.dump(made(((True, False), (True, True)))).encode(), "file"
    ).errors
    assert before is not None
    assert after is not None
    for kind in KINDS:
        np.testing.assert_array_equal(getattr(before, kind), getattr(after, kind))
        for left, right in zip(
            getattr(before.intervals, kind), getattr(after.intervals, kind), strict=True
        ):
            assert left.tobytes() == right.tobytes()
    assert after.usable.tolist() == [False, True]
    assert after.usable_columns.tolist() == [[True, False], [True, True]]


def forged(change: Any) -> bytes:
    body = json.loads(document.dump(made()))
    del body["sha256"]
    change(body)
    body["sha256"] = document._digest(body)
    return json.dumps(body).encode()


def test_documents_of_version_1_have_no_errors_and_load() -> None:
    def older(body: dict[str, Any]) -> None:
        del body["errors"]
        body["version"] = 1

    assert document.parse(forged(older), "file").errors is None
    assert document.parse(document.dump(made(errors=False)).encode(), "file").errors is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("means", "error"), [[0.1, 0.1]]),
        (("means", "error"), [[0.1, -0.1], [0.1, 0.1]]),
        (("weights", "low"), [2.0, 2.0]),
        (("weights", "low"), None),
        (("correlations", "high"), [[[1.0]], [[1.0]]]),
        (("usable_columns",), [[True], [True]]),
        (("version",), 2),
        (("level",), 0.9),
        (("more",), 1),
    ],
)
def test_errors_of_another_shape_or_sign_are_refused(path: tuple[str, ...], value: Any) -> None:
    def change(body: dict[str, Any]) -> None:
        at = body["errors"]
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    with pytest.raises(InputError, match="not a valid"):
        document.parse(forged(change), "file")


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.25, 0.021, "1.250 ± 0.021"),
        (1234.5678, 12.0, "1235 ± 12"),
        (-0.5, 3.0, "-0.5 ± 3.0"),
        (2.0, 0.0, "2 ± 0"),
        (2.0, None, "2"),
        (1e200, 1e199, "1e+200 ± 1e+199"),
    ],
)
def test_numbers_have_the_decimals_that_their_errors_need(
    value: float, error: float | None, text: str
) -> None:
    assert with_error(value, error) == text


def test_the_statement_tells_shares_and_means_with_their_errors() -> None:
    text = " ".join(statement_text(made()).split())
    for words in (
        "a 75.0 ± 1.2 %",
        "1.250 ± 0.021 (2)",
        "Mean ± error",
        "not from the population",
    ):
        assert words in text
    assert "cannot be used" not in text
    silent = statement_text(made(errors=False))
    assert "±" not in silent
    assert "How far off" not in silent


def test_what_cannot_be_used_is_said_in_one_plain_sentence_each() -> None:
    assert not_usable(made()) == ()
    assert not_usable(made(errors=False)) == ()
    (column,) = not_usable(made(((True, False), (True, False))))
    assert column.startswith("Column y cannot be used")
    (kind,) = not_usable(made(((True, True), (False, False))))
    assert kind.startswith("Class b cannot be used")
    (cell,) = not_usable(made(((True, True), (False, True))))
    assert cell.startswith("In class b, do not use x at")
    (nothing,) = not_usable(made(((False, False), (False, False))))
    assert nothing.startswith("No class can be used")
    assert cell in " ".join(statement_text(made(((True, True), (False, True))), 200).split())


def test_many_sentences_are_cut_with_a_word() -> None:
    k = 30
    mixture = Mixture(np.full(k, 1 / k), np.zeros((k, 1)), np.ones((k, 1, 1)))
    zeros = [np.zeros(s) for s in ((k,), (k, 1), (k, 1), (k, 1, 1))]
    columns = np.zeros((k, 1), dtype=bool)
    columns[0] = True
    errors = Errors(*zeros, Intervals(*(Interval(z, z) for z in zeros)), columns)
    sentences = not_usable(Release(mixture, made().guarantee, errors=errors))
    assert len(sentences) == 12
    assert "18 more classes" in sentences[-1]


def test_errors_move_with_the_columns() -> None:
    errors = made().errors
    assert errors is not None
    moved = errors.moved(np.array([10.0, 2.0]), np.array([5.0, 0.0]))
    np.testing.assert_allclose(moved.means, [[0.21, 0.042]] * 2)
    np.testing.assert_allclose(
        moved.intervals.means.low[0], [10 * (1.25 - 0.042) + 5, 2 * (-3.042)]
    )
    np.testing.assert_allclose(moved.deviations, [[1.0, 0.2]] * 2)
    assert moved.correlations is errors.correlations
    assert moved.weights is errors.weights
