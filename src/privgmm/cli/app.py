"""The commands and their options. Each body imports what it needs when it runs, so that --help is instant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from privgmm.cli.ledger import app as ledger_app
from privgmm.cli.options import (
    TABLE,
    Decimal,
    Encoding,
    MechanismName,
    Overwrite,
    PlanOptions,
    ReleaseOptions,
    SchemaFile,
    Separator,
    Unit,
    taking,
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
    from privgmm.cli.stated import table_of, write_schema

    write_schema(table_of(data, separator, decimal, encoding), label, output, overwrite)


@app.command()
@taking(ReleaseOptions)
def release(options: ReleaseOptions) -> None:
    """Publish a table as a mixture with a differential-privacy guarantee."""
    from privgmm.cli import release as body

    body.run(options)


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="RELEASE")],
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    registry: Annotated[
        bool, typer.Option("--registry", help="A deployments-registry entry (YAML).")
    ] = False,
) -> None:
    """Print what a release promises and holds."""
    from privgmm.cli import report as body

    body.show(path, as_json, registry)


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
    from privgmm.cli import report as body

    body.demo(out)


@app.command()
@taking(PlanOptions)
def plan(options: PlanOptions) -> None:
    """Forecast how far off a release will be, for sizes and epsilons; touches no private data."""
    from privgmm.cli import plan as body

    body.run(options)


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
    from privgmm.cli.stated import table_of

    rows = None if reference is None else table_of(reference, separator, decimal, encoding)
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
