"""What the classes of a table have in common, and what that says of those that noise hides.

Columns mean the same in every class: where one class is wide, others are too, and two columns that are strongly
correlated in one class mostly are in all. This is used as a prior only (post-processing of noisy answers), so that
a class that the answers show well is released as they show it. The weight of a class whose place they hide is lowered (``balanced_counts``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import wrightomega

from privgmm.proven.record.frames import Frames, Moments, spectrum
from privgmm.proven.record.locate import Located
from privgmm.proven.record.tuning import TUNING
from privgmm.types import Floats


@dataclass(frozen=True, eq=False)
class SharedShape:
    """A prior for covariances: near ``shapes`` (K, d, d), as if ``rows`` (K,) rows had shown them."""

    shapes: Floats
    rows: Floats


def exchangeable(at: Located, extent: float) -> Located:
    """Shrink means and log widths to the other classes: those of column j are taken as draws from N(mu_j, tau^2), fitted to all classes."""
    means, means_sd = _shrunk(at.means, at.means_sd, 0.0, 0.5 * extent, 0.1 * extent)
    log_sd, log_sd_sd = _shrunk(
        at.log_sd, at.log_sd_sd, np.log(0.1 * extent), 1.0, TUNING.prior.alike
    )
    return replace(at, means=means, means_sd=means_sd, log_sd=log_sd, log_sd_sd=log_sd_sd)


def _shrunk(
    x: Floats, sd: Floats, centre: float, spread: float, least: float
) -> tuple[Floats, Floats]:
    """Posterior mean and deviation of x_kj ~ N(mu_j, tau^2) seen with errors sd."""
    v, tau2 = sd**2, spread**2
    vague = 1 / (4 * spread**2)
    best, left = x, v
    for _ in range(50):
        weight = 1 / (v + tau2)
        mu = ((weight * x).sum(axis=0) + centre * vague) / (weight.sum(axis=0) + vague)
        left = 1 / (1 / v + 1 / tau2)
        best = left * (x / v + mu / tau2)
        # Inverse-gamma prior worth two classes.
        new = ((best - mu) ** 2 + left).sum() + 2 * x.shape[1] * spread**2
        tau2 = max(new / (x.size + 2 * x.shape[1]), least**2)
    return np.asarray(best), np.sqrt(left)


def no_shared_shape(n_classes: int, dim: int) -> SharedShape:
    """The prior that shares nothing: every class by itself."""
    return SharedShape(np.repeat(np.eye(dim)[None], n_classes, axis=0), np.zeros(n_classes))


def shared_shape(round_: Moments, counts: Floats, wide: Frames) -> SharedShape:
    """The common correlations of the classes that a round saw clearly, for those that it did not.

    ``wide`` are the frames refined by the same round: their widths are taken for every class.
    """
    n_classes, d = round_.total.shape
    covariances = wide.inverse @ np.swapaxes(wide.inverse, 1, 2)
    sd = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    error = np.array([spectrum(round_, k, n).error for k, n in enumerate(counts)])
    clear = error < TUNING.prior.seen
    nothing = no_shared_shape(n_classes, d)
    if clear.sum() < 2 or clear.all():
        return nothing
    own = (covariances / (sd[:, :, None] * sd[:, None, :]))[clear]
    n = counts[clear]
    common = np.einsum("k,kij->ij", n / n.sum(), own)
    # A class is compared with the common shape of the others, because in a mean of few classes its own part would always explain it.
    others = (n.sum() * common - n[:, None, None] * own) / (n.sum() - n)[:, None, None]
    log_det = np.linalg.slogdet(own)[1]
    apart = 0.5 * (
        np.trace(np.linalg.solve(others, own), axis1=1, axis2=2) - d
        + np.linalg.slogdet(others)[1] - log_det
    )  # fmt: skip
    if apart.mean() > (1 - TUNING.prior.explained) * (-0.5 * log_det).mean():
        return nothing
    # A Wishart matrix of nu rows is apart from its mean by about d (d + 1) / (4 nu).
    rows = np.clip(d * (d + 1) / (4 * max(apart.mean(), 1e-3)), 1.0, 3.0 * d)
    shapes = sd[:, :, None] * common * sd[:, None, :]
    return SharedShape(shapes, np.where(clear, 0.0, rows))


def hypothesis(frames: Frames, shared: SharedShape) -> Frames:
    """Frames of the shared shape for the classes that have one, their means as uncertain as before."""
    maps, var = frames.maps.copy(), frames.means_var.copy()
    for k in np.flatnonzero(shared.rows > 0):
        back = frames.inverse[k]
        mean_var = back @ frames.means_var[k] @ back.T
        wide = shared.shapes[k] + mean_var
        maps[k] = np.linalg.inv(np.linalg.cholesky((wide + wide.T) / 2))
        var[k] = maps[k] @ mean_var @ maps[k].T
    return Frames(frames.centres, maps, var)


def balanced_counts(counts: Floats, sd: Floats, reverse: Floats) -> Floats:
    """The noisy counts, where the count of a class whose place noise hides is lowered within its own noise.

    With R the expected reverse KL of a class, q ln(q / pi) + pi ln(pi / q) + q R is least at q = x pi with
    ln x - 1/x + 1 + R = 0, that is 1 / x = omega(1 + R) (Wright's omega). That alone would hide classes
    from the reader, so R counts only beyond TUNING.prior.hidden, and a count is lowered by TUNING.prior.deviations of its own
    error at most, never below 1/2.
    """
    wanted = counts / wrightomega(1 + np.maximum(reverse - TUNING.prior.hidden, 0.0))
    lowest = counts - TUNING.prior.deviations * sd
    return np.asarray(np.maximum(np.maximum(wanted, lowest), 0.5))


def hidden_cost(seen: Floats, expected_kl: Floats) -> Floats:
    """What the posterior leaves out of the expected KL of a class that noise hides.

    The posterior explores one place. A class whose count is not ``seen`` by several standard deviations may
    lie anywhere else, where the KL is in the tens or hundreds; leaving such a class out costs only its
    small share. Its KL is therefore taken to be at least TUNING.prior.anywhere, falling to nothing at TUNING.prior.surely_seen.
    """
    floor = TUNING.prior.anywhere * np.maximum(1 - seen / TUNING.prior.surely_seen, 0.0)
    return np.maximum(floor - expected_kl, 0.0)
