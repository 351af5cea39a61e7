"""privgmm: publish a Gaussian mixture model of a sensitive table under differential privacy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privgmm.errors import BudgetError, InputError, PrivacyLeakWarning

if TYPE_CHECKING:
    from privgmm import datasets, published, solver
    from privgmm.curate import release
    from privgmm.estimator import PrivateGaussianMixture
    from privgmm.model import Mixture, fit, kl_divergence
    from privgmm.releases import Release

# Loaded on first use, so that ``import privgmm`` stays quick.
_LAZY = {
    "Mixture": "privgmm.model",
    "PrivateGaussianMixture": "privgmm.estimator",
    "Release": "privgmm.releases",
    "datasets": "",
    "fit": "privgmm.model",
    "kl_divergence": "privgmm.model",
    "published": "",
    "release": "privgmm.curate",
    "solver": "",
}

__all__ = [
    "BudgetError",
    "InputError",
    "Mixture",
    "PrivacyLeakWarning",
    "PrivateGaussianMixture",
    "Release",
    "datasets",
    "fit",
    "kl_divergence",
    "published",
    "release",
    "solver",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'privgmm' has no attribute {name!r}")
    home = _LAZY[name]
    value = getattr(import_module(home), name) if home else import_module(f"privgmm.{name}")
    globals()[name] = value
    return value
