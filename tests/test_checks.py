"""Numbers and texts of the Python interface, whatever was given."""

import math

import numpy as np
import pytest

from privgmm import InputError
from privgmm.checks import checked_seed, real, utf8, whole


@pytest.mark.parametrize("value", [1, 1.5, True, np.float32(2), np.int8(3)])
def test_real_numbers(value):
    assert real(value, "It") == float(value)


def test_integers_beyond_the_floats_are_infinite():
    assert real(10**400, "It") == math.inf
    assert real(-(10**400), "It") == -math.inf


@pytest.mark.parametrize("value", [None, "1", 1j, [1], np.array([1.0]), b"1"])
def test_other_things_are_no_numbers(value):
    with pytest.raises(InputError, match=r"^It must be a number\.$"):
        real(value, "It")


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "2", None, 11])
def test_whole_numbers_have_a_range(value):
    with pytest.raises(InputError, match="It must be a whole number of at least 1 and at most 10"):
        whole(value, "It", at_most=10)


def test_seeds():
    assert checked_seed(None) is None
    assert checked_seed(np.int64(0)) == 0
    assert checked_seed(2**200) == 2**200


def test_lone_surrogates_cannot_be_written():
    assert utf8("é\U0001f600")
    assert not utf8("a\ud800")
