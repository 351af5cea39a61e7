"""Releases to report on: small, large and hostile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from privgmm import Mixture
from privgmm.releases import Guarantee, Mechanism, Release

MakeRelease = Callable[..., Release]


@pytest.fixture
def make_release() -> MakeRelease:
    """A random release of K classes and d features; keywords change its guarantee."""

    def make(
        n_classes: int = 3,
        dim: int = 4,
        classes: Sequence[str] | None = None,
        features: Sequence[str] = (),
        **changes: Any,
    ) -> Release:
        rng = np.random.default_rng(7)
        factors = rng.normal(size=(n_classes, dim, dim + 3))
        mixture = Mixture(
            rng.dirichlet(np.full(n_classes, 5.0)),
            rng.uniform(-4, 4, (n_classes, dim)),
            factors @ factors.transpose(0, 2, 1) / (dim + 3),
            classes,
        )
        stated: dict[str, Any] = {
            "status": "proven",
            "unit": "label",
            "adjacency": "label",
            "epsilon": 1.0,
            "delta": 1e-5,
            "mu": 0.2681,
            "publishable": True,
            "mechanisms": (
                Mechanism("label counts in cells", 18, 2**0.5, 2**0.5 / 0.2, 0.2),
                Mechanism("class moments", 42, 1.7, 1.7 / 0.15, 0.15),
            ),
            "assumed_public": ("the class list",),
            "not_protected": ("the features of every row",),
            "notes": ("a note for the reader",),
        }
        return Release(mixture, Guarantee(**{**stated, **changes}), tuple(features))

    return make


HOSTILE_CLASSES = (
    "<script>document.title='pwned'</script>",
    '"><img src=x onerror="document.title=\'pwned\'">',
    "emoji 🦋👩\u200d🔬 and 日本語",
    "$x^2$ \\frac{1}{2} & ']]>",
    "שלום مرحبا \u202e turned",
    "=cmd()|calc",
    "L" * 5000,
    "\x1b[31mr\x00ed",
    " ",
    "{{ 7*7 }}{% raw %}",
    "[bold red]markup[/] :smile:",
    "\ufdd0 noncharacter \ufffd",
)
HOSTILE_FEATURES = (
    "<svg onload=\"document.title='pwned'\">",
    "' onmouseover='document.title=1",
    "$\\alpha_1",
    "W" * 3000,
    "--></style><script>document.title='pwned'</script>",
    "</title><script>document.title='pwned'</script>",
    "line\nbreak\ttab",
)


@pytest.fixture
def hostile_release(make_release: MakeRelease) -> Release:
    return make_release(
        len(HOSTILE_CLASSES), len(HOSTILE_FEATURES), HOSTILE_CLASSES, HOSTILE_FEATURES
    )
