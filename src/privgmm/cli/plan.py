"""``privgmm plan``: how far off a release will be, without touching private data."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from privgmm.cli.options import PlanOptions
from privgmm.cli.stated import bounds_of
from privgmm.cli.terminal import plain
from privgmm.data.names import counted
from privgmm.errors import InputError
from privgmm.files import check_target
from privgmm.model.schema import Schema

if TYPE_CHECKING:
    from privgmm.plan import Forecast, Question, Ranges

PLOT_KINDS = (".svg", ".png", ".pdf")
_SHAPES = {
    "bells": "bell-shaped classes",
    "spikes": "columns with spikes",
    "tails": "heavy tails",
}


def run(options: PlanOptions) -> None:
    """``privgmm plan``: rehearsals on invented tables, in words, numbers and a picture."""
    from privgmm.plan import write_chart

    if options.target_kl is not None and not options.target_kl > 0:
        raise InputError(f"The target KL must be positive, got {options.target_kl}.")
    output = options.output
    if output is not None:
        if output.suffix.lower() not in PLOT_KINDS:
            raise InputError(f"Name the plot {', '.join(PLOT_KINDS)}, got {output.name!r}.")
        check_target(output, options.schema, overwrite=options.overwrite)
    asked = question(options)
    rows = _with_progress(asked)
    for sentence in sentences(asked, rows):
        print(sentence)
    _print_table(asked, rows)
    if options.target_kl is not None:
        _print_answer(asked.counted, rows, options.target_kl)
    if output is not None:
        write_chart(rows, output, options.target_kl)
        print(f"Wrote {plain(output)}.")


def question(options: PlanOptions) -> Question:
    """What is to be rehearsed: from a schema file, from bounds, or from numbers of classes and columns."""
    from privgmm.plan import Question

    schema = Schema() if options.schema is None else Schema.load(options.schema)
    ranges = _ranges(options, schema)
    n_classes = _agreed(
        "--classes", options.classes, None if schema.classes is None else len(schema.classes)
    )
    dim = _agreed("--dim", options.dim, (ranges and len(ranges.lo)) or len(schema.columns) or None)
    return Question(
        _sizes(options),
        n_classes,
        dim,
        options.unit.value,
        _numbers(options.epsilon, float, "--epsilon"),
        options.delta,
        options.radius,
        options.rehearsals,
        ranges,
        options.shape.value,
        options.rows_per_person,
    )


def _ranges(options: PlanOptions, schema: Schema) -> Ranges | None:
    """The ranges of the columns, or None unless all are stated; categories are rehearsed as numbers from 0 to 1."""
    from privgmm.plan import Ranges

    bounds = bounds_of(options.bounds)
    if isinstance(bounds, tuple):
        dim = options.dim or len(schema.columns)
        if not dim:
            raise InputError("Say how many columns there are with --dim.")
        return Ranges((bounds[0],) * dim, (bounds[1],) * dim, (False,) * dim)
    if bounds is not None:
        lows, highs = zip(*bounds.values(), strict=True)
        return Ranges(lows, highs, (False,) * len(bounds))
    if not schema.columns or options.radius is not None:
        return None
    open_ = [c.name for c in schema.columns if c.type != "category" and c.lo is None]
    if open_ and options.unit == "record":
        raise InputError(f"State lo and hi of {open_[0]!r} in {options.schema}; or give --radius.")
    if open_:
        return None
    return Ranges(
        tuple(0.0 if c.lo is None else c.lo for c in schema.columns),
        tuple(1.0 if c.hi is None else c.hi for c in schema.columns),
        tuple(c.type != "number" for c in schema.columns),
    )


def _agreed(option: str, given: int | None, stated: int | None) -> int:
    if given is None and stated is None:
        raise InputError(f"Give {option}, or a schema file that states as much.")
    if given is not None and stated is not None and given != stated:
        raise InputError(
            f"{option} {given} is not what is stated elsewhere, {stated}; leave one out."
        )
    return int(given or stated or 0)


def _numbers(text: str, kind: type[int] | type[float], what: str) -> tuple[float, ...]:
    """Comma-separated numbers of the command line."""
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{what} must be numbers separated by commas, got {text!r}.") from None


def _sizes(options: PlanOptions) -> tuple[int, ...]:
    """Numbers of rows, or of persons where it is stated how many rows each has."""
    n, persons = options.n, options.persons
    if (n is None) == (persons is None):
        raise InputError("Give the sizes as --n (rows) or as --persons, one of the two.")
    if (persons is None) != (options.rows_per_person is None):
        raise InputError(
            "Say with --persons, and only then, how many rows each has (--rows-per-person)."
        )
    text, what = (n, "--n") if persons is None else (persons, "--persons")
    return tuple(int(size) for size in _numbers(text or "", int, what))


def _with_progress(question: Question) -> list[Forecast]:
    from privgmm.plan import forecasts

    if not sys.stderr.isatty():
        return list(forecasts(question))
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Rehearsing", total=None)
        return list(
            forecasts(
                question, lambda done, total: progress.update(task, completed=done, total=total)
            )
        )


def sentences(question: Question, rows: list[Forecast]) -> list[str]:
    """What to expect, in words: one paragraph per forecast, and a last one on the tables that were invented."""
    from privgmm.curate.opened import RISKY

    where = "" if question.unit == "label" else f", {_region(question)}"
    if question.rows_per_person is not None:
        where += f", {question.rows_per_person} rows per person"
    said = [
        f"Rehearsed on invented tables: {question.n_classes} {'class' if question.n_classes == 1 else 'classes'}, {counted(question.dim, 'column')}, "
        f"{_SHAPES[question.shape]}, {question.unit} level, delta {question.delta:g}{where}. "
        '"Typically": half of the numbers are off by no more; in brackets: nine in ten.',
        "",
    ]
    for row in rows:
        said += [
            f"{row.n:,} {question.counted}, epsilon {row.epsilon:g} ({row.rehearsals} rehearsals): typically",
            f"  the share of a class is off by {_number(100 * row.share.typical)} percentage points ({_number(100 * row.share.most)}),",
            f"  a mean by {_number(row.mean.typical)} standard deviations ({_number(row.mean.most)}),",
            f"  a standard deviation by {_percent(row.deviation.typical)} ({_percent(row.deviation.most)}),",
            f"  a correlation by {_number(row.correlation.typical)} ({_number(row.correlation.most)}).",
            "",
        ]
    risky = [n for n in question.sizes if n * question.delta > RISKY]
    if risky:
        said += [
            f"Delta {question.delta:g} is not far below one over {risky[0]:,} {question.counted}; choose a smaller delta for such "
            "a table.",
            "",
        ]
    stand_in = [n for n in question.sizes if question.rehearsed_rows(n) < n]
    if stand_in:
        said += [
            f"Tables of {stand_in[0]:,} {question.counted} were rehearsed on {question.rehearsed_rows(stand_in[0]):,} with "
            "as much more budget, which gives nearly the same errors.",
            "",
        ]
    return said


def _region(question: Question) -> str:
    if question.ranges is None:
        return f"ball of radius {question.stated_radius:.3g}"
    return "the stated ranges"


def _number(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _percent(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{_number(100 * value)} %"


def _print_table(question: Question, rows: list[Forecast]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title="Divergence of the released from the fitted model, and accuracy as a classifier",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    headers = (question.counted, "epsilon", "mean KL", "median KL", "median KL, other way", "accuracy",
               "without privacy")  # fmt: skip
    for header in headers:
        table.add_column(header, justify="right")
    for row in rows:
        table.add_row(
            f"{row.n:,}", f"{row.epsilon:g}", _kl(row.kl_mean), _kl(row.kl_median), _kl(row.kl_forward),
            _share(row.accuracy), _share(row.accuracy_without_privacy),
        )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def _kl(value: float) -> str:
    """KL as text; a dash where invented classes have too few rows for covariances of their own."""
    return "-" if math.isnan(value) else f"{value:.3g}"


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _print_answer(what: str, rows: list[Forecast], target_kl: float) -> None:
    from privgmm.plan import smallest_epsilon

    for n, epsilon in smallest_epsilon(rows, target_kl).items():
        if epsilon is None:
            print(
                f"With {n:,} {what} no rehearsed epsilon reaches a mean KL of {target_kl:g}; "
                f"allow a larger epsilon or gather more {what}."
            )
        else:
            print(f"With {n:,} {what} epsilon {epsilon:g} reaches a mean KL of {target_kl:g}.")
