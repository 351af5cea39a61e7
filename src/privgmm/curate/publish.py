"""``privgmm.release``: check a request, charge the ledger, run a mechanism, and put the release together.

With ``diagnose`` it also tells what part of the rows the stated bounds clip: exact, private numbers for the holder of the table,
never part of the release.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from privgmm.curate.opened import OpenedRequest, checked, opened
from privgmm.curate.proven import proven
from privgmm.curate.request import ReleaseRequest
from privgmm.data.region import Region
from privgmm.ledger import Charge, Table, digest_of
from privgmm.ledger.ledger import charge_of
from privgmm.model.columns import ABSENT
from privgmm.privacy.accounting import mu_from_epsilon
from privgmm.releases import Release
from privgmm.types import Codes, Floats, Integers

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


_PRIVATE = "These numbers are private: do not publish them, nor bounds that were chosen by them."
# At most this many columns are named, those that clip most rows first.
_LISTED = 10


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


@dataclass(frozen=True, eq=False)
class OutsideKernel:
    """Counts all rows, the rows outside the region, and for each column the rows farther than ``extent`` from its middle."""

    region: Region

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """(2 + d,) totals over the rows X (n, d)."""
        unit = self.region.to_unit(X)
        # The tolerance keeps values that lie on the bounds, as integers often do, inside in spite of rounding.
        beyond = (np.abs(unit) > self.region.extent * (1 + 1e-12)) & (X != ABSENT)
        if self.region.extent == 1:  # a ball: columns inside do not make a row inside
            outside = (unit**2).sum(axis=1) > 1 + 1e-12
        else:
            outside = beyond.any(axis=1)
        return np.concatenate([[len(X), outside.sum()], beyond.sum(axis=0)]).astype(np.int64)


def diagnosis(request: OpenedRequest) -> tuple[str, ...]:
    """Sentences on how many rows are clipped and how many count for nothing, computed exactly from private rows."""
    if request.region is None:
        return ("Nothing is clipped at label level, where features are public.",)
    total = request.source.total(OutsideKernel(request.region))
    counted, outside, by_column = int(total[0]), int(total[1]), total[2:]
    said = []
    unlisted = request.source.n_rows - counted
    if unlisted:
        said.append(
            f"{_part(unlisted, request.source.n_rows)} of the rows carry no label of the class list and count "
            "for nothing."
        )
    if counted and outside == counted:
        said.append("Every row lies outside the stated bounds: they cannot be right.")
    elif not outside:
        said.append("No row lies outside the stated bounds.")
    else:
        said.append(
            f"{_part(outside, counted)} of the rows lie outside the stated bounds and may be clipped, which "
            "pulls means inwards."
        )
    worst = [int(j) for j in np.argsort(-by_column, kind="stable") if by_column[j]][:_LISTED]
    if worst:
        called = request.by_column
        said.append(
            "Outside by column: "
            + ", ".join(f"{called[j]} {_part(int(by_column[j]), counted)}" for j in worst)
            + "."
        )
    return (*said, _PRIVATE)


def _part(some: int, of: int) -> str:
    share = 100 * some / of
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"
