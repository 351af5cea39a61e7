"""Mixtures, divergences, ellipsoids, samples and steps, built from hostile numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import quiet
from .case import SECRET_TEXT, Call, Case, Family, chance, pick

_NUMBERS: tuple[Any, ...] = (
    0.0, -0.0, 1.0, -1.0, 0.5, 1e308, -1e308, 5e-324, 1e-300, 1e150, float("nan"), float("inf"), 1 + 1e-12,
)  # fmt: skip
_THINGS: tuple[Any, ...] = (
    None, "x", SECRET_TEXT, 1j, [], {}, (), b"\xff", 10**400, True, np.array("2020", "M8[D]"), object(), [[1], [1, 2]],
    np.ma.masked_all(2), float("nan"), -1, range(3), np.zeros((2, 2, 2, 2)), [None], ["1"], np.empty((0, 3)),
)  # fmt: skip


def parts(rng: np.random.Generator) -> list[Any]:
    """Weights, means, covariances and classes; often one or two of them spoiled."""
    K, d = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    A = rng.normal(size=(K, d, d + 1))
    made: list[Any] = [
        rng.dirichlet(np.ones(K)), rng.normal(size=(K, d)), A @ A.transpose(0, 2, 1),
        pick(rng, (None, None, list("uvw")[:K], [1, 2, 3][:K], [True, False, "x"][:K])),
    ]  # fmt: skip
    for _ in range(pick(rng, (0, 0, 1, 1, 2))):
        at = int(rng.integers(4))
        if at == 3 or chance(rng, 0.3):
            made[at] = pick(rng, _THINGS)
        elif isinstance(made[at], np.ndarray) and made[at].size:
            made[at] = made[at].astype(
                pick(rng, (float, float, float, object, complex, np.float16))
            )
            made[at].flat[int(rng.integers(made[at].size))] = pick(rng, _NUMBERS)
            if chance(rng, 0.2):
                made[at] = made[at][..., : int(rng.integers(3))]
        if chance(rng, 0.05) and getattr(made[at], "dtype", None) == np.float64:
            made[at] = made[at] * pick(rng, (1e200, 1e-200, 1e308, 1e-320, 0, -1))
    return made


def mixture(rng: np.random.Generator) -> Case:
    from privgmm import Mixture

    given = parts(rng)
    d = given[1].shape[-1] if isinstance(given[1], np.ndarray) and given[1].ndim else 1
    X = np.zeros((2, d)) if chance(rng, 0.5) else pick(rng, (*_THINGS, np.full((1, d), 1e308)))
    n = (
        3
        if chance(rng, 0.5)
        else pick(rng, (0, 1, 3, -1, 1.5, "x", None, True, 10**30, float("nan"), np.int64(2), [1]))
    )
    seed = (
        0
        if chance(rng, 0.5)
        else pick(rng, (0, None, -1, "x", 1.5, 2**100, [1], True, np.random.default_rng(0)))
    )

    def use() -> None:
        m = Mixture(*given)
        m.sample(n, seed, per_class=chance(rng, 0.3))
        m.predict(X)
        m.log_density(X)
        m.predict_proba(X)

    return Call(lambda: quiet(use), "Mixture")


def divergence(rng: np.random.Generator) -> Case:
    from privgmm import Mixture, kl_divergence

    one, two = parts(rng), parts(rng)
    two = [*one] if chance(rng, 0.5) else two
    odd = pick(rng, _THINGS)

    def use() -> None:
        q = Mixture(*one)
        value = kl_divergence(q, odd if chance(rng, 0.2) else Mixture(*two))
        assert not value < 0

    return Call(lambda: quiet(use), "kl_divergence")


def ellipsoid(rng: np.random.Generator) -> Case:
    from privgmm.solver import min_trace_ellipsoid

    d = int(rng.integers(1, 4))
    points: Any = rng.normal(size=(int(rng.integers(1, 8)), d))
    weight: Any = pick(
        rng, (None, None, np.eye(d), np.diag(np.arange(1.0, d + 1)), -np.eye(d), np.zeros((d, d)))
    )
    tol: Any = pick(rng, (1e-4, 1e-4, 1e-2, 0, -1, float("nan"), 1e308, "x", None, 1e-300))
    for _ in range(int(rng.integers(3))):
        roll = int(rng.integers(5))
        if roll == 0:
            points = pick(rng, _THINGS)
        elif roll == 1:
            weight = pick(
                rng, (*_THINGS, np.full((d, d), 1e308), np.eye(d) * 1e-320, np.eye(d) * 1e300)
            )
        elif isinstance(points, np.ndarray) and points.ndim == 2 and points.size:
            points = points.copy()
            points.flat[int(rng.integers(points.size))] = pick(rng, _NUMBERS)
            if roll == 3:
                points[:, 0] = 0

    def use() -> None:
        found = min_trace_ellipsoid(points, weight, tol)
        assert found.shape.shape == (np.shape(points)[1],) * 2

    return Call(lambda: quiet(use), "min_trace_ellipsoid")


def published(rng: np.random.Generator) -> Case:
    import privgmm

    X, y = rng.normal(size=(20, 2)), np.array([0, 1] * 10)
    epsilon, delta, seed, radius = (pick(rng, (*usual, *_NUMBERS, None, "x", [1])) for usual in (
        (1.0,) * 15, (1e-5,) * 15, (0,) * 15, (None,) * 15))  # fmt: skip
    adjacency = pick(rng, ("label", "label", "record-change", "record-remove", "x", None, 1))
    name = pick(rng, ("laplace", "gaussian", "colored-gaussian", "r1smg", "", "x", None, 3))

    def use() -> None:
        if chance(rng, 0.5):
            privgmm.published.baseline(name, X, y, epsilon=epsilon, delta=delta, seed=seed)
        else:
            privgmm.published.design(
                X, y, epsilon=epsilon, delta=delta, adjacency=adjacency, radius=radius
            ).draw(seed)

    return Call(lambda: quiet(use), "published")


def invented(rng: np.random.Generator) -> Case:
    import privgmm

    counts = tuple(
        pick(rng, (usual, usual, usual, 0, -1, 1.5, "x", None, 10**30, True))
        for usual in (50, 2, 2, 0)
    )
    return Call(lambda: privgmm.datasets.synthetic(*counts), "synthetic")


def steps(rng: np.random.Generator) -> Case:
    from privgmm.transform import apply_all, from_dict, invert_all, public_steps

    content: Any = {"kind": pick(rng, ("log", "standardise", "pca", None, 1))}
    for name in ("offset", "mean", "scale", "components", "origin"):
        if chance(rng, 0.5):
            content[name] = pick(
                rng, (*_THINGS, *_NUMBERS, [0, 0], [1, 1], [[1, 0]], "public", "features")
            )
    if chance(rng, 0.2):  # a text would be the name of a file
        content = pick(rng, [thing for thing in _THINGS if not isinstance(thing, str)])

    def use() -> None:
        made = public_steps(content) if chance(rng, 0.5) else (from_dict(content),)
        invert_all(made, apply_all(made, np.ones((2, 2))))

    return Call(lambda: quiet(use), "steps", {"x": b"{"})


FAMILIES = (
    Family("models, Mixture", mixture, 3_000),
    Family("models, kl_divergence", divergence, 1_500),
    Family("models, ellipsoid", ellipsoid, 2_500),
    Family("models, published", published, 600),
    Family("models, synthetic", invented, 400),
    Family("models, steps", steps, 1_500),
)
