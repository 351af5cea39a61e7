"""Distances of normal laws against integration, and the means' part of KL against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from privgmm import Mixture, kl_divergence
from privgmm.reproduce.figures.methods import means_part, total_variation


@pytest.mark.parametrize(
    ("mean", "sd", "other_mean", "other_sd"),
    [(0, 1, 1, 1), (0, 1, 0, 2), (-1, 0.5, 2, 3), (0, 1, 0.1, 1 + 1e-6), (5, 0.1, 0, 1)],
)
def test_total_variation(mean: float, sd: float, other_mean: float, other_sd: float) -> None:
    def gap(x: float) -> float:
        return float(abs(norm.pdf(x, mean, sd) - norm.pdf(x, other_mean, other_sd)) / 2)

    low, high = sorted((mean, other_mean))
    wide = 12 * max(sd, other_sd)
    expected, _ = quad(gap, low - wide, high + wide, limit=400, points=[mean, other_mean])
    assert total_variation(mean, sd, other_mean, other_sd) == pytest.approx(expected, abs=2e-6)


def test_total_variation_of_a_law_with_itself_is_zero() -> None:
    assert total_variation(3.0, 2.0, 3.0, 2.0) == 0


def test_means_part_is_what_moving_the_means_back_saves() -> None:
    rng = np.random.default_rng(5)
    factors = rng.standard_normal((2, 3, 3, 3))
    spreads = factors @ factors.transpose(0, 1, 3, 2) + np.eye(3)
    means = rng.standard_normal((2, 3, 3))
    fitted = Mixture([0.2, 0.3, 0.5], means[0], spreads[0])
    released = Mixture([0.25, 0.25, 0.5], means[1], spreads[1])
    moved_back = Mixture(released.weights, fitted.means, released.covariances)
    saved = kl_divergence(released, fitted) - kl_divergence(moved_back, fitted)
    assert means_part(released, fitted) == pytest.approx(saved)
