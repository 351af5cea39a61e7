"""Numbers as text for readers of the report."""

from __future__ import annotations

import math
from itertools import pairwise

_MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 4) -> str:
    """A number with about ``digits`` significant digits; large whole parts are kept, and only extreme numbers become powers of ten."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    magnitude = math.floor(math.log10(abs(value)))
    if -4 <= magnitude < 7:
        text = f"{value:.{max(0, digits - 1 - magnitude)}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", _MINUS)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}".replace("-", _MINUS)


def padded(value: float) -> str:
    """Exactly four significant digits, trailing zeros kept, as tables of measurements have them."""
    return f"{value:#.4g}".rstrip(".").replace("-", _MINUS)


def column(values: list[float], digits: int = 4) -> list[str]:
    """Numbers of one table column, with equal decimals so that they line up."""
    largest = max((abs(v) for v in values), default=0.0)
    if not (1e-4 <= largest < 1e7):
        return [number(v, digits) for v in values]
    decimals = max(0, digits - 1 - math.floor(math.log10(largest)))
    return [f"{v:.{decimals}f}".replace("-", _MINUS) for v in values]


def percent(share: float) -> str:
    """A share in percent; a positive one never reads as zero."""
    if 0 < share < 0.0005:
        return "< 0.05 %"
    return f"{100 * share:.1f} %"


def tick_labels(ticks: list[float]) -> list[str]:
    """Labels with just enough digits to tell neighbouring ticks apart."""
    if len(ticks) < 2:
        return [number(t) for t in ticks]
    step = min(b - a for a, b in pairwise(ticks))
    largest = max(abs(t) for t in ticks)
    digits = min(12, max(1, math.ceil(math.log10(max(largest / step, 1))) + 1))
    # A tick at 1e-17 is a zero with rounding error.
    return [number(0.0 if abs(t) < step * 1e-6 else t, max(digits, 2)) for t in ticks]
