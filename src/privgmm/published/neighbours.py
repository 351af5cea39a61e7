"""What an adjacent data set changes: the class means (eq10) and the class weights (eq14), (eq14b).

label          one label flips (Definition 1)
record-remove  one record leaves                 (section IV-C, first case)
record-change  one record's features change      (section IV-C, second case, and section V-E)
record-add     one record within the ball enters (section IV-C, third case)

(eq10) can be read in two ways. Its supremum is printed over n and k' != k, where D_{n,k'} gives row n the
label k': then only rows that leave class k move its mean ("departures"). (eq19) and (eq23) range over
all n and k', and Appendix A speaks of all admissible label flips, so rows that enter class k count too
("both"). A flip does move the mean of the class it enters, so "both" is the default.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.types import Floats

Adjacency = Literal["label", "record-remove", "record-change", "record-add"]
Neighbours = Literal["both", "departures"]

_NAMES: dict[str, Adjacency] = {
    "label": "label",
    "record": "record-change",
    "record-change": "record-change",
    "change": "record-change",
    "record-remove": "record-remove",
    "remove": "record-remove",
    "record-add": "record-add",
    "add": "record-add",
}


def adjacency_named(name: str) -> Adjacency:
    """The adjacency that a name or an alias stands for."""
    if name not in _NAMES:
        raise InputError(f"Unknown adjacency {name!r}; choose one of {', '.join(_NAMES)}.")
    return _NAMES[name]


def clip_to_ball(X: Floats, radius: float) -> Floats:
    """x <- x min(1, B/|x|), so that (eqr1) holds. Repair: the print lacks the 1 in the min."""
    norms = np.linalg.norm(X, axis=1)
    with np.errstate(divide="ignore"):
        return np.asarray(X * np.minimum(1.0, radius / norms)[:, None])


def mean_shifts(
    X: Floats,
    codes: NDArray[np.intp],
    k: int,
    mean: Floats,
    adjacency: Adjacency,
    neighbours: Neighbours = "both",
) -> Floats:
    """All mu_k(D) - mu_k(D') up to sign, for the adjacencies that can be listed (eq10).

    Leaving class k moves its mean by (mu_k - x_n)/(N_k - 1); entering it from another class moves
    it by (x_n - mu_k)/(N_k + 1). The destination class of a flip does not matter to class k, so
    there are N shifts, not N(K-1). With ``neighbours="departures"`` rows that enter are left out.
    """
    inside = codes == k
    n_k = int(inside.sum())
    if adjacency == "record-remove" or (adjacency == "label" and neighbours == "departures"):
        return np.asarray((X[inside] - mean) / (n_k - 1))
    if adjacency == "label":
        step = np.where(inside, 1.0 / (n_k - 1), 1.0 / (n_k + 1))
        return np.asarray((X - mean) * step[:, None])
    raise InputError(
        f"The neighbours of adjacency {adjacency!r} cannot be listed; they are bounded by the radius."
    )


def ball_shape(n_k: int, dim: int, radius: float, printed: bool = False) -> Floats:
    """(2B/N_k)^2 I: the ellipsoid form of |mu_k(D) - mu_k(D')| <= 2B/N_k, (eqr4) and (eqr5).

    With it Gamma_k^-1 = 8 B^2 ln(2/delta) / (N_k^2 eps_k^2) I. Repair: (eqr5) prints B for B^2,
    against (eq10a); ``printed`` gives the print, whose noise is too small for B > 1 and not needed
    for B < 1. The bound also holds for a flip: leaving moves the mean by |x - mu_-n|/N_k.
    """
    return np.eye(dim) * 4 * (radius if printed else radius**2) / n_k**2


def adjacent_counts(counts: NDArray[np.intp], adjacency: Adjacency) -> NDArray[np.intp]:
    """(J, K) class counts of the neighbours' weight vectors S'(D), each counts row / its own sum.

    label: K(K-1) moves of one unit, (eq14). remove and add: K vectors, (eq14b). Repair: (eq14b)
    asks that one *weight* changes, which no simplex allows; one *count* changes, as its second
    condition says. change: none. Neighbours outside S (an empty class) are dropped.
    """
    unit = np.eye(counts.size, dtype=np.intp)
    if adjacency == "record-change":
        return np.empty((0, counts.size), dtype=np.intp)
    if adjacency == "record-remove":
        moved = counts - unit
    elif adjacency == "record-add":
        moved = counts + unit
    else:
        flips = unit[None, :, :] - unit[:, None, :]
        moved = counts + flips[~np.eye(counts.size, dtype=bool)]
    return np.asarray(moved[(moved > 0).all(axis=1)])
