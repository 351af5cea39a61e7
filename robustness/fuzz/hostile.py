"""Texts, numbers and names that have broken programs before."""

from __future__ import annotations

import numpy as np

from .case import SECRET_NUMBER, SECRET_TEXT, chance, pick

NUMBERS = (
    "nan", "inf", "-inf", "Infinity", "1e308", "-1e308", "1.8e308", "1e309", "5e-324", "2e-308",
    "-0", "0", "-1", "1", "2", "0.5", "1e-400", "1e-5", "1e100", "1e-101", "1e200", "0x10", "1_000",
    "１２", "٣", "", " ", "1,5", "9" * 400, "1" + "0" * 5000, "true", "None", "½", "--", "2**3",
    "\u200b1", "∞", "1e", "+", "#REF!", "9007199254740993", "18446744073709551616", "1;2", "'1'",
    "\u22121", "1\u00a0000", "NULL", "1.5.2", "-nan", "1d5", "1e+0000000000000000000001",
)  # fmt: skip

NAMES = (
    "a", "b", "y", "x0", "label", "", " ", "=cmd|' /C calc'!A0", "+1", "-1", "@x", "=1+1",
    "\u202eabc", "\x1b[2J", "a\nb", "a\tb", "a,b", 'q"q', "é", "e\u0301", "\U0001f600",
    "<script>zq</script>", "{{7*7}}", "{% raw %}", "%s%n", "../../x", "\ufeffa", "\u200b", "x" * 300,
    "[bold red]", "$x^2$", r"$\frac$", "$", r"\u0041", "__proto__", "CON", "-o", "--help", "0", "1",
    "Unnamed: 0", "__index_level_0__", "ﬃ", "İ", "\u2028", "\x7f", "&amp;", "'; DROP TABLE x; --",
    "\x00", "5.5", "nan", "True", "a" * 70_000, "\ud7ff\uffff", "\u0600", "]]>", "-->", "\\", "^",
)  # fmt: skip

# Whole numbers that options for counts and seeds may be given.
COUNTS = (
    "-1", "0", "1", "3", "-9223372036854775809", "1e3", "1.5", "nan", "", "x", "0x5", "１", "07",
    "18446744073709551616", "1" + "0" * 40, "9" * 4400, "--", "None", " 2", "2 ", "+2", "1_0",
)  # fmt: skip


def ordinary(rng: np.random.Generator) -> str:
    return f"{rng.normal() * 10:.4f}"


def number(rng: np.random.Generator) -> str:
    """Mostly an ordinary number, at times the secret or a hostile one."""
    if chance(rng, 0.9):
        return ordinary(rng)
    return SECRET_NUMBER if chance(rng, 0.5) else pick(rng, NUMBERS)


def cell(rng: np.random.Generator) -> str:
    """Anything that could stand in a cell."""
    roll = rng.random()
    if roll < 0.4:
        return pick(rng, NUMBERS)
    if roll < 0.6:
        return pick(rng, (SECRET_TEXT, f'"{SECRET_TEXT}"', f"{SECRET_NUMBER}x", f" {SECRET_TEXT} "))
    return pick(rng, NAMES) if roll < 0.9 else "\U0001f4a9" * int(rng.integers(1, 50))


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes after one to four accidents: flipped, cut, doubled, inserted, zeroed."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(out) + 1))
        some = int(rng.integers(1, 20))
        accident = int(rng.integers(6))
        if accident == 0 and at < len(out):
            out[at] ^= 1 << int(rng.integers(8))
        elif accident == 1 and at < len(out):
            out[at] = int(rng.integers(256))
        elif accident == 2:
            del out[at : at + some]
        elif accident == 3:
            out[at:at] = out[at : at + some]
        elif accident == 4:
            out[at:at] = rng.bytes(some)
        elif chance(rng, 0.3):
            del out[at:]
        else:
            out[at : at + some] = bytes(len(out[at : at + some]))
    return bytes(out)
