"""The purity of noisy tables is bounded, whether or not rows without a listed label exist."""

import numpy as np
import pytest

from privgmm.proven.label.cell_table import CellTable


@pytest.mark.parametrize("totals_public", [True, False])
def test_purity_is_bounded_by_two_standard_errors(totals_public):
    """Over noise it holds at least 95 % of the time, and is not far above the truth."""
    rng = np.random.default_rng(0)
    labels = np.array([[60.0, 10, 30], [5, 80, 15], [20, 30, 150], [0, 0, 90], [70, 0, 0]])
    sizes, sigma = labels.sum(axis=1), np.full(5, 6.0)
    truth = float((labels**2).sum() / (sizes**2).sum())
    exact = labels if totals_public else labels[:, :2]
    found = []
    for _ in range(4000):
        noisy = exact + 6.0 * rng.standard_normal(exact.shape)
        if totals_public:
            noisy += (sizes - noisy.sum(axis=1))[:, None] / 3
        found.append(CellTable(noisy, sizes, sigma, totals_public).purity_at_most())
    assert np.mean(np.array(found) >= truth) >= 0.95
    assert np.mean(found) < truth + 0.1
