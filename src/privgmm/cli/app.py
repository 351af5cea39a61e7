"""The commands and their options; each body imports what it needs, so that --help is instant."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from privgmm.cli.ledger import app as ledger_app
from privgmm.cli.reproduce import reproduce

app = typer.Typer(
    help="Publish a Gaussian mixture model of a sensitive table under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
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
    pass


def command() -> Callable[..., Any]:
    return typer.main.get_command(app)


class Unit(StrEnum):
    LABEL = "label"
    RECORD = "record"


class MechanismName(StrEnum):
    PROVEN = "proven"
    PUBLISHED = "published"


class AdjacencyName(StrEnum):
    REPLACE = "replace"
    ADD_REMOVE = "add-remove"


class WeightsName(StrEnum):
    KL = "kl"
    COUNTS = "counts"


class Engine(StrEnum):
    LOCAL = "local"
    DASK = "dask"


Seed = Annotated[
    int | None,
    typer.Option(help="For experiments only: a seeded release is stamped not publishable."),
]


@app.command()
def release(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file, or a folder of parts.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss bound.")],
    delta: Annotated[float, typer.Option(help="Probability the bound may fail, e.g. 1e-5.")],
    unit: Annotated[Unit, typer.Option(help="What is protected: each label, or each record.")],
    label: Annotated[str | None, typer.Option(help="The label column.")] = None,
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
    classes: Annotated[str | None, typer.Option(help="The public class list: a,b,c.")] = None,
    columns: Annotated[str | None, typer.Option(help="Feature columns: c1,c2.")] = None,
    preprocess: Annotated[
        str | None,
        typer.Option(help="log,standardise,pca:5; or a JSON file with public parameters."),
    ] = None,
    mechanism: Annotated[MechanismName, typer.Option()] = MechanismName.PROVEN,
    adjacency: Annotated[AdjacencyName, typer.Option()] = AdjacencyName.REPLACE,
    weights: Annotated[
        WeightsName,
        typer.Option(help="Least expected divergence, or the noisy class frequencies."),
    ] = WeightsName.KL,
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger to charge before noise is drawn.")
    ] = None,
    engine: Annotated[Engine, typer.Option()] = Engine.LOCAL,
    scheduler: Annotated[
        str | None, typer.Option(help="With --engine dask: a scheduler's address.")
    ] = None,
    seed: Seed = None,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("release.json"),
) -> None:
    """Publish a table as a mixture with a differential-privacy guarantee."""
    from privgmm.cli import release as body

    body.run(
        body.Options(
            data,
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
            weights.value,
            ledger,
            engine.value,
            scheduler,
            seed,
            output,
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
    output: Annotated[Path, typer.Option("-o", "--output", help="OUT.csv or OUT.parquet")],
    per_class: Annotated[bool, typer.Option(help="N rows of every class.")] = False,
    seed: Annotated[int | None, typer.Option(help="Makes the sample repeatable.")] = None,
) -> None:
    """Draw synthetic rows from a release; costs no privacy."""
    from privgmm.cli import sample as body

    body.run(path, n, output, per_class, seed)


@app.command()
def demo(out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("demo")) -> None:
    """A proven release of Iris, its report and a synthetic sample."""
    from privgmm.cli import demo as body

    body.run(out)


@app.command()
def plan(
    n: Annotated[str, typer.Option("--n", help="Table sizes: N or N1,N2,...")],
    classes: Annotated[int, typer.Option(help="Number of classes.")],
    dim: Annotated[int, typer.Option(help="Number of feature columns.")],
    unit: Annotated[Unit, typer.Option(help="What is protected: each label, or each record.")],
    epsilon: Annotated[str, typer.Option(help="Epsilons: E1,E2,...")] = "0.5,1,2,4",
    delta: Annotated[float, typer.Option()] = 1e-5,
    radius: Annotated[float | None, typer.Option(help="Ball to state at record level.")] = None,
    target_kl: Annotated[
        float | None, typer.Option(help="Report the smallest epsilon that reaches this KL.")
    ] = None,
    rehearsals: Annotated[int, typer.Option(help="Invented tables per row.")] = 10,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Plot: OUT.svg, .png or .pdf")
    ] = None,
) -> None:
    """Forecast KL and accuracy for sizes and epsilons; touches no private data."""
    from privgmm.cli import plan as body
    from privgmm.plan import Question

    question = Question(
        tuple(int(size) for size in body.numbers(n, int, "--n")),
        classes,
        dim,
        unit.value,
        body.numbers(epsilon, float, "--epsilon"),
        delta,
        radius,
        rehearsals,
    )
    body.run(question, target_kl, output)


@app.command()
def report(
    path: Annotated[Path, typer.Argument(metavar="RELEASE")],
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("report.html"),
    reference: Annotated[
        Path | None, typer.Option(help="The private table, for a copy that stays inside.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The label column of --reference.")] = None,
) -> None:
    """Write one self-contained HTML page about a release."""
    from privgmm.cli import report as body

    body.run(path, output, reference, label)


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
        float, typer.Option(help="Time for attacks on whole proven releases.")
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
