"""privgmm: publish a Gaussian mixture model of a sensitive table under differential privacy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privgmm.errors import (
    BudgetError,
    CautionWarning,
    InputError,
    PrivacyLeakWarning,
    RefitWarning,
)

if TYPE_CHECKING:
    from privgmm import datasets, published, solver
    from privgmm.curate import release
    from privgmm.estimator import PrivateGaussianMixture
    from privgmm.model import Mixture, fit, kl_divergence
    from privgmm.model.columns import Column
    from privgmm.model.schema import Schema
    from privgmm.releases import Release

# The one place where the version stands; pyproject.toml reads it from here.
__version__ = "0.2.0"

# Loaded on first use, so that ``import privgmm`` stays quick.
_LAZY = {
    "Column": "privgmm.model.columns",
    "Mixture": "privgmm.model",
    "PrivateGaussianMixture": "privgmm.estimator",
    "Release": "privgmm.releases",
    "Schema": "privgmm.model.schema",
    "datasets": "",
    "fit": "privgmm.model",
    "kl_divergence": "privgmm.model",
    "published": "",
    "release": "privgmm.curate",
    "solver": "",
}

__all__ = [
    "BudgetError",
    "CautionWarning",
    "Column",
    "InputError",
    "Mixture",
    "PrivacyLeakWarning",
    "PrivateGaussianMixture",
    "RefitWarning",
    "Release",
    "Schema",
    "datasets",
    "fit",
    "kl_divergence",
    "published",
    "release",
    "solver",
]


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'privgmm' has no attribute {name!r}")
    home = _LAZY[name]
    value = getattr(import_module(home), name) if home else import_module(f"privgmm.{name}")
    globals()[name] = value
    return value
