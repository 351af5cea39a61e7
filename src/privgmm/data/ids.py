"""Ids of persons: texts, each by itself, and the keyed 128-bit digests that stand for them wherever they are kept.

SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012), over whole Arrow columns: hashlib takes a
text at a time, and no library hashes columns with a key. The key is drawn anew for every release and never
written down, so a digest tells nobody an id, and two ids meet with probability 2^-128.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.model.labels import label_text

Words = NDArray[np.uint64]

KEY_BYTES = 16
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_WORD = 8
# Texts at a time: few enough that their state stays in the second-level cache, enough that Python's overhead
# vanishes (2^10 to 2^14 tried: 2^14 is the fastest).
_BLOCK = 1 << 14
# Where fewer than half of so many first texts are different, each different text is digested once.
_LOOK = 1 << 12


def id_texts(column: Any) -> Any:
    """Ids of any plain type as an Arrow array of texts, each by itself; null where there is none.

    The rule of labels (``model.labels``): an integer is its digits, a text itself, letter for letter.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    t = pa.types
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if t.is_dictionary(column.type):
        return id_texts(column.dictionary).take(column.indices).cast(pa.large_string())
    if t.is_integer(column.type):
        return column.cast(pa.large_string())
    if t.is_string(column.type) or t.is_large_string(column.type) or t.is_string_view(column.type):
        texts = column.cast(pa.large_string())
        empty = pc.equal(pc.binary_length(texts), 0)
        return pc.if_else(empty, None, texts) if pc.any(empty).as_py() else texts
    if t.is_floating(column.type) or t.is_boolean(column.type) or t.is_null(column.type):
        return pa.array([label_text(value) for value in column.to_pylist()], pa.large_string())
    raise InputError("The column of persons must hold texts or whole numbers; convert it to text.")


def id_array(ids: Any) -> Any:
    """Ids given beside arrays, as ``id_texts`` has them."""
    import pyarrow as pa

    values = np.asarray(ids) if hasattr(ids, "dtype") else np.asarray(ids, dtype=object)
    if values.ndim != 1:
        raise InputError("Persons must be one per row.")
    if values.dtype.kind in "iu":
        return id_texts(pa.array(values))
    return pa.array([_id(value) for value in values.tolist()], pa.large_string())


def _id(value: Any) -> str | None:
    """The text of an id; None for what is no text, half a character among it."""
    text = label_text(value)
    return None if text is None or any("\ud800" <= c <= "\udfff" for c in text) else text


def joined_ids(parts: list[Any]) -> Any:
    """Ids of several batches as one column; none is copied."""
    import pyarrow as pa

    return pa.chunked_array(parts, pa.large_string())


def missing_ids(texts: Any) -> NDArray[np.bool_]:
    """(n,) which rows belong to nobody."""
    if texts.null_count == 0:
        return np.zeros(len(texts), dtype=bool)
    return np.asarray(texts.is_null(), dtype=bool)


def new_key() -> bytes:
    """A key for the digests of one release."""
    return secrets.token_bytes(KEY_BYTES)


def digests(texts: Any, key: bytes) -> Words:
    """(2, n) words of the digest of each text of an Arrow string array; a null has that of the empty text."""
    import pyarrow as pa

    column = texts.cast(pa.large_binary())
    first = column[:_LOOK]
    if len(column) > _LOOK and 2 * len(first.unique()) < _LOOK:
        coded = column.dictionary_encode(null_encoding="encode")
        return np.take(_digests(coded.dictionary, key), np.asarray(coded.indices), axis=1)
    return _digests(column, key)


def _digests(column: Any, key: bytes) -> Words:
    """The same of an Arrow binary array, text by text."""
    _, offsets, data = column.buffers()
    n = len(column)
    out = np.empty((2, n), dtype=np.uint64)
    if n == 0:
        return out
    at = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + n + 1]
    held = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    # Bytes behind the last text, so that whole words may be read at its end.
    used = held[at[0] : at[-1]]
    padded = np.zeros((used.size // _WORD + 3) * _WORD, np.uint8)
    padded[: used.size] = used
    aligned = padded.view("<u8")
    starts, lengths = at[:-1] - at[0], np.diff(at)
    sizes = lengths // _WORD
    for size in [int(sizes[0])] if sizes.min() == sizes.max() else np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        for first in range(0, alike.size, _BLOCK):
            rows = alike[first : first + _BLOCK]
            out[:, rows] = _siphash(_words(aligned, starts[rows], lengths[rows], size), key)
    return out


def _words(aligned: Any, starts: Any, lengths: Any, size: int) -> Words:
    """(size + 1, n) little-endian words of texts of ``size`` whole words; the last holds the length on top.

    A text begins anywhere, so each of its words is put together from two aligned ones.
    """
    at, turn = starts // _WORD, (8 * (starts % _WORD)).astype(np.uint64)
    words = np.empty((size + 1, starts.size), dtype=np.uint64)
    low = aligned[at]
    for i in range(size + 1):
        high = aligned[at + i + 1]
        # Shifted in two steps: by 64 bits at once nothing would be shifted.
        words[i] = (low >> turn) | (high << (np.uint64(63) - turn) << np.uint64(1))
        low = high
    left = (lengths % _WORD).astype(np.uint64)
    words[-1] &= (np.uint64(1) << (np.uint64(8) * left)) - np.uint64(1)
    words[-1] |= lengths.astype(np.uint64) << np.uint64(56)
    return words


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
