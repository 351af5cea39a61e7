"""privgmm: publish a Gaussian mixture model of a sensitive table under differential privacy."""

from privgmm import datasets
from privgmm.errors import BudgetError, InputError, PrivacyLeakWarning
from privgmm.model import Mixture, fit, kl_divergence

__all__ = [
    "BudgetError",
    "InputError",
    "Mixture",
    "PrivacyLeakWarning",
    "datasets",
    "fit",
    "kl_divergence",
]
