"""The noise has the stated law, and the same tests reject a scale that is off by 10 %.

OpenDP cannot be seeded, so every threshold is chosen for a false alarm below 1e-9 and n for a
power above 1 - 1e-9 (Noise tests of tumult-core are the model: they must also reject).
"""

import numpy as np
import pytest
from scipy.stats import chi2, kstest, laplace, norm, uniform

from privgmm.privacy import OpenDPNoise, SeededNoise

ALARM = 1e-9
N = 12_000
SCALES = [2.0**40, 1.7 * 2.0**40, 2.0**55]


def variance_accepts(draws, scale):
    """Sum of squares over scale^2 is chi-square with n degrees of freedom."""
    total = np.square(np.asarray(draws, dtype=float) / scale).sum()
    return chi2.ppf(ALARM / 2, len(draws)) < total < chi2.isf(ALARM / 2, len(draws))


def law_accepts(draws, scale):
    """Kolmogorov-Smirnov against N(0, scale^2)."""
    return kstest(np.asarray(draws, dtype=float) / scale, norm.cdf).pvalue > ALARM


def test_the_variance_test_has_power():
    # If the true scale is 10 % off, the sum of squares is 1.21 or 0.81 times a chi-square.
    low, high = chi2.ppf(ALARM / 2, N), chi2.isf(ALARM / 2, N)
    assert chi2.cdf(high / 1.1**2, N) < ALARM
    assert chi2.sf(low / 0.9**2, N) < ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_opendp_noise_has_its_scale(scale):
    draws = OpenDPNoise().gaussian(scale, N)
    assert draws.dtype == np.int64
    assert draws.shape == (N,)
    assert variance_accepts(draws, scale)
    assert law_accepts(draws, scale)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_opendp_noise_off_by_ten_percent_is_rejected(factor):
    assert not variance_accepts(OpenDPNoise().gaussian(factor * 2.0**40, N), 2.0**40)


def test_opendp_noise_is_new_every_time_and_uncorrelated():
    first, second = (OpenDPNoise().gaussian(2.0**40, N) / 2.0**40 for _ in range(2))
    assert not np.array_equal(first, second)
    limit = norm.isf(ALARM / 2) / np.sqrt(N)
    assert abs(first @ second) / N < 1.02 * limit
    assert abs(first[1:] @ first[:-1]) / N < 1.02 * limit
    assert abs(first.mean()) < 1.02 * limit


def test_every_low_bit_of_opendp_noise_is_random():
    # At 2^40 grid steps the low 20 bits are uniform; a float sampler would leave zeros there.
    draws = OpenDPNoise().gaussian(2.0**40, N)
    ones = ((draws[:, None] >> np.arange(20)) & 1).mean(axis=0)
    assert np.abs(ones - 0.5).max() < norm.isf(ALARM / 40) * 0.5 / np.sqrt(N)


@pytest.mark.parametrize("scale", SCALES)
def test_seeded_noise_has_its_scale(scale):
    draws = SeededNoise(7).gaussian(scale, N)
    assert variance_accepts(draws, scale)
    assert law_accepts(draws, scale)
    assert not variance_accepts(SeededNoise(7).gaussian(0.9 * scale, N), scale)
    assert not variance_accepts(SeededNoise(7).gaussian(1.1 * scale, N), scale)


def test_the_law_test_rejects_other_shapes_of_equal_variance():
    rng = np.random.default_rng(0)
    assert not law_accepts(laplace.rvs(scale=np.sqrt(0.5), size=N, random_state=rng), 1.0)
    assert not law_accepts(uniform.rvs(-(3**0.5), 2 * 3**0.5, size=N, random_state=rng), 1.0)


def test_seeded_noise_repeats_and_is_not_publishable():
    assert np.array_equal(SeededNoise(3).gaussian(9.5, 50), SeededNoise(3).gaussian(9.5, 50))
    assert not np.array_equal(SeededNoise(3).gaussian(9.5, 50), SeededNoise(4).gaussian(9.5, 50))
    assert not SeededNoise(3).publishable
    assert OpenDPNoise().publishable


def test_opendp_noise_is_opendps_sampler_number_by_number(monkeypatch):
    """No law tells a good generator of another kind, or one that the clock seeds, from OpenDP's."""
    import opendp.measurements

    asked = []

    def sampler(domain, metric, scale):
        asked.append((str(domain), str(metric), scale))
        return lambda zeros: [7 * i - 3 for i, zero in enumerate(zeros)] if not any(zeros) else None

    monkeypatch.setattr(opendp.measurements, "make_gaussian", sampler)
    assert OpenDPNoise().gaussian(2.0**41, 4).tolist() == [-3, 4, 11, 18]
    assert asked == [("VectorDomain(AtomDomain(T=i64))", "L2Distance(f64)", 2.0**41)]
