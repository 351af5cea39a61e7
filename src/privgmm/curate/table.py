"""Which table a request is about, by what is public of it."""

from __future__ import annotations

from privgmm.curate.request import Request
from privgmm.data.region import stated_region
from privgmm.ledger import digest_of


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
