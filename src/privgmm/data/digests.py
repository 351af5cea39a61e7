"""Keyed 128-bit digests of a column of texts: what stands for a person's id wherever it is kept.

SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012), over whole Arrow columns: hashlib takes a
text at a time, and no library hashes columns with a key. The key is drawn anew for every release and never
written down, so a digest tells nobody an id, and two ids meet with probability 2^-128.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

KEY_BYTES = 16
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_WORD = 8
# Texts at a time: few enough that their state stays in cache.
_BLOCK = 1 << 13


def new_key() -> bytes:
    """A key for the digests of one release."""
    return secrets.token_bytes(KEY_BYTES)


def digests(texts: Any, key: bytes) -> Words:
    """(2, n) words of the digest of each text of an Arrow string array; a null has that of the empty text."""
    import pyarrow as pa

    column = texts.cast(pa.large_binary())
    _, offsets, data = column.buffers()
    n = len(column)
    at = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + n + 1]
    held = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    # Bytes behind the last text, so that a whole word may be read at its end.
    padded = np.concatenate([held[at[0] : at[-1]], np.zeros(_WORD, np.uint8)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WORD)
    starts, lengths = at[:-1] - at[0], np.diff(at)
    sizes = lengths // _WORD
    out = np.empty((2, n), dtype=np.uint64)
    for size in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        for first in range(0, alike.size, _BLOCK):
            rows = alike[first : first + _BLOCK]
            out[:, rows] = _siphash(_words(windows, starts[rows], lengths[rows], size), key)
    return out


def _words(windows: Any, starts: Any, lengths: Any, size: int) -> Words:
    """(size + 1, n) little-endian words of texts of ``size`` whole words; the last holds the length on top."""
    at = starts + _WORD * np.arange(size + 1)[:, None]
    words = windows[at].view("<u8")[..., 0].astype(np.uint64)
    left = (lengths % _WORD).astype(np.uint64)
    words[-1] &= (np.uint64(1) << (np.uint64(8) * left)) - np.uint64(1)
    words[-1] |= lengths.astype(np.uint64) << np.uint64(56)
    return np.asarray(words)


def _siphash(words: Words, key: bytes) -> Words:
    """(2, n) digests of texts given as words (m, n)."""
    k0, k1 = np.frombuffer(key, dtype="<u8").tolist()
    v = np.empty((4, words.shape[1]), dtype=np.uint64)
    v[:] = [[a ^ b] for a, b in zip(_START, (k0, k1, k0, k1), strict=True)]
    v[1] ^= np.uint64(0xEE)
    scratch = np.empty_like(v[0])
    for word in words:
        v[3] ^= word
        _mix(v, 2, scratch)
        v[0] ^= word
    v[2] ^= np.uint64(0xEE)
    _mix(v, 4, scratch)
    low = np.bitwise_xor.reduce(v)
    v[1] ^= np.uint64(0xDD)
    _mix(v, 4, scratch)
    return np.stack([low, np.bitwise_xor.reduce(v)])


def _mix(v: Words, rounds: int, scratch: Words) -> None:
    """SipRounds in place; sums are modulo 2^64."""
    a, b, c, d = v
    for _ in range(rounds):
        a += b
        _turn(b, 13, scratch)
        b ^= a
        _turn(a, 32, scratch)
        c += d
        _turn(d, 16, scratch)
        d ^= c
        a += d
        _turn(d, 21, scratch)
        d ^= a
        c += b
        _turn(b, 17, scratch)
        b ^= c
        _turn(c, 32, scratch)


def _turn(word: Words, bits: int, scratch: Words) -> None:
    """Rotate to the left, in place."""
    np.right_shift(word, np.uint64(64 - bits), out=scratch)
    word <<= np.uint64(bits)
    word |= scratch
