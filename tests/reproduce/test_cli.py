"""The body of ``privgmm reproduce``: its lines, its refusals, its word on interruption."""

from __future__ import annotations

from pathlib import Path

import pytest
import toy
import typer

from privgmm.cli import reproduce as body
from privgmm.errors import InputError
from privgmm.reproduce import figures


def test_prints_one_line_a_figure_with_its_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "EXPERIMENTS", {"toy": toy.experiment(tmp_path / "calls")})
    body.run("toy", trials=2, jobs=1, out=tmp_path / "new" / "folder", seed=1)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 1
    assert shown[0].startswith("toy: yes: KL of published falls")
    assert (tmp_path / "new" / "folder" / "toy.svg").is_file()


def test_the_paper_alone_is_judged_without_the_proven_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "EXPERIMENTS", {"toy": toy.experiment(tmp_path / "calls")})
    body.run("toy", trials=2, jobs=1, out=tmp_path, seed=1, paper_only=True)
    assert "proven" not in capsys.readouterr().out
    assert "proven" not in (tmp_path / "toy.csv").read_text()


def test_an_unknown_figure_is_refused_with_the_list(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no figure 'fig7'; choose all or one of ci, epsilon, n"):
        body.run("fig7", trials=2, jobs=1, out=tmp_path, seed=1)


def test_a_page_needs_all_figures(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="use --page with all"):
        body.run("ci", trials=2, jobs=1, out=tmp_path, seed=1, page=tmp_path / "page.md")
    with pytest.raises(InputError, match="use --page with all"):
        body.run("all", 2, 1, tmp_path, 1, page=tmp_path / "page.md", paper_only=True)


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="Cannot make the folder"):
        body.run("ci", trials=2, jobs=1, out=tmp_path / "out", seed=1)


def test_an_interruption_says_that_trials_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stops = toy.experiment(tmp_path / "calls", fails_from=1)
    monkeypatch.setattr(figures, "EXPERIMENTS", {"toy": stops})
    with pytest.raises(typer.Exit) as ending:
        body.run("toy", trials=2, jobs=1, out=tmp_path, seed=1)
    assert ending.value.exit_code == 130
    assert "finished trials are kept" in capsys.readouterr().err
    (journal,) = (tmp_path / "trials").iterdir()
    assert len(journal.read_text().splitlines()) == 3
