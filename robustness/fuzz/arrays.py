"""Hostile arrays and frames for everything in Python that takes rows."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from .case import SECRET_TEXT, Call, Case, Family, chance, pick
from .frames import ROWS as _N
from .frames import SECRET as _SECRET
from .frames import of_pandas, of_polars


def _usual(rng: np.random.Generator) -> Any:
    X = rng.normal(size=(_N, 2))
    X[0, 0] = _SECRET
    return X


def _with(value: Any) -> Callable[[np.random.Generator], Any]:
    """Rows with one such cell, kept as an object if it is no number."""

    def make(rng: np.random.Generator) -> Any:
        X = _usual(rng)
        if not isinstance(value, float):
            X = X.astype(object)
        X[int(rng.integers(_N)), int(rng.integers(2))] = value
        return X

    return make


_ROWS: tuple[Callable[[np.random.Generator], Any], ...] = (
    _usual, _usual, _usual, of_pandas, of_pandas, of_polars, of_polars,
    _with(float("nan")), _with(float("inf")), _with(1e308), _with(-1e308), _with(5e-324), _with(1e160), _with(1e101),
    _with(None), _with(SECRET_TEXT), _with(1j), _with(10**400), _with(Decimal("NaN")), _with([1]), _with(True),
    _with(datetime.datetime(2020, 1, 1)), _with("1.5"), _with(b"1"), _with(object()), _with(-(2**70)),
    lambda rng: np.zeros((_N, 2)), lambda rng: np.full((_N, 2), _SECRET), lambda rng: np.full((_N, 2), 1e308),
    lambda rng: np.empty((0, 2)), lambda rng: np.empty((_N, 0)), lambda rng: np.empty((0, 0)), lambda rng: _usual(rng)[:1],
    lambda rng: np.array(_SECRET), lambda rng: np.full(_N, _SECRET), lambda rng: np.full((_N, 2, 2), _SECRET),
    lambda rng: _usual(rng) + 1j, lambda rng: np.full((_N, 2), "2020", "M8[D]"), lambda rng: np.full((_N, 2), 1, "m8[s]"),
    lambda rng: np.full((_N, 2), SECRET_TEXT), lambda rng: np.full((_N, 2), b"1"), lambda rng: np.full((_N, 2), True),
    lambda rng: _usual(rng).T, lambda rng: _usual(rng)[::-1], lambda rng: np.asfortranarray(_usual(rng)),
    lambda rng: np.repeat(_usual(rng), 3, axis=1)[:, ::3], lambda rng: _read_only(_usual(rng)),
    lambda rng: np.ma.masked_array(_usual(rng), rng.random((_N, 2)) < 0.2), lambda rng: np.ma.masked_all((_N, 2)),
    lambda rng: _usual(rng).astype(np.float16), lambda rng: _usual(rng).astype(np.longdouble) * 1e308,
    lambda rng: _usual(rng).tolist(), lambda rng: [[1.0], [1.0, _SECRET]] * 6, lambda rng: [], lambda rng: None,
    lambda rng: SECRET_TEXT, lambda rng: {"a": [1]}, lambda rng: _SECRET, lambda rng: (row for row in _usual(rng)),
    lambda rng: np.zeros(_N, [("a", float), ("b", float)]), lambda rng: np.full((_N, 2), 2**63, np.uint64),
    lambda rng: np.broadcast_to(np.array([1.0, _SECRET]), (_N, 2)), lambda rng: _usual(rng).view(np.matrix),
    lambda rng: memoryview(_usual(rng)), lambda rng: iter([1]), lambda rng: 1 << 80, lambda rng: b"\xff",
)  # fmt: skip


def _read_only(X: Any) -> Any:
    X.setflags(write=False)
    return X


def _rows(rng: np.random.Generator) -> Any:
    return _usual(rng) if chance(rng, 0.25) else pick(rng, _ROWS)(rng)


def _labels(rng: np.random.Generator) -> Any:
    usual = np.array(["u", "v"] * (_N // 2))
    if chance(rng, 0.5):
        return usual
    odd: tuple[Any, ...] = (
        None, usual[:-1], usual.reshape(2, -1), np.array("u"), ["u", 1] * (_N // 2), [SECRET_TEXT] * _N, [None, "u"] * (_N // 2),
        [float("nan"), 1.0] * (_N // 2), [True, False] * (_N // 2), [1, 1.0] * (_N // 2), [1, True] * (_N // 2), [1j] * _N,
        [[1], [2, 3]] * (_N // 2), np.full(_N, "2020", "M8[D]"), np.ma.masked_array([0, 1] * (_N // 2), [True] + [False] * (_N - 1)),
        range(_N), [0, 1] * (_N // 2), [0.5, 1.5] * (_N // 2), ["u"] * _N, ["", "v"] * (_N // 2), ["u\0", "u"] * (_N // 2),
        [b"u", b"v"] * (_N // 2), [10**30, 1] * (_N // 2), [(1,), (2,)] * (_N // 2), [object()] * _N, "uv" * (_N // 2),
        [Decimal(1)] * _N, [{}] * _N, 7, np.zeros(_N, [("a", int)]), ["\ud800", "u"] * (_N // 2), [float("inf"), 1] * (_N // 2),
    )  # fmt: skip
    return pick(rng, odd)


_CLASSES: tuple[Any, ...] = (
    ["u", "v"], ("v", "u"), ["u"], [], ["u", "u"], ["u", "v", "w"], "uv", [0, 1], [True, False], [1, True], [None, "u"],
    np.array(["u", "v"]), [["u"], "v"], {"u", "v"}, 3, ["u", 1], [float("nan"), "u"], [1j, 2], ["u\0", "v"], [10**30, 1],
)  # fmt: skip


def fit(rng: np.random.Generator) -> Case:
    import privgmm

    X, y = _rows(rng), _labels(rng)
    classes = ["u", "v"] if chance(rng, 0.5) else pick(rng, _CLASSES)

    def use() -> None:
        with np.errstate(all="ignore"):
            m = privgmm.fit(X, y, classes)
            assert np.isfinite(m.log_joint(np.zeros((1, 2)))).any() or m.dim != 2

    return Call(use, "fit")


def table(rng: np.random.Generator) -> Case:
    from privgmm.data.opening import open_rows

    X, y = _rows(rng), _labels(rng)
    if isinstance(X, str):
        X = None  # a text would be a path, which messages may show
    label, columns = (
        pick(rng, (None, None, "b", "zz", 5)),
        pick(rng, (None, None, ["a"], ["x0"], [], "a", [1], [None])),
    )
    one = 1 if y is None and label is None else None
    return Call(
        lambda: open_rows(X, y, label=label, columns=columns, n_components=one), "open_rows"
    )


def release(rng: np.random.Generator) -> Case:
    """The paper's method, so that what is accepted is quick."""
    import privgmm

    X, y = _rows(rng), _labels(rng)
    classes = ["u", "v"] if chance(rng, 0.5) else pick(rng, _CLASSES)
    wishes: dict[str, Any] = {"classes": classes, "mechanism": "published"}
    if chance(rng, 0.4):
        wishes |= {"unit": "record", "radius": 9.0}
    for _ in range(int(rng.integers(3))):
        name, value = pick(rng, _WISHES)
        wishes[name] = value
    return Call(lambda: quiet(lambda: privgmm.release(X, y, **wishes)), "release")


_WISHES: tuple[tuple[str, Any], ...] = tuple(
    (name, value)
    for name, values in {
        "epsilon": (0, -1, float("nan"), float("inf"), 1e308, 1e-300, None, "1", 1j, [1], True, 10**400, np.float32(1)),
        "delta": (0, 1, -1, float("nan"), 1e-308, None, "x", [1e-5], 10**400),
        "radius": (0, -1, float("nan"), float("inf"), 1e308, 5e-324, None, "9", [1, 2], 1j, 10**400),
        "bounds": ((1, 0), (0, 0), (-9, 9), ([0, 0], [1, 1]), ([0], [1, 2, 3]), "ab", 5, (None, 1), (1j, 2), (float("nan"), 1), ((), ()), {}),
        "center": ([0, 0], [0], 0.5, "x", [float("nan"), 0], [1e308, 0], [[0]], [1, 2, 3], 1j, {}, 10**400),
        "unit": ("person", "", None, 1, ["label"]),
        "mechanism": ("", None, "PROVEN", 1, ["published"]),
        "adjacency": ("", None, "label", 1, ["replace"]),
        "seed": (-1, 1.5, "x", None, 2**200, True, [1], float("nan"), np.int64(3)),
        "n_components": (0, -1, 1.5, "x", 10**30, True, None),
        "preprocessing": ("x", ["log"], ["pca:9"], [None], 5, ["standardise", "pca:1"], [""], ["log:nan"], None, [{}]),
        "preprocessing_share": (0, 1, float("nan"), "x", None),
        "feature_names": (["a"], ["a", "a"], ["label", "b"], [1, 2], [None, ""], 5, "ab", ["\ud800", "b"], ["=cmd", "@x"]),
        "label_name": ("", 5, "x0", "\ud800"),
        "objective": ("", None, 1, ["paper"]),
        "columns": (["a"], "a", [], 5), "label": ("b", 5, ""), "ledger": ("", "/", "none.db", 5, "\0"),
    }.items()
    for value in values
)  # fmt: skip


def estimator(rng: np.random.Generator) -> Case:
    """scikit-learn words its own refusals; they must not quote cells either."""
    from privgmm import PrivateGaussianMixture

    X, y, other = _rows(rng), _labels(rng), _rows(rng)
    wishes: dict[str, Any] = {"mechanism": "published"}
    for name, value in (pick(rng, _WISHES), pick(rng, _WISHES)):
        if name in (
            "epsilon",
            "delta",
            "radius",
            "bounds",
            "center",
            "unit",
            "adjacency",
            "n_components",
        ):
            wishes[name] = value
        elif name == "seed":
            wishes["random_state"] = value

    def use() -> None:
        fitted = PrivateGaussianMixture(**wishes).fit(X, y)
        fitted.sample(2)
        fitted.predict_proba(other)

    return Call(lambda: quiet(use), "PrivateGaussianMixture", also=(ValueError, TypeError))


def quiet(function: Callable[[], object]) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        function()


FAMILIES = (
    Family("arrays, fit", fit, 4_500),
    Family("arrays, open_rows", table, 5_000),
    Family("arrays, release", release, 4_000),
    Family("arrays, estimator", estimator, 1_500),
)
