import numpy as np
import pytest
from scipy.special import softmax

from privgmm.queries.assigned import WithinClasses
from privgmm.rowwise import GaussianRule, lots, mixture_rule

ROWS = 200_000


@pytest.fixture(scope="module")
def turned():
    """(d, n): rows that share columns and lie on a coarse grid, as real tables do."""
    rng = np.random.default_rng(7)
    return np.stack([np.round(rng.normal(size=ROWS), 1), np.arange(ROWS) / 64.0])


def test_the_rule_picks_the_most_probable_gaussian():
    rule = GaussianRule(
        np.array([[0.0], [4.0]]), np.array([[[1.0]], [[2.0]]]), np.log([0.5, 0.5 * 2.0])
    )
    X = np.linspace(-3, 8, 111)[:, None]
    density = [0.5 * np.exp(-(X[:, 0] ** 2) / 2), 1.0 * np.exp(-2 * (X[:, 0] - 4) ** 2)]
    np.testing.assert_array_equal(rule(X), np.argmax(density, axis=0))


def test_a_mixture_gives_its_own_rule():
    weights, whiten = np.array([0.25, 0.75]), np.array([[[1.0]], [[4.0]]])
    rule = mixture_rule(weights, np.array([[0.0], [1.0]]), whiten, salt=3)
    np.testing.assert_allclose(rule.offsets, np.log([0.25, 0.75 * 4.0]))
    assert rule.salt == 3


def test_lots_are_gumbel_numbers(turned):
    # Sup distance of ROWS draws: beyond 3 / sqrt n with probability below 1e-7 (and the seed is fixed).
    found = np.sort(next(lots(turned, salt=1)))
    law = np.exp(-np.exp(-found))
    assert np.abs(law - (np.arange(ROWS) + 0.5) / ROWS).max() < 3 / np.sqrt(ROWS)


def test_lots_of_other_classes_salts_and_rows_are_unrelated(turned):
    stream = lots(turned, salt=1)
    first, second = next(stream), next(stream)
    other = next(lots(turned, salt=2))
    pairs = [(first, second), (first, other), (second, other), (first[1:], first[:-1])]
    # Six standard deviations.
    assert max(abs(np.corrcoef(a, b)[0, 1]) for a, b in pairs) < 6 / np.sqrt(ROWS)


def test_with_a_salt_classes_are_drawn_by_responsibility():
    weights = np.array([0.5, 0.3, 0.2])
    centres, whiten = np.array([[0.0], [1.5], [1.0]]), np.array([[[1.0]], [[1.0]], [[0.3]]])
    rule = mixture_rule(weights, centres, whiten, salt=11)
    x = np.random.default_rng(3).uniform(-3, 4, ROWS)
    score = rule.offsets - (whiten[:, 0, 0] * (x[:, None] - centres[:, 0])) ** 2 / 2
    share = softmax(score, axis=1)
    drawn = np.eye(3)[rule(x[:, None])]
    spread = np.sqrt((share * (1 - share)).sum(axis=0))
    # Six standard deviations, overall and where each class is likely.
    assert (np.abs((drawn - share).sum(axis=0)) < 6 * spread).all()
    for k in range(3):
        likely = share[:, k] > 0.5
        scale = np.sqrt((share * (1 - share))[likely, k].sum())
        assert abs((drawn - share)[likely, k].sum()) < 6 * scale


def test_the_most_probable_class_cuts_components_where_lots_do_not():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, ROWS)
    X = rng.normal(size=(ROWS, 1)) + 1.5 * truth[:, None]
    even, centres, whiten = np.full(2, 0.5), np.array([[0.0], [1.5]]), np.ones((2, 1, 1))
    hard = X[mixture_rule(even, centres, whiten)(X) == 0]
    drawn = X[mixture_rule(even, centres, whiten, salt=0)(X) == 0]
    assert drawn.var() == pytest.approx(1.0, abs=0.03)
    assert drawn.mean() == pytest.approx(0.0, abs=0.03)
    assert hard.var() < 0.75


def test_within_classes_a_row_stays_in_its_class_and_knows_no_other_row():
    rng = np.random.default_rng(5)
    first, third = (
        mixture_rule(
            np.full(m, 1 / m), rng.normal(size=(m, 2)), np.tile(np.eye(2), (m, 1, 1)), salt=4
        )
        for m in (2, 3)
    )
    second = mixture_rule(np.ones(1), np.zeros((1, 2)), np.eye(2)[None])
    rules = WithinClasses((first, second, third))
    X, codes = rng.normal(size=(500, 2)), rng.integers(-1, 3, 500)
    blocks = rules.blocks(X, codes)
    # A row of no listed class stays in no block.
    assert (blocks[codes < 0] == -1).all()
    np.testing.assert_array_equal(blocks[codes == 0], first(X[codes == 0]))
    assert (blocks[codes == 1] == 2).all()
    np.testing.assert_array_equal(blocks[codes == 2], 3 + third(X[codes == 2]))
    alone = [rules.blocks(X[n : n + 1], codes[n : n + 1])[0] for n in range(500)]
    assert blocks.tolist() == alone
