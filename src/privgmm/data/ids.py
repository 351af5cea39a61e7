"""Ids of persons as texts, and the keyed 128-bit digests that replace them wherever they are kept.

The digest is SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012), computed for whole Arrow columns:
hashlib takes one text at a time, and no library hashes columns with a key. The key is drawn anew for every release and
never written down, so a digest reveals no id, and two different ids have the same digest with probability 2^-128.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.model.labels import label_text
from privgmm.rowwise import mixed

Words = NDArray[np.uint64]

KEY_BYTES = 16
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_WORD = 8
# _MASKS[size] keeps the first ``size`` bytes of a word.
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_WORD + 1)], dtype=np.uint64)
# Texts at a time: few enough that their state stays in the second-level cache, enough that Python's overhead
# vanishes (2^10 to 2^14 tried: 2^14 is the fastest).
_BLOCK = 1 << 14
# If fewer than half of this many first texts are different, each different text of the column is digested only once.
_LOOK = 1 << 12


def id_texts(column: Any) -> Any:
    """Ids of any plain type as an Arrow array of texts, each converted by itself; null where there is none.

    The rule is that of labels (``model.labels``): an integer becomes its digits, a text stays as it is, letter for letter.
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
    """The text of an id; None for what has no valid text, such as half a surrogate pair."""
    text = label_text(value)
    return None if text is None or any("\ud800" <= c <= "\udfff" for c in text) else text


def missing_ids(texts: Any) -> NDArray[np.bool_]:
    """(n,) whether a row has no id and so belongs to nobody."""
    if texts.null_count == 0:
        return np.zeros(len(texts), dtype=bool)
    return np.asarray(texts.is_null(), dtype=bool)


def new_key() -> bytes:
    """A key for the digests of one release."""
    return secrets.token_bytes(KEY_BYTES)


def digests(texts: Any, key: bytes) -> Words:
    """(2, n) words: the digest of each text of an Arrow string array; a null has the digest of the empty text."""
    import pyarrow as pa

    column = texts.cast(pa.large_binary())
    first = column[:_LOOK]
    if len(column) > _LOOK and 2 * len(first.unique()) < _LOOK:
        coded = column.dictionary_encode(null_encoding="encode")
        return np.take(_digests(coded.dictionary, key), np.asarray(coded.indices), axis=1)
    return _digests(column, key)


def told_apart(texts: Any, key: bytes) -> Words:
    """(2, n) evenly spread words that differ for different texts; for use in this process only, never to be kept.

    Texts of at most fifteen bytes become their bytes and their length, mixed one to one, which is much faster than
    digests; longer texts become digests.
    """
    lengths = np.diff(_bytes(texts)[0])
    short = lengths < 2 * _WORD
    if short.all():
        return _short_words(texts, key)
    out = np.empty((2, short.size), dtype=np.uint64)
    out[:, short] = _short_words(texts.filter(short), key)
    out[:, ~short] = digests(texts.filter(~short), key)
    return out


def _short_words(texts: Any, key: bytes) -> Words:
    """The words of short texts. Each word is changed by a map that is one to one given the other word, so texts stay distinct."""
    at, aligned = _bytes(texts)
    starts, lengths = at[:-1] - at[0], np.diff(at)
    place, turn = starts // _WORD, (8 * (starts % _WORD)).astype(np.uint64)
    low, middle, high = (aligned[place + i] for i in range(3))
    first = _turned(low, middle, turn) & _MASKS[np.minimum(lengths, _WORD)]
    second = _turned(middle, high, turn) & _MASKS[np.maximum(lengths - _WORD, 0)]
    k0, k1 = np.frombuffer(key, dtype="<u8")
    second = mixed((second | lengths.astype(np.uint64) << np.uint64(56)) + k0)
    return np.stack([mixed((first ^ second) + k1), second])


def _bytes(column: Any) -> tuple[NDArray[np.int64], Words]:
    """Offsets (n + 1,) of the texts of an Arrow array, and their bytes as words, padded with two words at the end."""
    import pyarrow as pa

    column = column.cast(pa.large_binary())
    _, offsets, data = column.buffers()
    n = len(column)
    if n == 0:
        return np.zeros(1, np.int64), np.zeros(3, np.uint64)
    at = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + n + 1]
    held = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    used = held[at[0] : at[-1]]
    padded = np.zeros((used.size // _WORD + 4) * _WORD, np.uint8)
    padded[: used.size] = used
    return at, padded.view("<u8")


def _digests(column: Any, key: bytes) -> Words:
    """Digests of an Arrow binary array, computed together for all texts of one length."""
    at, aligned = _bytes(column)
    starts, lengths = at[:-1] - at[0], np.diff(at)
    out = np.empty((2, lengths.size), dtype=np.uint64)
    sizes = lengths // _WORD
    # Sizes lie in a short range and most of them occur: counting finds them faster than np.unique, which would take as long as hashing.
    few = sizes.max(initial=0) < _BLOCK
    for size in np.flatnonzero(np.bincount(sizes)).tolist() if few else np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        for first in range(0, alike.size, _BLOCK):
            rows = alike[first : first + _BLOCK]
            out[:, rows] = _siphash(_words(aligned, starts[rows], lengths[rows], size), key)
    return out


def _words(aligned: Any, starts: Any, lengths: Any, size: int) -> Words:
    """(size + 1, n) little-endian words of texts of ``size`` whole words; the last word has the length in its top byte.

    A text may begin at any byte, so each of its words is put together from two aligned ones.
    """
    at, turn = starts // _WORD, (8 * (starts % _WORD)).astype(np.uint64)
    words = np.empty((size + 1, starts.size), dtype=np.uint64)
    low = aligned[at]
    for i in range(size + 1):
        high = aligned[at + i + 1]
        words[i] = _turned(low, high, turn)
        low = high
    words[-1] &= _MASKS[lengths % _WORD]
    words[-1] |= lengths.astype(np.uint64) << np.uint64(56)
    return words


def _turned(low: Words, high: Words, turn: Words) -> Words:
    """The words that begin ``turn`` (n,) bits after the beginning of ``low`` and reach into ``high``."""
    # ``high`` is shifted in two steps, because a shift by 64 bits at once would do nothing.
    return np.asarray((low >> turn) | (high << (np.uint64(63) - turn) << np.uint64(1)))


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
