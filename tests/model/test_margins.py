"""Quantiles, switches and the latent correlations that give shapes their correlations."""

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtr

from privgmm.errors import InputError
from privgmm.model.columns import Column, Encoding
from privgmm.model.margins import (
    SCORES,
    ClassScores,
    Margins,
    _monotone_cubic,
    choice,
    latent_correlations,
    mixed_margins,
    quantiles,
    shares_between,
    switch,
)


def test_quantiles_of_a_histogram_stay_in_its_range_and_keep_its_masses():
    edges, masses = np.linspace(0, 4, 5), np.array([0.1, 0.2, 0.3, 0.4])
    q = quantiles(edges, masses)
    assert q[0] >= 0
    assert q[-1] <= 4
    assert np.interp(0.3, ndtr(SCORES), q) == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("share", [0.003, 0.2, 0.5, 0.97])
def test_a_switch_is_on_for_its_share_exactly(share):
    fine = np.linspace(-6, 6, 2_000_001)
    on = np.interp(fine, SCORES, switch(share)) > 0.5
    weight = np.exp(-(fine**2) / 2)
    assert (weight * on).sum() / weight.sum() == pytest.approx(share, rel=1e-3)


def test_a_choice_has_its_shares():
    z = np.random.default_rng(0).standard_normal(200_000)
    drawn = np.rint(np.interp(z, SCORES, choice(np.array([5.0, 3.0, 2.0])))).astype(int)
    assert np.bincount(drawn) / z.size == pytest.approx([0.5, 0.3, 0.2], abs=0.006)


def test_shapes_get_the_correlations_that_were_asked_for():
    skewed = np.exp(SCORES)
    spiked = np.maximum(SCORES, 0.3)
    wanted = np.array([[1.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.0]])
    told = np.stack([skewed, spiked, SCORES])
    margins = Margins(told[None], latent_correlations(told, wanted)[None])
    X = margins.draw(np.zeros(400_000, dtype=np.intp), np.random.default_rng(1))
    # exp has heavy tails: its sample correlation is off by about 0.01.
    assert np.corrcoef(X.T) == pytest.approx(wanted, abs=0.03)


def test_columns_far_from_zero_have_the_same_latent_correlations():
    told = np.stack([np.exp(SCORES), np.maximum(SCORES, 0.3), SCORES])
    wanted = np.array([[1.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.0]])
    far = told * 1e-3 + 1.0
    assert latent_correlations(far, wanted) == pytest.approx(
        latent_correlations(told, wanted), abs=1e-6
    )


def test_impossible_correlations_become_the_nearest_possible():
    told = np.stack([switch(0.01), SCORES])
    latent = latent_correlations(told, np.array([[1.0, 0.99], [0.99, 1.0]]))
    assert np.linalg.eigvalsh(latent)[0] > 0


def test_margins_of_another_shape_are_refused():
    with pytest.raises(InputError):
        Margins(np.zeros((1, 2, 5)), np.eye(2)[None])
    with pytest.raises(InputError):
        Margins(-np.broadcast_to(SCORES, (1, 1, SCORES.size)), np.eye(1)[None])


def test_shares_between_edges_count_spikes_once_and_nothing_beyond():
    half = np.maximum(SCORES, 0.0)  # half of the rows at zero, the others a half bell
    shares = shares_between(half, np.array([-1.0, -0.5, 0.5, 1.0]))
    assert shares == pytest.approx([0.0, ndtr(0.5), ndtr(1.0) - ndtr(0.5)], abs=1e-3)


def test_levels_have_their_shares_though_correlations_had_to_give_way():
    """Two levels tied to one number in a way that no copula with free switches has."""
    columns = (Column("x", "number", 0.0, 1.0), Column("c", "category", levels=("a", "b", "o")))
    encoding = Encoding(columns, (0.0, 0.0), ((), (0, 1)))
    mean = np.array([0.5, 0.4, 0.3])
    spread = np.array([0.3, np.sqrt(0.24), np.sqrt(0.21)])
    ties = np.array([[1.0, 0.85, 0.13], [0.85, 1.0, -0.53], [0.13, -0.53, 1.0]])
    scores = ClassScores(encoding, mean, ties * spread * spread[:, None])
    told = scores.switches()
    told[0] = ndtr(SCORES)
    margins = mixed_margins(encoding, told[None], [scores], [])
    X = margins.draw(np.zeros(200_000, dtype=np.intp), np.random.default_rng(1))
    level = encoding.cells(X)[:, 1].astype(int)
    assert np.bincount(level) / len(X) == pytest.approx([0.4, 0.3, 0.3], abs=0.006)
    before = Margins(told[None], margins.correlations)
    X = before.draw(np.zeros(200_000, dtype=np.intp), np.random.default_rng(1))
    off = np.bincount(encoding.cells(X)[:, 1].astype(int)) / len(X) - [0.4, 0.3, 0.3]
    assert np.abs(off).max() > 0.01


def test_the_cubic_through_a_distribution_function_is_scipys_to_the_bit():
    rng = np.random.default_rng(0)
    for edges in range(3, 80):
        x = np.sort(rng.normal(size=edges))
        # Empty cells, and one that falls, as noise may have it.
        y = np.cumsum(rng.random(edges) * (rng.random(edges) < 0.7) - (np.arange(edges) == 1))
        at = np.interp(np.arange(8 * (edges - 1) + 1) / 8, np.arange(edges), x)
        np.testing.assert_array_equal(_monotone_cubic(x, y, at), PchipInterpolator(x, y)(at))
