"""Stated bounds: balls and boxes, and what is refused."""

import numpy as np
import pytest

from privgmm import InputError
from privgmm.data.region import stated_region


def test_ball():
    region = stated_region(3, None, 20.0, [-1, -1, -1])
    np.testing.assert_allclose(region.to_unit(np.array([[19.0, -1, -1]])), [[1, 0, 0]])
    means, covariances = region.from_unit(np.array([[0.5, 0, 0]]), np.eye(3)[None] / 400)
    np.testing.assert_allclose(means, [[9, -1, -1]])
    np.testing.assert_allclose(covariances, np.eye(3)[None])


def test_box_corners_lie_on_the_unit_sphere():
    region = stated_region(2, ([0.0, -5.0], [10.0, 5.0]), None, None)
    corners = np.array([[0, -5], [10, 5], [0, 5.0], [10, -5]])
    np.testing.assert_allclose(np.linalg.norm(region.to_unit(corners), axis=1), 1)
    assert stated_region(4, (0, 1), None, None).center.tolist() == [0.5] * 4


def test_huge_rows_stay_finite():
    region = stated_region(2, None, 1e-90, None)
    assert np.isfinite(region.to_unit(np.array([[1e308, -1e308]]))).all()


@pytest.mark.parametrize(
    ("bounds", "radius", "center"),
    [
        (None, None, None),
        ((0, 1), 1.0, None),
        ((0, 1), None, [0, 0]),
        ((1, 0), None, None),
        ((0, np.inf), None, None),
        (([0, 0, 0], [1, 1, 1]), None, None),
        ("ab", None, None),
        (3, None, None),
        (None, -1.0, None),
        (None, float("nan"), None),
        (None, 1.0, [0, 0, 0]),
        (None, 1.0, [np.nan, 0]),
        (None, 1.0, "x"),
        (None, 1e-300, None),
        (None, 1.0, 1e200),
        ((-1e308, 1e308), None, None),
    ],
)
def test_refusals_are_one_sentence(bounds, radius, center):
    with pytest.raises(InputError) as caught:
        stated_region(2, bounds, radius, center)
    assert "\n" not in str(caught.value)
