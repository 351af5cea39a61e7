"""Rows seen through an elementwise map, chunk by chunk: nothing is copied, cached or sent around."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from privgmm.statistics.source import Codes, Floats, Integers, Kernel, Source

Mapping = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class MappedKernel:
    """The kernel of mapped rows; as pure in each row as the map and the kernel are."""

    kernel: Kernel
    mapping: Mapping

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        return self.kernel(self.mapping(X), codes)


@dataclass(frozen=True, eq=False)
class MappedSource:
    """The rows of ``source`` in other coordinates, e.g. ``Region.to_unit``.

    The map must treat each row on its own and must pickle (a bound method of a frozen dataclass
    does), because a distributed source carries it to the rows and not the rows to it.
    """

    source: Source
    mapping: Mapping

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def dim(self) -> int:
        return self.source.dim

    @property
    def n_classes(self) -> int:
        return self.source.n_classes

    def total(self, kernel: Kernel) -> Integers:
        return self.source.total(MappedKernel(kernel, self.mapping))
