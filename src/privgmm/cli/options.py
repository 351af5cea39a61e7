"""Options of the commands: those that several commands share, the words an option may have, and all options of release and plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

Options = TypeVar("Options")


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
    """Which divergence from the fit a release keeps small."""

    BALANCED = "balanced"
    PAPER = "paper"


class ShapeName(StrEnum):
    """What the columns of an invented table look like."""

    BELLS = "bells"
    SPIKES = "spikes"
    TAILS = "tails"


class OnBadRow(StrEnum):
    """What happens to unusable rows."""

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


@dataclass(frozen=True)
class ReleaseOptions:
    """The command line of ``privgmm release``, each option once.

    An option that ``privgmm.release`` takes under the same name is handed on by that name (``cli.release``).
    """

    data: Annotated[Path, typer.Argument(help=TABLE)]
    epsilon: Annotated[float, typer.Option(help="Privacy loss bound.")]
    delta: Annotated[float, typer.Option(help="Probability the bound may fail, e.g. 1e-5.")]
    unit: Annotated[Unit, typer.Option(help="What is protected: each label, or each record.")]
    label: Annotated[str | None, typer.Option(help="The label column.")] = None
    schema: SchemaFile = None
    components: Annotated[
        int | None, typer.Option(help="Without --label: how many components to fit.")
    ] = None
    bounds: Annotated[
        str | None,
        typer.Option(help="LO,HI for all columns, or a CSV file with columns column,lo,hi."),
    ] = None
    radius: Annotated[float | None, typer.Option(help="Radius of the ball of records.")] = None
    center: Annotated[
        Path | None, typer.Option(help="CSV file with one row: the center of the ball.")
    ] = None
    classes: Annotated[str | None, typer.Option(help='The public class list: a,b,"c, d".')] = None
    classes_from_data: Annotated[
        bool,
        typer.Option(
            "--classes-from-data",
            help="Read the class list from the private labels: a release not to be published.",
        ),
    ] = False
    columns: Annotated[str | None, typer.Option(help='Feature columns: c1,c2,"c, 3".')] = None
    person: Annotated[
        str | None,
        typer.Option(help="Whose row it is: all rows of a person are protected together."),
    ] = None
    count: Annotated[
        Count, typer.Option(help="With --person: each person counts once, or each row.")
    ] = Count.PERSONS
    max_rows: Annotated[
        int | None, typer.Option(help="With --count rows: at most so many rows of a person.")
    ] = None
    on_bad_row: Annotated[
        OnBadRow,
        typer.Option(help="Refuse a table with unusable rows, or let them count for nothing."),
    ] = OnBadRow.REFUSE
    preprocess: Annotated[
        str | None,
        typer.Option(help="log,standardise,pca:5; or a JSON file with public parameters."),
    ] = None
    mechanism: Annotated[MechanismName, typer.Option()] = MechanismName.PROVEN
    adjacency: Annotated[
        AdjacencyName,
        typer.Option(help="Record level; add and remove apart are of the published mechanism."),
    ] = AdjacencyName.REPLACE
    objective: Annotated[
        ObjectiveName,
        typer.Option(help="Close in both directions of KL, or in the paper's alone."),
    ] = ObjectiveName.BALANCED
    components_per_class: Annotated[
        str, typer.Option(metavar="C|auto", help="Gaussians inside each class of the model.")
    ] = "1"
    ledger: Annotated[Path | None, typer.Option(help="Ledger to charge before noise is drawn.")] = (
        None
    )
    ledger_table: Annotated[
        str | None,
        typer.Option(help="The ledger's name for this table, if the ledger knows another one."),
    ] = None
    note: Annotated[str, typer.Option(help="For the ledger: what the release is for.")] = ""
    engine: Annotated[Engine, typer.Option()] = Engine.LOCAL
    scheduler: Annotated[
        str | None, typer.Option(help="With --engine dask: a scheduler's address.")
    ] = None
    smoothing: Annotated[
        float | None, typer.Option(help="Published mechanism: lambda of its weights, 0.001.")
    ] = None
    solver: Annotated[
        Solver | None, typer.Option(help="Published mechanism: Algorithm 1, or (P2) jointly.")
    ] = None
    scalable: Annotated[
        bool, typer.Option("--scalable", help="Published mechanism: (eqr5) with the stated ball.")
    ] = False
    neighbours: Annotated[
        Neighbours | None,
        typer.Option(help="Published mechanism: which flips move a mean in (eq10)."),
    ] = None
    seed: Seed = None
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("release.json")
    overwrite: Overwrite = False
    separator: Separator = ","
    decimal: Decimal = "."
    encoding: Encoding = "utf-8"
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not show and ask first what is to be released.")
    ] = False
    diagnose: Annotated[
        bool,
        typer.Option(
            "--diagnose", help="Tell you, and only you, what part of the rows is clipped."
        ),
    ] = False


@dataclass(frozen=True)
class PlanOptions:
    """The command line of ``privgmm plan``."""

    unit: Annotated[Unit, typer.Option(help="What is protected: each label, or each record.")]
    n: Annotated[str | None, typer.Option("--n", help="Table sizes: N or N1,N2,...")] = None
    persons: Annotated[
        str | None, typer.Option(help="Instead of --n, numbers of persons, who are protected.")
    ] = None
    rows_per_person: Annotated[
        int | None, typer.Option(help="With --persons: how many rows each has.")
    ] = None
    classes: Annotated[int | None, typer.Option(help="Number of classes.")] = None
    dim: Annotated[int | None, typer.Option(help="Number of feature columns.")] = None
    epsilon: Annotated[str, typer.Option(help="Epsilons: E1,E2,...")] = "0.5,1,2,4"
    delta: Annotated[float, typer.Option()] = 1e-5
    schema: SchemaFile = None
    bounds: Annotated[
        str | None,
        typer.Option(help="LO,HI for all columns, or a CSV file with columns column,lo,hi."),
    ] = None
    radius: Annotated[float | None, typer.Option(help="Ball to state at record level.")] = None
    shape: Annotated[
        ShapeName, typer.Option(help="What columns look like: bells, spikes (zeros), heavy tails.")
    ] = ShapeName.BELLS
    target_kl: Annotated[
        float | None, typer.Option(help="Report the smallest epsilon that reaches this KL.")
    ] = None
    rehearsals: Annotated[
        int, typer.Option(help="Invented tables per row, at least; more where results scatter.")
    ] = 5
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Plot: OUT.svg, .png or .pdf")
    ] = None
    overwrite: Overwrite = False


def taking(
    options: type[Options],
) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """A decorator that makes the fields of a dataclass the options of a command."""

    def command(body: Callable[[Options], None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            body(options(**given))

        hints = get_type_hints(options, include_extras=True)
        fields = inspect.signature(options).parameters.values()
        typed = [field.replace(annotation=hints[field.name]) for field in fields]
        run.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = body.__name__, body.__doc__
        return run

    return command
