"""The words that the report, ``privgmm show`` and the registry entry share, and text made safe to show.

They include how far off a release may be: numbers with their errors, and which classes and columns are not usable.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privgmm.releases.column_lines import usable_columns
from privgmm.releases.guarantee import Guarantee
from privgmm.releases.release import Release
from privgmm.types import PersonUnit

# Joiners that emoji and several scripts need; every other invisible character is spelled out.
_JOINERS = {"\u200c", "\u200d"}
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
HOW_FAR_OFF = (
    "Errors are standard errors from noise and clipping: how far a number may be from what this very table "
    "gives without privacy, not from the population it was drawn from. The file and release.errors hold 95\N{NO-BREAK SPACE}% intervals."
)
# The most sentences, and names in one sentence, about what is not usable.
_MOST_SENTENCES = 12
_MOST_NAMES = 8


@dataclass(frozen=True)
class Badge:
    """One word on what may be done with a release, and the sentence behind it."""

    kind: Literal["good", "warning", "stop"]
    title: str
    meaning: str


def printable(value: object, limit: int = 120) -> str:
    """A name as one short line: control, direction and surrogate characters become escapes.

    A class or column name is text from elsewhere: it must not move a terminal's cursor, turn the
    reading direction of what follows, or be impossible to encode.
    """
    text = str(value)
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    shown = "".join(
        f"\\u{ord(c):04x}" if unicodedata.category(c) in _INVISIBLE and c not in _JOINERS else c
        for c in text
    )
    return shown if shown.strip() else "(blank)"


def badges(guarantee: Guarantee) -> tuple[Badge, ...]:
    """What may be done with the release; the first badge is the most important one."""
    if guarantee.status == "as-published":
        return (
            Badge(
                "stop",
                "As published: not proven",
                "The paper's privacy argument has gaps, so this release protects nobody for "
                "certain. Use it to study the method; do not publish it.",
            ),
        )
    proven = Badge(
        "good",
        "Proven",
        "The guarantee rests on a written proof and on noise drawn as that proof requires.",
    )
    if guarantee.publishable:
        return (proven,)
    leak = Badge(
        "stop",
        "Not publishable: class list read from data",
        "Which classes occur was read from the private labels, so one row can show in the names. State "
        "the class list and release again.",
    )
    experiment = Badge(
        "warning",
        "Experiment: do not publish",
        "The noise came from a seed, so whoever knows the seed can take it away again.",
    )
    return (leak,) * guarantee.classes_from_data + (experiment,) * guarantee.repeatable


def best_guess(guarantee: Guarantee) -> float | None:
    """The largest probability that an attacker who knows everything but one unit guesses it right, where a fair coin decided.

    Two equally likely neighbouring tables can be told apart from a mu-GDP answer with probability at most
    Phi(mu / 2), as in the test of N(0, 1) against N(mu, 1); delta pays for integer noise. It is rounded up to
    a tenth of a percent. None where the release is not proven or not publishable, e.g. because seeded noise can be subtracted again.
    """
    if guarantee.status != "proven" or guarantee.mu is None or not guarantee.publishable:
        return None
    right = 0.5 * math.erfc(-guarantee.mu / 2 / math.sqrt(2)) + guarantee.delta
    return min(1.0, math.ceil(1000 * right) / 1000)


def guess_between(guarantee: Guarantee) -> str:
    """What the attacker of ``best_guess`` is asked to tell apart."""
    if guarantee.person is not None:
        column = printable(guarantee.person.column)
        if guarantee.unit == "label":
            return f"which of two sets of labels the rows of one {column} have"
        if guarantee.adjacency == "add-remove":
            return f"whether one {column} was in the table"
        return f"which of two values of {column}, with their rows, was in the table"
    if guarantee.unit == "label":
        return "which of two labels a row has"
    if guarantee.adjacency == "add-remove":
        return "whether a row was in the table"
    return "which of two rows was in the table"


def composition(guarantee: Guarantee) -> str:
    """One sentence on how the mechanisms add up."""
    if guarantee.mu is None:
        return (
            "As the paper claims: the loss on the weights, plus the largest loss over classes on "
            "means and covariances. This addition is not proven."
        )
    return (
        "Gaussian differential privacy: squares of mu add over all mechanisms, also when later "
        f"queries depend on earlier answers; in total mu = {guarantee.mu:.6g}."
    )


def class_shape(release: Release) -> str:
    """In words: how many Gaussians a class consists of, and how the shapes of columns are released."""
    each = release.model.components_per_class
    if each.max() == 1:
        made = "Each class is one Gaussian"
    else:
        some = f"{each.min()} to {each.max()}" if each.min() < each.max() else f"{each.max()}"
        made = f"Each class is a mixture of {some} Gaussians, {each.sum()} in all"
        made += ", whose mean and covariance are the ones shown"
    if release.margins is not None:
        return (
            f"{made}, with a shape of its own for every column: synthetic rows have these shapes and obey what was "
            "stated of the columns, but beyond shapes and correlations they do not know how columns go together."
        )
    if any(column.lo is not None for column in release.columns):
        return (
            f"{made}. Skew and several peaks inside {'them' if each.max() > 1 else 'a class'} are smoothed away; synthetic "
            "rows stay inside the stated ranges."
        )
    return (
        f"{made}. Skew, several peaks and hard limits inside {'them' if each.max() > 1 else 'a class'} are smoothed "
        "away, so synthetic rows can be impossible ones (a negative length, say)."
    )


def known_limits(release: Release) -> tuple[str, ...]:
    """What a careful reader should know before using the release."""
    guarantee = release.guarantee
    limits = [
        class_shape(release),
        "Rare classes carry relatively more noise than common ones; lean on their means and "
        "covariances with care.",
        "Differential privacy hides single rows, not facts about the group: what holds for most of a "
        "class can be learned, also about people who are not in the table.",
        "The promise is for this release alone. Any other release about the same rows adds to the "
        "loss; keep a ledger.",
        "This file states how the noise was drawn; it cannot prove that it was made by unmodified "
        "software on an untouched machine.",
    ]
    if guarantee.status == "as-published":
        limits.insert(
            0,
            "The noise level was computed from the private data and some outputs are impossible "
            "for neighbouring tables, so the stated epsilon does not hold.",
        )
    elif guarantee.person is not None:
        limits.insert(3, _how_rows_count(guarantee.person))
    elif guarantee.unit == "record":
        limits.insert(
            3,
            "A person who appears in m rows is protected as with m times mu.",
        )
    else:
        limits.insert(
            3,
            "Only labels are protected. If a label can be told from the features of its row, "
            "hiding the label in the table does not hide it from the world.",
        )
    return tuple(limits)


def _how_rows_count(person: PersonUnit) -> str:
    column = printable(person.column)
    if person.max_rows is None:
        return (
            f"Each {column} counts once, however many rows it has: shares, means and covariances are those "
            "of rows that weigh one over the number of rows beside them."
        )
    return (
        f"Each row counts, and of one {column} at most {person.max_rows}, chosen by a fixed hash of the "
        "features; what the others hold does not count."
    )


def with_error(value: float, error: float | None) -> str:
    """A number and its standard error, with as many decimals as two digits of the error need."""
    if error is None:
        return f"{value:.4g}"
    if error <= 0 or not 1e-12 < error < 1e12 or abs(value) > 1e12:
        return f"{value:.4g} ± {error:.2g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def share_with_error(share: float, error: float | None) -> str:
    """A share in per cent, in the same way; a positive one never reads as zero."""
    if error is None or error <= 0:
        return "< 0.05 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"
    return f"{with_error(100 * share, 100 * error)} %"


def short_number(value: float) -> str:
    """A number with three digits, or its whole part if that has more; a power of ten only if it is very large or small."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def counted(n: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 class, 2 classes."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def not_usable(release: Release) -> tuple[str, ...]:
    """One sentence per class or column that noise hides; none where all are usable or the release has no errors."""
    if release.errors is None:
        return ()
    usable = usable_columns(release)
    own = release.model_names if release.encoding is None else release.feature_names
    names = [printable(name, 40) for name in own]
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
