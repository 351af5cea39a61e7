"""Digests of ids: the reference's own vectors, any text, any place in a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privgmm.data import ids as module
from privgmm.data.ids import digests, new_key, told_apart

KEY = bytes(range(16))
# The first vectors of SipHash's reference code (vectors_sip128): texts 00, 00 01, ... under KEY.
REFERENCE = {
    0: "a3817f04ba25a8e66df67214c7550293",
    1: "da87c1d86b99af44347659119b22fc45",
    2: "8177228da4a45dc7fca38bdef60affe4",
}


def digest(text: bytes) -> str:
    found = digests(pa.array([text], pa.large_binary()), KEY)
    return found[:, 0].astype("<u8").tobytes().hex()


@pytest.mark.parametrize("length", REFERENCE)
def test_the_vectors_of_the_reference(length):
    assert digest(bytes(range(length))) == REFERENCE[length]


def by_hand(text: bytes, key: bytes) -> tuple[int, int]:
    """SipHash-2-4-128 in Python integers, word by word."""
    mask = (1 << 64) - 1
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [0x736F6D6570736575 ^ k0, 0x646F72616E646F6D ^ k1 ^ 0xEE,
         0x6C7967656E657261 ^ k0, 0x7465646279746573 ^ k1]  # fmt: skip

    def rotated(x, b):
        return ((x << b) | (x >> (64 - b))) & mask

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & mask
            v[1] = rotated(v[1], 13) ^ v[0]
            v[0] = rotated(v[0], 32)
            v[2] = (v[2] + v[3]) & mask
            v[3] = rotated(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask
            v[3] = rotated(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask
            v[1] = rotated(v[1], 17) ^ v[2]
            v[2] = rotated(v[2], 32)

    whole = text + bytes(7 - len(text) % 8) + bytes([len(text) % 256])
    for i in range(0, len(whole), 8):
        word = int.from_bytes(whole[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(4)
    low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return low, v[0] ^ v[1] ^ v[2] ^ v[3]


@given(st.lists(st.none() | st.text(max_size=40)), st.binary(min_size=16, max_size=16))
def test_every_text_by_itself_wherever_it_stands(texts, key):
    column = pa.array([None, "before", *texts], pa.large_string()).slice(2)
    found = digests(column, key)
    for (low, high), text in zip(found.T.tolist(), texts, strict=True):
        assert (low, high) == by_hand((text or "").encode(), key)


def test_a_key_is_new_every_time_and_changes_every_digest():
    assert len({new_key() for _ in range(20)}) == 20
    texts = pa.array(["h1", "h2"], pa.large_string())
    assert not np.equal(digests(texts, KEY), digests(texts, bytes(16))).any()


def test_repeated_texts_are_digested_once_and_alike(monkeypatch):
    monkeypatch.setattr(module, "_LOOK", 8)
    texts = [None, "h1", "", "a much longer name than fifteen bytes"] * 5
    found = digests(pa.array(texts, pa.large_string()), KEY)
    assert [tuple(words) for words in found.T.tolist()] == [
        by_hand((text or "").encode(), KEY) for text in texts
    ]


@given(
    st.lists(st.text(alphabet="\0ab\u00e9", max_size=18) | st.text(max_size=40), unique=True),
    st.binary(min_size=16, max_size=16),
)
def test_different_texts_have_different_words_wherever_they_stand(texts, key):
    column = pa.array(["before", *texts], pa.large_string()).slice(1)
    words = [tuple(pair) for pair in told_apart(column, key).T.tolist()]
    assert len(set(words)) == len(texts)
    for text, found in zip(texts, words, strict=True):
        alone = told_apart(pa.array([text], pa.large_string()), key)
        assert tuple(alone[:, 0].tolist()) == found
