"""All kinds of hostile input."""

from __future__ import annotations

from . import arrays, csvs, documents, folders, ledgers, models, options, parquets, paths, whole
from .case import Family

FAMILIES: tuple[Family, ...] = tuple(
    family
    for kind in (csvs, parquets, folders, documents, ledgers, options, paths, arrays, models, whole)
    for family in kind.FAMILIES
)
