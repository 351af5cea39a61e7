"""Words on how far off a release may be: numbers with their errors, and what cannot be used."""

from __future__ import annotations

import math

import numpy as np

from privgmm.releases.release import Release
from privgmm.releases.wording import printable

HOW_FAR_OFF = (
    "Errors are standard errors from noise and clipping: how far a number may be from what this very table "
    "gives without privacy, not from the population it was drawn from. The file and release.errors hold 95 % intervals."
)
# More sentences than this tell nobody more.
_MOST_SENTENCES = 12
_MOST_NAMES = 8


def with_error(value: float, error: float | None) -> str:
    """A number and its standard error, with as many decimals as two digits of the error need."""
    if error is None:
        return f"{value:.4g}"
    if error <= 0 or not 1e-12 < error < 1e12 or abs(value) > 1e12:
        return f"{value:.4g} ± {error:.2g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def not_usable(release: Release) -> tuple[str, ...]:
    """One sentence per class or column that noise hides; none where all can be used or nothing is told."""
    if release.errors is None:
        return ()
    usable = release.errors.usable_columns
    names = [printable(name, 40) for name in release.model_names]
    classes = [printable(name, 40) for name in release.mixture.classes]
    lost_class, lost_column = ~usable.any(axis=1), ~usable.any(axis=0)
    if lost_class.all():
        return (
            "No class can be used at this epsilon: noise hides where the classes lie or how wide they are.",
        )
    sentences = [
        f"Class {classes[k]} cannot be used at this epsilon: noise hides where it lies or how wide it is."
        for k in np.flatnonzero(lost_class)
    ]
    sentences += [
        f"Column {names[j]} cannot be used at this epsilon: noise hides its mean or its spread in every class."
        for j in np.flatnonzero(lost_column)
    ]
    for k in np.flatnonzero(~lost_class):
        left = [names[j] for j in np.flatnonzero(~usable[k] & ~lost_column)]
        if left:
            listed = ", ".join(left[:_MOST_NAMES])
            more = f" and {len(left) - _MOST_NAMES} more" if len(left) > _MOST_NAMES else ""
            sentences.append(
                f"In class {classes[k]}, do not use {listed}{more} at this epsilon: noise hides the mean or the spread."
            )
    if len(sentences) > _MOST_SENTENCES:
        rest = len(sentences) - _MOST_SENTENCES + 1
        sentences = [
            *sentences[: _MOST_SENTENCES - 1],
            f"The same holds for {rest} more classes or columns: see release.errors.usable_columns.",
        ]
    return tuple(sentences)
