"""Laws of lengths from noisy shells: what one class shows, and what all of them show together."""

import numpy as np
import pytest

from privgmm.proven.record.errors import _excess
from privgmm.proven.record.tails import Shells, choose_radius, radial_laws, shell_edges

DIM, FARTHEST = 4, 30.0


def shells_of(lengths: list[np.ndarray], sd: float, seed: int) -> tuple[Shells, np.ndarray]:
    """Noisy shells of classes whose rows have these lengths, and how many rows each has."""
    edges = shell_edges(DIM, np.full(len(lengths), FARTHEST))
    exact = [
        np.bincount(np.searchsorted(edge, x, side="right"), minlength=edge.size + 1)
        for edge, x in zip(edges, lengths, strict=True)
    ]
    noisy = np.array(exact) + sd * np.random.default_rng(seed).standard_normal(np.shape(exact))
    sizes = np.array([float(x.size) for x in lengths])
    return Shells(noisy, edges, np.full(sizes.size, sd), np.full(sizes.size, FARTHEST)), sizes


def bell(n: int, seed: int) -> np.ndarray:
    return np.linalg.norm(np.random.default_rng(seed).standard_normal((n, DIM)), axis=1)


def tailed(n: int, seed: int) -> np.ndarray:
    """One row in five is three times as far out."""
    times = np.where(np.random.default_rng([seed, 1]).random(n) < 0.2, 3.0, 1.0)
    return np.minimum(bell(n, seed) * times, FARTHEST)


def test_bells_stay_bells_under_noise():
    """Over twenty tables of six classes no law is wider than a bell by a tenth."""
    for seed in range(20):
        shells, n = shells_of([bell(200, 10 * seed + k) for k in range(6)], 15.0, seed)
        for law in radial_laws(shells, n, DIM):
            assert law.spread == pytest.approx(1.0, rel=0.1)


def test_tails_that_no_class_shows_alone_show_in_all_together():
    """E|u|^2 / d is 2.6: twelve classes tell it to a third on average; one of them alone is taken for a bell."""
    alone, together = [], []
    for seed in range(10):
        lengths = [tailed(400, 20 * seed + k) for k in range(12)]
        shells, n = shells_of(lengths, 15.0, seed)
        together.append(np.mean([law.spread for law in radial_laws(shells, n, DIM)]))
        one = Shells(shells.counts[:1], shells.edges[:1], shells.sd[:1], shells.farthest[:1])
        alone.append(radial_laws(one, n[:1], DIM)[0].spread)
    assert np.median(together) == pytest.approx(2.6, rel=0.35)
    assert np.median(alone) < 1.5


def test_masses_are_shares_of_the_rows():
    shells, n = shells_of([tailed(4000, 1), bell(300, 2)], 10.0, 0)
    for law in radial_laws(shells, n, DIM) + radial_laws(shells, n, DIM, for_radius=True):
        assert law.masses.sum() == pytest.approx(1.0)
        assert (law.masses >= 0).all()


def test_a_few_rows_far_out_widen_the_radius_of_a_large_class():
    """Sixty of 200,000 rows at 28 lengths, noise 8 a shell: less than what a shell must show to be believed by itself."""
    x = np.concatenate([bell(200_000, 0), np.random.default_rng(1).uniform(20, 29, 60)])
    faint, sure = [], []
    for seed in range(5):
        shells, n = shells_of([x], 8.0, seed)
        faint.append(choose_radius(radial_laws(shells, n, DIM, for_radius=True)[0], 1e5))
        sure.append(choose_radius(radial_laws(shells, n, DIM)[0], 1e5))
    assert np.median(faint) > 1.2 * np.median(sure)


def test_small_classes_are_not_widened_by_faint_tails():
    shells, n = shells_of([bell(200, k) for k in range(4)], 15.0, 3)
    usual = [law.masses for law in radial_laws(shells, n, DIM)]
    for law, masses in zip(radial_laws(shells, n, DIM, for_radius=True), usual, strict=True):
        np.testing.assert_allclose(law.masses, masses)


def test_excess_beyond_a_clip_in_closed_form():
    x = 1.3 * np.linalg.norm(np.random.default_rng(0).standard_normal((400_000, 3)), axis=1)
    assert _excess(1.69, 3, 1.9) == pytest.approx((np.maximum(x - 1.9, 0) ** 2).mean(), rel=0.02)


def test_where_noise_would_hide_directions_the_radius_is_smaller():
    shells, n = shells_of([tailed(4000, 0)], 5.0, 0)
    law = radial_laws(shells, n, DIM)[0]
    for signal, smaller in ((1e5, False), (15.0, True)):
        plain, wary = choose_radius(law, signal), choose_radius(law, signal, hiding=8.0)
        assert (wary < plain) is smaller
