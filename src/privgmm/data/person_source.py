"""Rows larger than memory that count by person: every total is a pass in which each row finds its person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privgmm.data.digests import new_key
from privgmm.data.persons import ByPerson, People, Register, together
from privgmm.data.source import ArraySource, SourceAround, joined
from privgmm.data.streamed import FileSource, StreamedSource
from privgmm.errors import InputError
from privgmm.types import Floats, Integers, Kernel, PersonUnit


@dataclass(frozen=True, eq=False)
class PersonSource(SourceAround):
    """The rows of ``source``, whose layout names the column of persons, each counted by its share."""

    source: StreamedSource
    people: People

    @staticmethod
    def of(source: StreamedSource, persons: PersonUnit) -> PersonSource:
        """One pass counts the rows of every person."""
        key = new_key()
        sheet = together(source.sheets(persons, key), persons.max_rows)
        return PersonSource(source, People(persons, Register.of(sheet, persons), key))

    @property
    def n_units(self) -> int:
        """The number of persons."""
        return self.people.register.n_persons

    def total(self, kernel: Kernel) -> Integers:
        """Sum of the kernel over all rows, whoever's they are."""
        return self.source.total(kernel)

    def fixed_point(self, kernel: Kernel, shift: int) -> list[int]:
        """Sum of the kernel over all rows, each times its weight, in one pass."""
        return joined(self.source.total(ByPerson(kernel, self.people, shift)))

    def check(self) -> None:
        """Refuse unusable rows, those of nobody among them."""
        self.source.check()

    def loaded(self, what: str) -> ArraySource:
        """The same rows as arrays, for ``what`` cannot be done in passes."""
        if not isinstance(self.source, FileSource):
            raise InputError(
                f"{what} needs the table in memory; read it first and give its arrays."
            )
        return self.source.loaded(what, self.people.unit)

    def features_at(self, rows: Integers) -> Floats:
        """(len(rows), d + 1) features and shares of the rows with these ascending numbers."""
        return self.source.features_at(rows, self.people)

    def feature_batches(self) -> Iterator[Floats]:
        """Features and shares of all rows, in their order, in batches of any size."""
        return self.source.feature_batches(self.people)
