"""The Gaussian mixture model itself: fitting, density, sampling, divergence. Knows nothing of privacy."""

from privgmm.model.fitting import fit, label_by_kmeans, weights_on_grid
from privgmm.model.mixture import Mixture, component_kl, kl_divergence

__all__ = [
    "Mixture",
    "component_kl",
    "fit",
    "kl_divergence",
    "label_by_kmeans",
    "weights_on_grid",
]
