"""``privgmm.release``: check a request, charge the ledger, run a mechanism, and put the release together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from privgmm.curate.diagnosis import diagnosis
from privgmm.curate.opened import OpenedRequest, checked, opened
from privgmm.curate.proven import proven
from privgmm.curate.request import ReleaseRequest
from privgmm.ledger import Charge, Table, digest_of
from privgmm.ledger.ledger import charge_of
from privgmm.privacy.accounting import mu_from_epsilon
from privgmm.releases import Release

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _with_arguments_of(
    request: Callable[Arguments, ReleaseRequest],
) -> Callable[[Callable[..., Result]], Callable[Arguments, Result]]:
    """Give a function the signature and the documentation of a request, so that its arguments are listed in one place only."""

    def told(function: Callable[..., Result]) -> Callable[Arguments, Result]:
        explained = inspect.getdoc(request) or ""
        summary = inspect.getdoc(function)
        function.__doc__ = f"{summary}\n\n{explained[explained.index('Parameters') :]}"
        function.__signature__ = inspect.signature(request)  # type: ignore[attr-defined]
        return cast("Callable[Arguments, Result]", function)

    return told


@_with_arguments_of(ReleaseRequest)
def release(*given: Any, **options: Any) -> Release:
    """Publish a Gaussian mixture of the rows under (epsilon, delta)-differential privacy."""
    asked = ReleaseRequest(*given, **options)
    charge = charge_of(asked.ledger, asked.note, asked.ledger_table, asked.X)
    request = checked(opened(asked))
    if asked.mechanism == "proven":
        run = proven
    else:
        # Imported here, because a proven release does not need the paper's mechanism.
        from privgmm.curate.published import check_published
        from privgmm.curate.published import published as run

        check_published(request)
    if asked.diagnose is not None:
        asked.diagnose(diagnosis(request))
    if charge is not None:
        _charge(charge, request, public_digest(request))
    made = run(request)
    names, called, order = request.names, request.label_name, request.rows.order
    return Release(
        made.mixture, made.guarantee, names, called, made.preprocessing,
        errors=made.errors,
        components=made.components,
        columns=request.columns,
        margins=made.margins,
        encoding=made.encoding,
        order=order if {*order} == {*names, called} else (),
    )  # fmt: skip


def _charge(charge: Charge, request: OpenedRequest, digest: str) -> None:
    """Spend before drawing: a crash after this line can waste budget, never leak it."""
    asked, kind = request.asked, request.unit if request.person is None else "person"
    mu = mu_from_epsilon(asked.epsilon, asked.delta) if asked.mechanism == "proven" else None
    charge.ledger.spend(
        mu, asked.epsilon, asked.delta, kind,
        note=charge.note,
        adjacency=None if kind == "label" else request.adjacency,
        table=Table(charge.table_name, digest),
        table_named=charge.table is not None,
        output=charge.output,
    )  # fmt: skip


def public_digest(request: OpenedRequest) -> str:
    """A digest by which the ledger knows the table again: of column names, stated classes and stated bounds, never of rows.

    A class list that was read from the labels is private and is left out.
    """
    stated = request.labelled and not request.rows.classes_from_data
    bounds = None
    if request.region is not None:
        bounds = (request.region.center.tolist(), request.region.scale.tolist())
    return digest_of(
        request.names or request.source.dim,
        request.label_name if request.labelled else None,
        request.classes if stated else None,
        bounds,
    )
