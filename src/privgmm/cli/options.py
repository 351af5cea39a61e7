"""Options that several commands share, and the words that an option may have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Unit(StrEnum):
    """What is protected."""

    LABEL = "label"
    RECORD = "record"


class MechanismName(StrEnum):
    """Which mechanism runs."""

    PROVEN = "proven"
    PUBLISHED = "published"


class AdjacencyName(StrEnum):
    """Which tables are neighbours."""

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"
    ADD = "add"
    REMOVE = "remove"


class Solver(StrEnum):
    """How (P2) is solved."""

    ALTERNATING = "alternating"
    JOINT = "joint"


class Neighbours(StrEnum):
    """Which reading of (eq10) is taken."""

    BOTH = "both"
    DEPARTURES = "departures"


class ObjectiveName(StrEnum):
    """What the release is closest in."""

    BALANCED = "balanced"
    PAPER = "paper"


class ShapeName(StrEnum):
    """What the columns of an invented table look like."""

    BELLS = "bells"
    SPIKES = "spikes"
    TAILS = "tails"


class OnBadRow(StrEnum):
    """What becomes of unusable rows."""

    REFUSE = "refuse"
    DROP = "drop"


class Count(StrEnum):
    """What counts once: a person, or a row."""

    PERSONS = "persons"
    ROWS = "rows"


class Engine(StrEnum):
    """Where passes over the table run."""

    LOCAL = "local"
    DASK = "dask"


Seed = Annotated[
    int | None,
    typer.Option(help="For experiments only: a seeded release is stamped not publishable."),
]


SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", help="What is stated of the table, in one file: see privgmm schema."),
]


TABLE = "CSV, Parquet or .xlsx file, a folder of parts, or - for standard input."
Separator = Annotated[str, typer.Option(help="Between cells of a CSV file: ';', tab, ...")]
Decimal = Annotated[str, typer.Option(help="Between whole and fraction in a CSV file: . or ,")]
Encoding = Annotated[str, typer.Option(help="Of a CSV file: utf-8, utf-16, latin-1, cp1252, ...")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the output file if there is one.")
]
