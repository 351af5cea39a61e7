"""Release documents: edited byte by byte, edited and sealed again, and JSON bombs."""

from __future__ import annotations

import copy
import hashlib
import json
from functools import cache
from typing import Any

import numpy as np

from .case import Call, Case, Command, Family, chance, pick
from .hostile import NAMES, damaged

_CLASSES: dict[str, tuple[Any, ...]] = {
    "two": ("u", "v"),
    "numbers": (3, 7),
    "booleans": (False, True),
    "floats": (0.5, 1.5),
    "mixed": ("u", 2),
    "steps": ("u", "v"),
    "cells": ("u", "v"),
}


@cache
def document(kind: str) -> bytes:
    """A small valid release document; its numbers are invented."""
    from privgmm import Mixture
    from privgmm.releases import Guarantee, Mechanism, Release
    from privgmm.releases.document import dump
    from privgmm.transform import Log, Pca, Standardise

    if kind == "cells":
        return _cells()
    mixture = Mixture(
        [0.25, 0.75], [[0.5, 1.0], [2.0, -1.0]], [[[1.0, 0.1], [0.1, 2.0]]] * 2, _CLASSES[kind]
    )
    guarantee = Guarantee(
        "proven", "label", "label", 1.0, 1e-5, 0.26, True,
        (Mechanism("label counts", 4, 1.4142, 5.5, 0.257),), ("the class list",), ("features",), ("n",),
    )  # fmt: skip
    steps = (
        (Log(20.0), Standardise([0.1] * 3, [2.0] * 3), Pca([0.0] * 3, np.eye(3)[:2]))
        if kind == "steps"
        else ()
    )
    names = ("a", "b", "c") if steps else ("a", "b")
    return dump(Release(mixture, guarantee, names, "cls", steps)).encode()


def _cells() -> bytes:
    """A category, missing cells, shapes and errors."""
    from privgmm import Mixture
    from privgmm.model.columns import Column, Encoding
    from privgmm.model.margins import SCORES, Margins
    from privgmm.model.uncertainty import Errors, Interval, Intervals, split
    from privgmm.releases import Guarantee, Release
    from privgmm.releases.document import dump

    columns = (
        Column("a", lo=-9.0, hi=9.0, missing=True),
        Column("b", "category", levels=("x", "y", "z"), missing=True),
    )
    encoding = Encoding(columns, (0.5, 0.0), ((), (2,)))
    mixture = Mixture([0.25, 0.75], [[0.5, 0.1, 0.3], [2.0, 0.4, 0.5]], [np.eye(3) / 5] * 2, ("u", "v"))  # fmt: skip
    told = (mixture.weights, mixture.means, *split(mixture.covariances))
    errors = Errors(
        *(np.full_like(values, 0.1) for values in told),
        Intervals(*(Interval(values - 0.2, values + 0.2) for values in told)),
        np.ones((2, 3), dtype=bool),
    )
    margins = Margins(np.broadcast_to(SCORES, (2, 4, SCORES.size)), np.tile(np.eye(4), (2, 1, 1)))
    guarantee = Guarantee("proven", "record", "replace", 1.0, 1e-5, 0.26, True)
    return dump(
        Release(
            mixture, guarantee, ("a", "b"), "cls", errors=errors, columns=columns, margins=margins,
            encoding=encoding,
        )
    ).encode()  # fmt: skip


def sealed(body: dict[str, Any]) -> bytes:
    """With the digest that its content asks for, as a forger would; content that has none keeps a wrong one."""
    import rfc8785

    body = {name: value for name, value in body.items() if name != "sha256"}
    try:
        canonical = rfc8785.dumps(body)
    except (rfc8785.CanonicalizationError, ValueError):
        canonical = b""
    return json.dumps({**body, "sha256": hashlib.sha256(canonical).hexdigest()}).encode()


_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 1.5, -0.0, 1e308, -1e308, 5e-324, 1e-300, 10**19, -(10**19), 10**400,
    float("inf"), float("nan"), "", "u", "1", "proven", "as-published", "record", "add-remove", [], {},
    [[]], [1, 2], [0.5, 0.5], [0, 1], [[0.5, 1.0]], ["a"], {"a": 1}, {"kind": "log"}, {"kind": "pca"},
    [{"kind": "log", "offset": 1e308}], "\ud800", "a\0", [None], [True, False], [1, 1.0], [10**30, 1],
)  # fmt: skip


def forged(rng: np.random.Generator) -> bytes:
    """A few places changed to hostile values, names or lists, and the seal renewed."""
    body = json.loads(document(pick(rng, tuple(_CLASSES))))
    for _ in range(int(rng.integers(1, 4))):
        place, key = _somewhere(body, rng)
        kind = int(rng.integers(7))
        if kind <= 2:
            place[key] = copy.deepcopy(pick(rng, _VALUES))
        elif kind == 3:
            place[key] = pick(rng, NAMES)
        elif kind == 4:
            del place[key]
            if not body:
                return b"{}"
        elif kind == 5 and isinstance(place[key], float):
            place[key] *= pick(rng, (-1, 0, 2, 1e-200, 1e200, 1e-320, 1 + 1e-12))
        elif isinstance(place, list):
            place.append(copy.deepcopy(place[key]))
        else:
            place[pick(rng, NAMES)] = copy.deepcopy(pick(rng, _VALUES))
    return sealed(body)


def _somewhere(body: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """A container and a key in it, reached by a random walk down."""
    place, key = body, pick(rng, tuple(body))
    while isinstance(place[key], (dict, list)) and place[key] and chance(rng, 0.8):
        place = place[key]
        key = pick(rng, tuple(place)) if isinstance(place, dict) else int(rng.integers(len(place)))
    return place, key


def bomb(rng: np.random.Generator) -> bytes:
    """Deep, wide, long, repeated or nearly JSON."""
    depth, wide = int(rng.integers(1, 3000)), pick(rng, (10, 1000, 100_000))
    head = b'{"format": "privgmm-release", "version": 1, "x": '
    return pick(rng, (
        b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * 100_000,
        head + b"[" * depth + b"]" * depth + b"}", head + b"1" * wide + b"}", head + b"1e999}",
        head + b'{"a":' * depth + b"1" + b"}" * depth + b"}", head + b"NaN}", head + b"-Infinity}",
        b"[" + b"0," * wide + b"0]", b'{"a":1,' * 3 + b'"a":2' + b"}" * 3, head + b'"\\ud800"}',
        b'"' + b"a" * wide + b'"', b"\xff\xfe" + document("two"), b"\xef\xbb\xbf" + document("two"),
        document("two").decode().encode("utf-16"), document("two") * 2, b"nul", b"\0" * wide, b"",
        document("two").replace(b'"label"', b'"label": 1, "label"', 1), b'{"version": 1e999}',
        b'{"format": "privgmm-release", "version": ' + b"9" * min(wide, 5000) + b"}", b"1" * wide,
    ))  # fmt: skip


def _any(rng: np.random.Generator) -> bytes:
    roll = rng.random()
    return forged(rng) if roll < 0.75 else bomb(rng) if roll < 0.95 else document("two")


def edited(rng: np.random.Generator) -> Case:
    data = damaged(document(pick(rng, tuple(_CLASSES))), rng)
    return Call(_use, "Release.load", {"r.json": data})


def loaded(rng: np.random.Generator) -> Case:
    return Call(_use, "Release.load", {"r.json": _any(rng)})


def _use() -> None:
    """What a user does with a release that loads."""
    from privgmm import Release
    from privgmm.releases.statement import statement_text

    release = Release.load("r.json")
    X, _ = release.sample(3, seed=1)
    assert X.shape == (3, len(release.feature_names))
    statement_text(release)
    release.save("again.json")
    assert Release.load("again.json").guarantee == release.guarantee


def command(rng: np.random.Generator) -> Case:
    """show, sample and report of forged documents."""
    arguments, outputs = pick(rng, (
        (("show", "r.json"), ()), (("show", "r.json", "--json"), ()), (("show", "r.json", "--registry"), ()),
        (("sample", "r.json", "-n", "3", "-o", "s.csv"), ("s.csv",)),
        (("sample", "r.json", "-n", "3", "-o", "s.parquet"), ("s.parquet",)),
        (("sample", "r.json", "-n", "2", "--per-class", "-o", "s.csv"), ("s.csv",)),
        (("report", "r.json", "-o", "p.html"), ("p.html",)),
    ))  # fmt: skip
    encoding = "ascii" if chance(rng, 0.1) else "utf-8"
    return Command(arguments, {"r.json": _any(rng)}, outputs, encoding=encoding)


FAMILIES = (
    Family("release files, edited bytes", edited, 30_000),
    Family("release files, forged", loaded, 12_000),
    Family("release files, commands", command, 3_000),
)
