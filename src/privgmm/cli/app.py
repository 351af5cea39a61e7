"""The commands and their options; each body imports what it needs, so that --help is instant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from privgmm.cli.ledger import app as ledger_app
from privgmm.cli.options import (
    TABLE,
    AdjacencyName,
    Count,
    Decimal,
    Encoding,
    Engine,
    MechanismName,
    Neighbours,
    ObjectiveName,
    OnBadRow,
    Overwrite,
    SchemaFile,
    Seed,
    Separator,
    ShapeName,
    Solver,
    Unit,
)
from privgmm.cli.reproduce import reproduce

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"privgmm {version('privgmm')}")
        raise typer.Exit


@app.callback()
def shared(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Publish a Gaussian mixture model of a sensitive table under differential privacy."""


def command() -> Callable[..., Any]:
    """The whole command line as one callable."""
    return typer.main.get_command(app)


@app.command()
def schema(
    data: Annotated[Path, typer.Argument(help=TABLE)],
    label: Annotated[str | None, typer.Option(help="The label column.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file; the terminal if omitted.")
    ] = None,
    overwrite: Overwrite = False,
    separator: Separator = ",",
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
) -> None:
    """Write a schema file to fill in: names and kinds of columns, never a value."""
    from privgmm.cli import schema as body
    from privgmm.cli.stated import table

    body.run(table(data, separator, decimal, encoding), label, output, overwrite)


@app.command()
def release(
    data: Annotated[Path, typer.Argument(help=TABLE)],
    epsilon: Annotated[float, typer.Option(help="Privacy loss bound.")],
    delta: Annotated[float, typer.Option(help="Probability the bound may fail, e.g. 1e-5.")],
    unit: Annotated[Unit, typer.Option(help="What is protected: each label, or each record.")],
    label: Annotated[str | None, typer.Option(help="The label column.")] = None,
    schema: SchemaFile = None,
    components: Annotated[
        int | None, typer.Option(help="Without --label: how many components to fit.")
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(help="LO,HI for all columns, or a CSV file with columns column,lo,hi."),
    ] = None,
    radius: Annotated[float | None, typer.Option(help="Radius of the ball of records.")] = None,
    center: Annotated[
        Path | None, typer.Option(help="CSV file with one row: the center of the ball.")
    ] = None,
    classes: Annotated[str | None, typer.Option(help='The public class list: a,b,"c, d".')] = None,
    classes_from_data: Annotated[
        bool,
        typer.Option(
            "--classes-from-data",
            help="Read the class list from the private labels: a release not to be published.",
        ),
    ] = False,
    columns: Annotated[str | None, typer.Option(help='Feature columns: c1,c2,"c, 3".')] = None,
    person: Annotated[
        str | None,
        typer.Option(help="Whose row it is: all rows of a person are protected together."),
    ] = None,
    count: Annotated[
        Count, typer.Option(help="With --person: each person counts once, or each row.")
    ] = Count.PERSONS,
    max_rows: Annotated[
        int | None, typer.Option(help="With --count rows: at most so many rows of a person.")
    ] = None,
    on_bad_row: Annotated[
        OnBadRow,
        typer.Option(help="Refuse a table with unusable rows, or let them count for nothing."),
    ] = OnBadRow.REFUSE,
    preprocess: Annotated[
        str | None,
        typer.Option(help="log,standardise,pca:5; or a JSON file with public parameters."),
    ] = None,
    mechanism: Annotated[MechanismName, typer.Option()] = MechanismName.PROVEN,
    adjacency: Annotated[
        AdjacencyName,
        typer.Option(help="Record level; add and remove apart are of the published mechanism."),
    ] = AdjacencyName.REPLACE,
    objective: Annotated[
        ObjectiveName,
        typer.Option(help="Close in both directions of KL, or in the paper's alone."),
    ] = ObjectiveName.BALANCED,
    components_per_class: Annotated[
        str, typer.Option(metavar="C|auto", help="Gaussians inside each class of the model.")
    ] = "1",
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger to charge before noise is drawn.")
    ] = None,
    ledger_table: Annotated[
        str | None,
        typer.Option(help="The ledger's name for this table, if the ledger knows another one."),
    ] = None,
    note: Annotated[str, typer.Option(help="For the ledger: what the release is for.")] = "",
    engine: Annotated[Engine, typer.Option()] = Engine.LOCAL,
    scheduler: Annotated[
        str | None, typer.Option(help="With --engine dask: a scheduler's address.")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(help="Published mechanism: lambda of its weights, 0.001.")
    ] = None,
    solver: Annotated[
        Solver | None, typer.Option(help="Published mechanism: Algorithm 1, or (P2) jointly.")
    ] = None,
    scalable: Annotated[
        bool, typer.Option("--scalable", help="Published mechanism: (eqr5) with the stated ball.")
    ] = False,
    neighbours: Annotated[
        Neighbours | None,
        typer.Option(help="Published mechanism: which flips move a mean in (eq10)."),
    ] = None,
    seed: Seed = None,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("release.json"),
    overwrite: Overwrite = False,
    separator: Separator = ",",
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not show and ask first what is to be released.")
    ] = False,
    diagnose: Annotated[
        bool,
        typer.Option(
            "--diagnose", help="Tell you, and only you, what part of the rows is clipped."
        ),
    ] = False,
) -> None:
    """Publish a table as a mixture with a differential-privacy guarantee."""
    from privgmm.cli import release as body
    from privgmm.cli.stated import table

    paper = {
        "smoothing": smoothing,
        "method": None if solver is None else solver.value,
        "scalable": scalable or None,
        "neighbours": None if neighbours is None else neighbours.value,
    }
    body.run(
        body.Options(
            table(data, separator, decimal, encoding),
            label,
            unit.value,
            epsilon,
            delta,
            components,
            bounds,
            radius,
            center,
            classes,
            columns,
            preprocess,
            mechanism.value,
            adjacency.value,
            objective.value,
            ledger,
            ledger_table,
            note,
            engine.value,
            scheduler,
            seed,
            output,
            on_bad_row.value,
            classes_from_data,
            {name: value for name, value in paper.items() if value is not None},
            schema,
            overwrite,
            yes,
            person,
            count.value,
            max_rows,
            diagnose,
            components_per_class,
        )
    )


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="RELEASE")],
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    registry: Annotated[
        bool, typer.Option("--registry", help="A deployments-registry entry (YAML).")
    ] = False,
) -> None:
    """Print what a release promises and holds."""
    from privgmm.cli import show as body

    body.run(path, as_json, registry)


@app.command()
def sample(
    path: Annotated[Path, typer.Argument(metavar="RELEASE")],
    n: Annotated[int, typer.Option("-n", help="How many rows.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="OUT.csv, OUT.parquet or OUT.xlsx")
    ],
    per_class: Annotated[bool, typer.Option(help="N rows of every class.")] = False,
    given: Annotated[
        str | None, typer.Option(help="Rows under a condition: COLUMN=VALUE,...")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the sample repeatable.")] = None,
    schema: SchemaFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw synthetic rows from a release; costs no privacy."""
    from privgmm.cli import sample as body

    body.run(path, n, output, per_class, seed, overwrite, given, schema)


@app.command()
def demo(out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("demo")) -> None:
    """A proven release of Iris, its report and a synthetic sample."""
    from privgmm.cli import demo as body

    body.run(out)


@app.command()
def plan(
    unit: Annotated[Unit, typer.Option(help="What is protected: each label, or each record.")],
    n: Annotated[str | None, typer.Option("--n", help="Table sizes: N or N1,N2,...")] = None,
    persons: Annotated[
        str | None, typer.Option(help="Instead of --n, numbers of persons, who are protected.")
    ] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(help="With --persons: how many rows each has.")
    ] = None,
    classes: Annotated[int | None, typer.Option(help="Number of classes.")] = None,
    dim: Annotated[int | None, typer.Option(help="Number of feature columns.")] = None,
    epsilon: Annotated[str, typer.Option(help="Epsilons: E1,E2,...")] = "0.5,1,2,4",
    delta: Annotated[float, typer.Option()] = 1e-5,
    schema: SchemaFile = None,
    bounds: Annotated[
        str | None,
        typer.Option(help="LO,HI for all columns, or a CSV file with columns column,lo,hi."),
    ] = None,
    radius: Annotated[float | None, typer.Option(help="Ball to state at record level.")] = None,
    shape: Annotated[
        ShapeName, typer.Option(help="What columns look like: bells, spikes (zeros), heavy tails.")
    ] = ShapeName.BELLS,
    target_kl: Annotated[
        float | None, typer.Option(help="Report the smallest epsilon that reaches this KL.")
    ] = None,
    rehearsals: Annotated[
        int, typer.Option(help="Invented tables per row, at least; more where results scatter.")
    ] = 5,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Plot: OUT.svg, .png or .pdf")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Forecast how far off a release will be, for sizes and epsilons; touches no private data."""
    from privgmm.cli import plan as body

    body.run(
        body.Options(
            n,
            persons,
            rows_per_person,
            classes,
            dim,
            unit.value,
            epsilon,
            delta,
            radius,
            bounds,
            schema,
            shape.value,
            rehearsals,
            target_kl,
            output,
            overwrite,
        )
    )


@app.command()
def report(
    path: Annotated[Path, typer.Argument(metavar="RELEASE")],
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("report.html"),
    reference: Annotated[
        Path | None, typer.Option(help="The private table, for a copy that stays inside.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The label column of --reference.")] = None,
    schema: SchemaFile = None,
    overwrite: Overwrite = False,
    separator: Separator = ",",
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
) -> None:
    """Write one self-contained HTML page about a release."""
    from privgmm.cli import report as body
    from privgmm.cli.stated import table

    rows = None if reference is None else table(reference, separator, decimal, encoding)
    body.run(path, output, rows, label, overwrite, schema)


@app.command()
def audit(
    mechanism: Annotated[MechanismName, typer.Option()] = MechanismName.PROVEN,
    unit: Annotated[Unit, typer.Option()] = Unit.LABEL,
    epsilon: Annotated[float, typer.Option(help="The claim to attack.")] = 1.0,
    delta: Annotated[float, typer.Option()] = 1e-5,
    trials: Annotated[int, typer.Option(help="Runs per attack on raw statistics.")] = 200_000,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Picture: OUT.svg, .png or .pdf")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the audit repeatable.")] = None,
    inference: Annotated[
        bool, typer.Option("--inference", help="How often attackers guess right, instead.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(help="Time for attacks on whole proven releases, and again on files.")
    ] = 30.0,
) -> None:
    """Attack a mechanism and report a lower bound on its epsilon; touches no private data."""
    from privgmm.cli import audit as body

    body.run(
        mechanism.value,
        unit.value,
        epsilon,
        delta,
        trials,
        as_json,
        output,
        seed,
        inference,
        seconds,
    )


app.add_typer(ledger_app, name="ledger")
app.command()(reproduce)
