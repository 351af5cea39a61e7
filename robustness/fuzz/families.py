"""All kinds of hostile input."""

from __future__ import annotations

from . import (
    arrays,
    csvs,
    documents,
    folders,
    ledgers,
    models,
    options,
    parquets,
    paths,
    peoples,
    tapes,
    whole,
)
from .case import Family

FAMILIES: tuple[Family, ...] = tuple(
    family
    for kind in (
        csvs,
        parquets,
        folders,
        peoples,
        documents,
        ledgers,
        options,
        paths,
        arrays,
        models,
        whole,
        tapes,
    )
    for family in kind.FAMILIES
)
