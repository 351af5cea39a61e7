"""``privgmm.release``: from private rows to a release, the one way through the house."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike

from privgmm.curate.diagnosis import diagnosis
from privgmm.curate.proven import proven
from privgmm.curate.request import (
    MechanismName,
    RecordAdjacency,
    Request,
    checked,
    feature_names_of,
    person_unit,
)
from privgmm.curate.stated import Statement, stated, stated_columns
from privgmm.data.opening import IN_MEMORY_BYTES, open_rows
from privgmm.data.region import as_pair, stated_region
from privgmm.data.streamed import Progress, no_progress
from privgmm.errors import InputError
from privgmm.ledger import Charge, Table, digest_of
from privgmm.ledger.ledger import charge_of
from privgmm.model.schema import Schema
from privgmm.privacy.accounting import mu_from_epsilon
from privgmm.proven.components import Wanted
from privgmm.proven.objective import Objective
from privgmm.releases import Release
from privgmm.transform import Step
from privgmm.transform.fit import check_wanted
from privgmm.types import ClassName, Stage, Unit, no_stage


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
    mechanism: MechanismName = "proven",
    adjacency: RecordAdjacency = "replace",
    seed: int | None = None,
    *,
    n_components: int | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    preprocessing: Sequence[str | Step] = (),
    preprocessing_share: float = 0.1,
    objective: Objective = "balanced",
    components_per_class: Wanted = 1,
    published: Mapping[str, Any] | None = None,
    feature_names: Sequence[str] = (),
    label_name: str | None = None,
    ledger: str | os.PathLike[str] | Charge | None = None,
    note: str = "",
    ledger_table: str | None = None,
    client: Any = None,
    progress: Progress = no_progress,
    on_bad_row: Literal["refuse", "drop"] = "refuse",
    schema: Schema | str | os.PathLike[str] | None = None,
    person: Any = None,
    count: Literal["persons", "rows"] = "persons",
    max_rows: int | None = None,
    stage: Stage = no_stage,
    diagnose: Callable[[tuple[str, ...]], None] | None = None,
) -> Release:
    """Publish a Gaussian mixture of the rows under (epsilon, delta)-differential privacy.

    Parameters
    ----------
    X : (n, d) features; or the path of a CSV or Parquet file or folder, or a Dask collection, which
        are passed over in chunks and may be larger than memory.
    y : (n,) labels; None with ``unit="record"`` and ``n_components=K`` for unlabelled rows.
    unit : "label" protects each row's label (features are public); "record" protects whole rows.
    bounds, radius, center : where rows may lie, stated by you and never read from the data (record
        level): per-column ranges ``(lo, hi)``, a dict ``{column: (lo, hi)}`` or a list of such
        pairs; or a ball. Rows outside are clipped into it.
    classes : the public class list, published as stated; labels are matched to it as texts, 1 and
        "1" and 1.0 alike, "01" apart (``privgmm.model.labels``). When omitted it is read from the
        labels, which leaks: a PrivacyLeakWarning says so and the release is not publishable.
    mechanism : "proven", or "published" for the paper's method, whose guarantee is not proven.
    adjacency : record level: "replace" one row by another, or "add-remove" one row. The published
        method has "replace" (of a row's features), "add" and "remove" apart.
    seed : for experiments only; a seeded release is stamped not publishable.
    n_components : how many components to fit to unlabelled rows; the published method labels them by
        K-means first, as the paper does.
    label, columns : the label column and the feature columns of a file or frame.
    preprocessing : steps such as "log", "standardise", "pca:5", or step objects of
        ``privgmm.transform``; at record level their parameters must be public or paid for.
    preprocessing_share : the part of the budget (of mu squared) that a paid step takes.
    objective : "balanced" releases the shapes that are expected to be closest to the fitted ones in both
        directions of KL, with the noisy class frequencies; "paper" minimises KL(released || fitted)
        alone, in which a class whose shape the noise hides counts less.
    components_per_class : how many Gaussians each class of ``Release.model`` has, or "auto": as many as rows
        and noise carry (docs/components.md). ``Release.mixture`` stays one Gaussian per class, with
        exactly the mean and covariance of the whole class.
    published : options of the published method: smoothing, method, scalable, neighbours, eqr5
        (see ``privgmm.published.Options``).
    feature_names, label_name : names to publish; by default those of the file or frame.
    ledger : a ledger file to charge; it is charged after all checks and before noise is drawn.
    note : a text for the ledger, e.g. what the release is for.
    ledger_table : how the ledger is to call this table. Needed only where the ledger is about a table
        with other column names, classes or bounds; both then count against the same budget.
    client : a ``dask.distributed`` client whose workers do the passes.
    progress : called with a number of rows whenever a chunk of a streamed table was passed over.
    on_bad_row : "refuse" a table with missing cells, cells that are no numbers or labels outside the
        class list: whoever makes the release sees the refusal, which the guarantee does not
        cover. "drop" lets such rows contribute nothing, which it does cover (docs/units.md).
    schema : label, classes, columns and their ranges in one statement: a ``privgmm.Schema``, or the path of
        a schema file (docs/schema.md). What it states need not be given again.
    person : the column that says whose row it is, where a person may have several; beside an array, one id
        per row. All rows of a person are then protected together, at either unit (docs/persons.md).
    count : "persons": each person counts once, however many rows there are. "rows": each row counts, at
        most ``max_rows`` of a person, chosen by a fixed hash of the features.
    stage : called with what is being done and the part of the budget that is spent by then, 0 to 1.
    diagnose : called, before anything is spent, with sentences on what the stated bounds clip: exact,
        private numbers for the holder's eyes, which are in no release.
    """
    named = person if isinstance(person, str) else None
    told = stated(
        schema,
        Statement(label, classes, columns, bounds, named),
        unit == "record",
        radius=radius,
    )
    persons, ids = person_unit(told.person if person is None else person, count, max_rows)
    label, classes, columns, bounds = told.label, told.classes, told.names, told.bounds
    if mechanism not in ("proven", "published"):
        raise InputError(f"The mechanism must be 'proven' or 'published', got {mechanism!r}.")
    kmeans = mechanism == "published" and n_components is not None
    if unit == "label" and y is None and label is None and not kmeans:
        raise InputError("Label-level releases need labels; give y (the label column).")
    charge = charge_of(ledger, note, ledger_table, X)
    if on_bad_row not in ("refuse", "drop"):
        raise InputError(f"A bad row is to 'refuse' or to 'drop', got {on_bad_row!r}.")
    drop_bad = on_bad_row == "drop"
    steps = check_wanted([preprocessing] if isinstance(preprocessing, str) else preprocessing)
    stage("reading the table", 0.0)
    rows = open_rows(
        X,
        y,
        label=label,
        columns=columns,
        classes=classes,
        n_components=n_components,
        client=client,
        progress=progress,
        drop_bad=drop_bad,
        in_memory=IN_MEMORY_BYTES,
        persons=persons,
        ids=ids,
        stated=told.columns,
    )
    if steps or mechanism == "published":
        rows = rows.loaded("Preprocessing" if steps else "The published method")
    names = feature_names_of(rows, feature_names)
    by_column = names or tuple(f"x{j}" for j in range(rows.source.dim))
    request = checked(
        Request(
            rows,
            y is not None or label is not None,
            epsilon,
            delta,
            unit,
            adjacency,
            {"bounds": as_pair(bounds, by_column), "radius": radius, "center": center},
            steps,
            preprocessing_share,
            objective,
            seed,
            drop_bad,
            components_per_class,
            mechanism,
            dict(published or {}),
            columns=told.columns,
            person=persons,
            stage=stage,
        )
    )
    box = request.stated["bounds"] if unit == "record" else None
    request = replace(request, columns=stated_columns(told.columns, by_column, box))
    called = label_name or request.rows.label_name or "label"
    if mechanism == "proven":
        run = proven
    else:
        # Imported here: nobody who runs the proven mechanism needs the paper's.
        from privgmm.curate.published import check_published
        from privgmm.curate.published import published as run

        check_published(request)
    if diagnose is not None:
        diagnose(diagnosis(request, names))
    if charge is not None:
        _charge(charge, request, mechanism, public_digest(request, names, called))
    made = run(request)
    return Release(
        made.mixture, made.guarantee, names, called, made.preprocessing,
        errors=made.errors,
        components=made.components,
        columns=request.columns,
        margins=made.margins,
        encoding=made.encoding,
        order=request.rows.order if {*request.rows.order} == {*names, called} else (),
    )  # fmt: skip


def _charge(charge: Charge, request: Request, mechanism: MechanismName, digest: str) -> None:
    """Spend before drawing: a crash after this line can waste budget, never leak it."""
    kind = request.unit if request.person is None else "person"
    mu = mu_from_epsilon(request.epsilon, request.delta) if mechanism == "proven" else None
    charge.ledger.spend(
        mu, request.epsilon, request.delta, kind,
        note=charge.note,
        adjacency=None if kind == "label" else request.adjacency,
        table=Table(charge.table_name, digest),
        table_named=charge.table is not None,
        output=charge.output,
    )  # fmt: skip


def public_digest(request: Request, names: tuple[str, ...], label: str) -> str:
    """For the ledger: column names, the stated class list and the stated bounds, and no row.

    A class list that was read from the labels is private and left out.
    """
    stated = request.labelled and not request.rows.classes_from_data
    bounds = None
    if request.unit == "record":
        region = stated_region(request.source.dim, **request.stated)
        bounds = (region.center.tolist(), region.scale.tolist())
    return digest_of(
        names or request.source.dim,
        label if request.labelled else None,
        request.classes if stated else None,
        bounds,
    )
