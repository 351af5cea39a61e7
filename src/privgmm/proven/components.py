"""Several Gaussians per class: how many are asked for, and how they are fitted into the released classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from privgmm.types import Codes, Floats

# A number for every class, or "auto": as many as rows and noise can carry.
Wanted = int | Literal["auto"]
# Sizes that "auto" chooses from, ascending: eight is what a class of 5,000 rows of 20 columns carries (MNIST, held-out
# log-likelihood per row at 4 and 8 components: -20.6 and -19.4; one Gaussian -24.3).
LADDER = (1, 2, 4, 8)
MOST = 64
# "auto" takes more components only if they gain so many nats per row: less is noise of the soft labels (4,000 rows of a bell) or
# nothing that a reader would notice.
GAIN = 0.05
# Weights (C,), means (C, d) and covariances (C, d, d) of the components of one class.
Parts = tuple[Floats, Floats, Floats]


class Components(NamedTuple):
    """weights (M,) of the whole model, means (M, d), covariances (M, d, d) and the class (M,) of each."""

    weights: Floats
    means: Floats
    covariances: Floats
    owners: Codes


def ladder(wanted: Wanted, most: float) -> tuple[int, ...]:
    """Sizes to choose from where a class carries at most ``most`` components, at least one."""
    if wanted == "auto":
        return tuple(size for size in LADDER if size <= max(most, 1))
    return (max(int(min(wanted, most)), 1),)


def standardised(parts: Parts) -> Parts:
    """The components moved so that together they have mean 0 and covariance I, as little as possible.

    x -> T^(-1/2) (x - m), m and T the mean and covariance of the whole.
    """
    w, m, S = parts
    w = w / w.sum()
    off = m - w @ m
    T = np.tensordot(w, S + off[:, :, None] * off[:, None, :], axes=1)
    values, axes = np.linalg.eigh((T + T.T) / 2)
    A = (axes / np.sqrt(values)) @ axes.T
    moved = A @ S @ A
    return w, off @ A, (moved + np.swapaxes(moved, 1, 2)) / 2


def into_classes(released: tuple[Floats, Floats, Floats], fits: Sequence[Parts]) -> Components:
    """Components of each class, in its whitened coordinates, as parts of the released classes.

    They are standardised first, so that every class has exactly the released weight, mean and covariance: with Sigma = L L^T,
    mu_kc = mu_k + L u_kc and Sigma_kc = L S_kc L^T.
    """
    weights, means, covariances, owners = [], [], [], []
    for k, (pi, mu, sigma) in enumerate(zip(*released, strict=True)):
        w, m, S = standardised(fits[k])
        L = np.linalg.cholesky(sigma)
        wide = L @ S @ L.T
        weights.append(pi * w)
        means.append(mu + m @ L.T)
        covariances.append((wide + np.swapaxes(wide, 1, 2)) / 2)
        owners.append(np.full(w.size, k))
    return Components(*(np.concatenate(part) for part in (weights, means, covariances, owners)))


def bell(dim: int) -> Parts:
    """One component: the Gaussian itself."""
    return np.ones(1), np.zeros((1, dim)), np.eye(dim)[None]
