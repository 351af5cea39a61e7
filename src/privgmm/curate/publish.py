"""``privgmm.release``: from private rows to a release, the one way through the house."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from privgmm.curate.proven import proven
from privgmm.curate.request import Request, checked, feature_names_of
from privgmm.errors import InputError
from privgmm.model.mixture import ClassName
from privgmm.privacy.accounting import mu_from_epsilon
from privgmm.proven.weighting import Weighting
from privgmm.releases import Release
from privgmm.releases.guarantee import Unit
from privgmm.statistics.rows import open_rows
from privgmm.statistics.tally import Progress, no_progress
from privgmm.transform import Step
from privgmm.transform.fit import check_wanted


def release(
    X: Any,
    y: ArrayLike | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    unit: Unit = "label",
    bounds: Any = None,
    radius: float | None = None,
    center: ArrayLike | None = None,
    classes: Sequence[ClassName] | None = None,
    mechanism: Literal["proven", "published"] = "proven",
    adjacency: Literal["replace", "add-remove"] = "replace",
    seed: int | None = None,
    *,
    n_components: int | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    preprocessing: Sequence[str | Step] = (),
    preprocessing_share: float = 0.1,
    weights: Weighting = "kl",
    feature_names: Sequence[str] = (),
    label_name: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    client: Any = None,
    progress: Progress = no_progress,
) -> Release:
    """Publish a Gaussian mixture of the rows under (epsilon, delta)-differential privacy.

    Parameters
    ----------
    X : (n, d) features; or the path of a CSV or Parquet file or folder, or a Dask collection, which
        are passed over in chunks and may be larger than memory.
    y : (n,) labels; None with ``unit="record"`` and ``n_components=K`` for unlabelled rows.
    unit : "label" protects each row's label (features are public); "record" protects whole rows.
    bounds, radius, center : where rows may lie, stated by you and never read from the data (record
        level): per-column ranges ``(lo, hi)``, or a ball. Rows outside are clipped into it.
    classes : the public class list. When omitted it is read from the labels, which leaks; a
        PrivacyLeakWarning says so and the statement names it.
    mechanism : "proven", or "published" for the paper's method, whose guarantee is not proven.
    adjacency : record level: "replace" one row by another, or "add-remove" one row.
    seed : for experiments only; a seeded release is stamped not publishable.
    n_components : how many components to fit to unlabelled rows.
    label, columns : the label column and the feature columns of a file or frame.
    preprocessing : steps such as "log", "standardise", "pca:5", or step objects of
        ``privgmm.transform``; at record level their parameters must be public or paid for.
    preprocessing_share : the part of the budget (of mu squared) that a paid step takes.
    weights : "kl" releases the weights with the least expected divergence, in which a class whose
        shape the noise hides counts less; "counts" releases the noisy class frequencies.
    feature_names, label_name : names to publish; by default those of the file or frame.
    ledger : a ledger file to charge; it is charged after all checks and before noise is drawn.
    client : a ``dask.distributed`` client whose workers do the passes.
    progress : called with a number of rows whenever a chunk of a streamed table was passed over.
    """
    if mechanism not in ("proven", "published"):
        raise InputError(f"The mechanism must be 'proven' or 'published', got {mechanism!r}.")
    if unit == "label" and y is None and label is None:
        raise InputError("Label-level releases need labels; give y (the label column).")
    request = checked(
        Request(
            open_rows(X, y, label, columns, classes, n_components, client, progress),
            y is not None or label is not None,
            epsilon,
            delta,
            unit,
            adjacency,
            {"bounds": bounds, "radius": radius, "center": center},
            check_wanted([preprocessing] if isinstance(preprocessing, str) else preprocessing),
            preprocessing_share,
            weights,
            seed,
        )
    )
    if ledger is not None:
        _charge(ledger, request, mechanism)
    if mechanism == "proven":
        mixture, guarantee, steps = proven(request)
    else:
        # Imported here: nobody who runs the proven mechanism needs the paper's.
        from privgmm.curate.published import published

        mixture, guarantee, steps = published(request)
    return Release(
        mixture,
        guarantee,
        feature_names_of(request.rows, feature_names),
        label_name or request.rows.label_name or "label",
        steps,
    )


def _charge(
    ledger: str | os.PathLike[str], request: Request, mechanism: Literal["proven", "published"]
) -> None:
    """Spend before drawing: a crash after this line can waste budget, never leak it."""
    from privgmm.ledger import Ledger

    if not isinstance(ledger, (str, os.PathLike)):
        raise InputError("The ledger must be the path of a file.")
    mu = mu_from_epsilon(request.epsilon, request.delta) if mechanism == "proven" else None
    Ledger.open(ledger).spend(
        mu, request.epsilon, request.delta, request.unit,
        note="privgmm release",
        adjacency=request.record_adjacency if request.unit == "record" else None,
    )  # fmt: skip
