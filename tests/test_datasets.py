"""The paper's generator (section V-A)."""

import numpy as np
import pytest

from privgmm import InputError
from privgmm.datasets import synthetic


def test_shape_repeatability_and_minimum_class_size():
    for seed in range(20):
        x, y = synthetic(n=1000, n_classes=5, dim=3, seed=seed)
        assert x.shape == (1000, 3)
        assert np.bincount(y, minlength=5).min() >= 5
    np.testing.assert_array_equal(x, synthetic(1000, 5, 3, seed=19)[0])


def test_means_and_covariances_follow_the_paper_s_laws():
    means, traces = [], []
    for seed in range(150):
        x, y = synthetic(n=400, n_classes=2, dim=2, seed=seed)
        for k in range(2):
            means.append(x[y == k].mean(0))
            traces.append(np.trace(np.cov(x[y == k].T)))
    # Uniform on [-10, 10]: variance 100/3; E tr Wishart_2(I, 3) = 6 with variance 2*2*3. Six sigma.
    assert np.abs(np.mean(means)) < 6 * np.sqrt(34 / 600)
    assert np.var(means) == pytest.approx(100 / 3, rel=0.25)
    assert np.mean(traces) == pytest.approx(6, abs=6 * np.sqrt(14 / 300))


def test_too_few_rows_is_refused():
    with pytest.raises(InputError, match="at least 25 rows"):
        synthetic(24, 5, 3)
