"""The page: every figure in it, lost points marked, links that lead somewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import toy

import privgmm
from privgmm.reproduce import EXPERIMENTS, FigureTable, Result, Row, page, reproduce
from privgmm.reproduce.harness.drawing import label
from privgmm.reproduce.harness.findings import short
from privgmm.reproduce.page import notes, numbers
from privgmm.reproduce.page.notes import NOTES


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setitem(NOTES, "toy", "A note on the toy.")
    monkeypatch.setattr(page, "ARTEFACTS", (lambda: "An artefact.",))
    return reproduce(toy.experiment(tmp_path / "calls"), tmp_path, trials=3)


def test_every_experiment_has_a_note() -> None:
    assert set(NOTES) == set(EXPERIMENTS)


def test_the_page_tells_claim_measurement_and_reason(result: Result, tmp_path: Path) -> None:
    target = tmp_path / "docs" / "results.md"
    page.write_page([result], tmp_path, target)
    text = target.read_text(encoding="utf-8")
    for part in (
        "It falls.",
        "A note on the toy.",
        "An artefact.",
        "Of the paper's 1 statements, 1 held here.",
        "../shared/paper/paper.tex",
        "3 trials a point",
        f"with privgmm {privgmm.__version__}",
        "- toy",
    ):
        assert part in text
    (image,) = re.findall(r"!\[A toy\]\((.*?)\)", text)
    assert (target.parent / image).read_bytes().startswith(b"<?xml")
    assert ") ✱" not in text
    mean = result.table.mean(method="published", x=1.0)
    assert f"| published (the paper) | {mean:.3g} [" in text


def test_a_point_where_proven_loses_is_marked(result: Result, tmp_path: Path) -> None:
    worse = FigureTable(
        tuple(
            replace(r, kl=99.0) if r.method == "proven" and r.x == 2.0 else r
            for r in result.table.rows
        )
    )
    lost = replace(result, table=worse, findings=toy.check(worse))
    page.write_page([lost], tmp_path, tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "99 [99, 99] (99) ✱" in text
    assert text.count(") ✱") == 1
    assert "**not everywhere**: not at 2 (99 against" in text


def test_reasons_for_missing_numbers_are_told(result: Result, tmp_path: Path) -> None:
    refusal = Row("toy", "x", 4.0, "published", 9, "toy", note="R1SMG needs three features.")
    told = replace(result, table=FigureTable((*result.table.rows, refusal)))
    page.write_page([told], tmp_path, tmp_path / "results.md")
    assert "Points without a number: R1SMG needs" in (tmp_path / "results.md").read_text()


def test_artefacts_come_out_as_derived() -> None:
    """The sentences hold the numbers that theory predicts."""
    assert re.search(r"28\.[0-9] % of 40,000 .*= 28\.3 %", notes.wishart_support())
    assert "gives 3.40; the expectation is 2.0e-06" in notes.closed_form()
    assert "sums to 0.73" in notes.column_sum()
    assert "at most 2 iterations" in notes.alternation()
    assert re.search(r"8\.[2-5]e-03 at M = 5 and 2\.[78]e-01 at M = 12", notes.rank_one())
    floor = re.search(r"expected KL of ([0-9.]+)", notes.floor())
    assert floor is not None
    assert 0.7 < float(floor.group(1)) < 0.9


def four(result: Result, **published: float) -> Result:
    """The toy with all four numbers: proven's are 0.2, published's are 0.3 unless given."""
    names = ("kl_forward", "weights_tv", "accuracy_lost")
    mine, rival = dict.fromkeys(names, 0.2), {**dict.fromkeys(names, 0.3), **published}
    rows = tuple(replace(r, **(mine if r.method == "proven" else rival)) for r in result.table.rows)
    return replace(result, table=FigureTable(rows))


def test_a_number_in_which_published_is_nearer_is_told(result: Result, tmp_path: Path) -> None:
    page.write_page([four(result)], tmp_path, tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "In no figure is published nearer" in text
    assert "| KL(fitted ‖ released) | 0.2 / 0.3 | 0.2 / 0.3 | 0.2 / 0.3 |" in text
    page.write_page([four(result, weights_tv=0.1)], tmp_path, tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "at some points of toy (3); each is marked ✱" in text
    assert "| weights, total variation | 0.2 / 0.1 ✱ | 0.2 / 0.1 ✱ | 0.2 / 0.1 ✱ |" in text
    assert "| balanced accuracy lost | 0.2 / 0.3 |" in text


def test_other_pages_quote_the_table(result: Result, tmp_path: Path) -> None:
    """A page's block is written from results.csv; text outside the marks stays as it is."""
    (tmp_path / "docs").mkdir()
    marks = "<!-- numbers: close -->\nold\n<!-- end -->"
    (tmp_path / "README.md").write_text(f"Before.\n\n{marks}\nAfter.\n", encoding="utf-8")
    page.write_page([result], tmp_path, tmp_path / "docs" / "results.md")
    table = numbers.read(tmp_path / "docs" / "results.csv")
    assert table.trials("toy", "published") == 3
    expected = result.table.mean(method="published", x=2.0)
    assert table.get("toy", 2.0, "published") == pytest.approx(expected, rel=1e-5)
    assert table.get("toy", 2.0, "laplace") is None
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert text.startswith("Before.")
    assert text.endswith("<!-- end -->\nAfter.\n")
    assert "old" not in text
    assert "| Iris, standardised, label (0) | 1 | – | – | – | – |" in text


def test_every_block_of_the_pages_is_what_the_table_says() -> None:
    """README and docs/published.md quote docs/results.csv and nothing else."""
    root = Path(__file__).parents[2]
    table = numbers.read(root / "docs" / "results.csv")
    marks = 0
    for name in ("README.md", "docs/published.md"):
        text = (root / name).read_text(encoding="utf-8")
        assert numbers.filled(text, table) == text, f"{name}: run privgmm reproduce all --page"
        marks += text.count("<!-- numbers: ")
    assert marks >= len(numbers.BLOCKS)
    outside = numbers._BLOCK.sub("", (root / "README.md").read_text(encoding="utf-8"))
    quoted = [line for line in outside.splitlines() if re.search(r"\bpublished\b", line, re.I)]
    assert not [line for line in quoted if re.search(r"\d\.\d", re.sub(r"`[^`]*`", "", line))]


def test_the_page_s_tables_are_those_of_the_one_table() -> None:
    """Mean and median of every method at every point of docs/results.md stand in docs/results.csv."""
    docs = Path(__file__).parents[2] / "docs"
    table = numbers.read(docs / "results.csv")
    sections = re.split(r"^## ", (docs / "results.md").read_text(encoding="utf-8"), flags=re.M)
    text = {section.split("\n", 1)[0]: section for section in sections}
    assert set(EXPERIMENTS) < set(text)
    seen = 0
    for name, experiment in EXPERIMENTS.items():
        if experiment.y == "distance" or name == "mnist-mlp":
            continue
        for method in experiment.methods:
            start = f"| {label(method, experiment.y)} | "
            (row,) = [line for line in text[name].splitlines() if line.startswith(start)]
            cells = row.removeprefix(start).split(" | ")
            for x, cell in zip(table.xs(name), cells, strict=True):
                mean, median = (
                    table.get(name, x, method, f"{experiment.y} {part}")
                    for part in ("mean", "median")
                )
                if mean is None or median is None:
                    assert cell.startswith("–"), (name, method, x)
                    continue
                assert cell.startswith(f"{short(mean)} ["), (name, method, x)
                assert f"({short(median)})" in cell, (name, method, x)
                seen += 1
    assert seen > 300
