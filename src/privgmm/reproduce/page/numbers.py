"""docs/results.csv: one line per figure, point and method, from which every page takes its numbers.

A page quotes it between two marks, ``<!-- numbers: NAME -->`` and ``<!-- end -->``; what stands between
them is written by ``fill`` and checked by a test, so that the same setting has the same numbers everywhere.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from privgmm.files import whole_file
from privgmm.reproduce.figures import methods
from privgmm.reproduce.harness.drawing import label
from privgmm.reproduce.harness.findings import short
from privgmm.reproduce.harness.runner import Result

COLUMNS = ("kl", "kl_forward", "weights_tv", "accuracy_lost", "accuracy", "distance")
_BLOCK = re.compile(r"(<!-- numbers: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Numbers:
    """The lines of docs/results.csv; a number that was not measured is missing."""

    lines: dict[tuple[str, float, str], dict[str, str]]

    def get(self, figure: str, x: float, method: str, statistic: str = "kl mean") -> float | None:
        """One statistic of a method at one point of a figure, if it was measured."""
        text = self.lines.get((figure, float(x), method), {}).get(statistic, "")
        return float(text) if text else None

    def xs(self, figure: str) -> list[float]:
        """The points of a figure that were measured."""
        return sorted({x for name, x, _ in self.lines if name == figure})

    def trials(self, figure: str, method: str) -> int:
        """The number of data sets behind a method's points."""
        return max(
            (int(v["trials"]) for (f, _, m), v in self.lines.items() if (f, m) == (figure, method)),
            default=0,
        )


def summary(results: Sequence[Result]) -> str:
    """The text of docs/results.csv."""
    out = io.StringIO()
    named = [f"{column} {part}" for column in COLUMNS for part in ("mean", "median")]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["figure", "x_name", "x", "method", "trials", "data", *named])
    for result in results:
        table = result.table
        for method in table.methods:
            for x in table.xs:
                mine = table.where(method=method, x=x)
                if not any(mine.values(column).size for column in COLUMNS):
                    continue
                cells = [
                    f"{value:.10g}" if mine.values(column).size else ""
                    for column in COLUMNS
                    for value in (mine.mean(column), mine.median(column))
                ]
                first = mine.rows[0]
                writer.writerow(
                    [result.experiment.name, first.x_name, f"{x:g}", method, mine.trials,
                     first.data, *cells]
                )  # fmt: skip
    return out.getvalue()


def read(path: Path) -> Numbers:
    """docs/results.csv as it stands."""
    with path.open(newline="", encoding="utf-8") as file:
        return Numbers({(r["figure"], float(r["x"]), r["method"]): r for r in csv.DictReader(file)})


def fill(page: Path, numbers: Numbers) -> None:
    """Write the blocks of a page afresh."""
    text = page.read_text(encoding="utf-8")
    with whole_file(page) as path:
        path.write_text(filled(text, numbers), encoding="utf-8")


def filled(text: str, numbers: Numbers) -> str:
    """The text with every block as ``numbers`` has it."""
    return _BLOCK.sub(lambda found: found[1] + BLOCKS[found[2]](numbers) + found[4], text)


def _path(numbers: Numbers, figure: str, xs: Sequence[float], method: str, part: str) -> str:
    found = [numbers.get(figure, x, method, f"kl {part}") for x in xs]
    return " / ".join("–" if v is None else short(v) for v in found)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _heading(numbers: Numbers, figure: str, symbol: str) -> str:
    """What is swept, and over how many trials each number is taken."""
    at = " / ".join(f"{x:g}" for x in numbers.xs(figure))
    return f"{symbol} = {at} ({numbers.trials(figure, methods.PUBLISHED)} trials)"


_CLOSE = (
    ("paper's synthetic mixtures, N=1000, label", "epsilon", None),
    ("the same, record, radius 20", "record-epsilon", None),
    ("the same, N=10000, record", "record-large", None),
    ("Iris, standardised, label", "iris-epsilon", (1.0,)),
)


def _close(numbers: Numbers) -> str:
    """README: mean and median of proven and published."""
    rows = []
    for name, figure, only in _CLOSE:
        xs = only or numbers.xs(figure)
        cells = [
            _path(numbers, figure, xs, method, part)
            for method in (methods.PROVEN, methods.PUBLISHED)
            for part in ("mean", "median")
        ]
        sets = numbers.trials(figure, methods.PUBLISHED)
        rows.append([f"{name} ({sets})", " / ".join(f"{x:g}" for x in xs), *cells])
    return _table(
        ("data (trials)", "ε", "proven: mean", "median", "published: mean", "median"), rows
    )


def _readings(numbers: Numbers) -> str:
    """docs/published.md: the readings and solutions on the paper's synthetic setting."""
    rows = []
    for method in (methods.PUBLISHED, methods.DEPARTURES, methods.JOINT, methods.SCALABLE):
        figure = "epsilon" if method == methods.DEPARTURES else "ci"
        xs = numbers.xs("ci")
        rows.append([label(method), *(_path(numbers, figure, xs, method, p) for p in _PARTS)])
    return _table((_heading(numbers, "ci", "ε"), *_PARTS), rows)


_PARTS = ("mean", "median")


def _baselines(numbers: Numbers) -> str:
    """docs/published.md: all methods on the paper's synthetic setting."""
    xs = numbers.xs("epsilon")
    rows = [
        [label(m), *(_path(numbers, "epsilon", xs, m, p) for p in _PARTS)]
        for m in (methods.PUBLISHED, *methods.BASELINES)
    ]
    return _table((_heading(numbers, "epsilon", "ε"), *_PARTS), rows)


def _large_d(numbers: Numbers) -> str:
    """docs/published.md: R1SMG and the readings of the published method at large d."""
    xs = numbers.xs("d-large")
    shown = (methods.PUBLISHED, methods.DEPARTURES, methods.JOINT, methods.DEPARTURES_JOINT,
             "r1smg", methods.R1SMG_L2)  # fmt: skip
    rows = [[label(m), *(_path(numbers, "d-large", xs, m, p) for p in _PARTS)] for m in shown]
    return _table((_heading(numbers, "d-large", "d"), *_PARTS), rows)


def _levels(numbers: Numbers) -> str:
    """docs/published.md: Algorithm 1 on the other data."""
    shown = (
        ("record level (`record-change`), N=1000, B=20", "record-epsilon"),
        ("the same, N=10000", "record-large"),
        ("Iris, standardised, label", "iris-epsilon"),
        ("load profiles, label", "ami-epsilon"),
        ("MNIST, 5 components, label", "mnist-epsilon"),
    )
    rows = []
    for name, figure in shown:
        xs = numbers.xs(figure)
        at = " / ".join(f"{x:g}" for x in xs)
        named = f"{name} ({numbers.trials(figure, methods.PUBLISHED)})"
        rows.append(
            [named, at, *(_path(numbers, figure, xs, methods.PUBLISHED, p) for p in _PARTS)]
        )
    return _table(("data (trials)", "ε", *_PARTS), rows)


BLOCKS: dict[str, Callable[[Numbers], str]] = {
    "close": _close,
    "readings": _readings,
    "baselines": _baselines,
    "large-d": _large_d,
    "levels": _levels,
}
