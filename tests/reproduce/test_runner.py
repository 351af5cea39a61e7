"""The runner: files, resumption, and independence of the number of processes."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import toy

from privgmm.errors import InputError
from privgmm.reproduce import Study, reproduce
from privgmm.reproduce.harness.runner import Journal, study_rows


def calls(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_writes_tidy_tables_figures_and_findings(tmp_path: Path) -> None:
    result = reproduce(toy.experiment(tmp_path / "calls"), tmp_path, trials=3)
    with (tmp_path / "toy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 3 * 2
    assert set(rows[0]) == {"figure", "x_name", "x", "method", "trial", "data", "kl"}
    assert {row["figure"] for row in rows} == {"toy"}
    assert pq.read_table(tmp_path / "toy.parquet").to_pydict()["kl"] == [
        float(r["kl"]) for r in rows
    ]
    assert (tmp_path / "toy.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "toy.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((tmp_path / "toy.json").read_text())
    assert [f["verdict"] for f in summary["findings"]] == ["yes", "yes"]
    assert result.line.startswith("toy: yes: KL of published falls in x (")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_whatever_the_processes(tmp_path: Path) -> None:
    for name, jobs in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        reproduce(toy.experiment(tmp_path / "calls"), tmp_path / name, trials=4, jobs=jobs)
    for kind in ("csv", "svg", "json"):
        one, two = ((tmp_path / n / f"toy.{kind}").read_bytes() for n in ("one", "two"))
        assert one == two
    (tmp_path / "other").mkdir()
    reproduce(toy.experiment(tmp_path / "calls"), tmp_path / "other", trials=4, seed=43)
    assert (tmp_path / "other/toy.csv").read_bytes() != (tmp_path / "one/toy.csv").read_bytes()


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    study = toy.experiment(log, fails_from=2).study
    with pytest.raises(KeyboardInterrupt):
        study_rows(study, tmp_path / "trials", trials=4, jobs=1, seed=1)
    assert calls(log) == 2 * 3 + 1
    # The same program would fail again, so let it live under the same digest.
    healed = _same_digest(study)
    rows = study_rows(healed, tmp_path / "trials", trials=4, jobs=1, seed=1)
    assert calls(log) == 4 * 3 + 1
    fresh = study_rows(toy.experiment(log).study, tmp_path / "fresh", trials=4, jobs=1, seed=1)
    assert rows == fresh


def _same_digest(study: Study) -> Study:
    class Patient(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            return 1_000_000 if key == "fails_from" else super().__getitem__(key)

    return replace(study, settings=Patient(study.settings))


def test_more_trials_reuse_the_finished_ones_and_extend_the_same_numbers(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    few = reproduce(toy.experiment(log), tmp_path, trials=2).table
    many = reproduce(toy.experiment(log), tmp_path, trials=5).table
    assert calls(log) == 5 * 3
    assert set(few.rows) < set(many.rows)


def test_a_line_cut_off_by_a_crash_is_dropped_and_recomputed(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    study = toy.experiment(log).study
    whole = study_rows(study, tmp_path, trials=2, jobs=1, seed=1)
    path = Journal(tmp_path, study, 1).path
    path.write_bytes(path.read_bytes()[:-20])
    assert study_rows(study, tmp_path, trials=2, jobs=1, seed=1) == whole
    assert calls(log) == 2 * 3 + 1


def test_other_settings_seeds_and_sources_never_share_a_journal(tmp_path: Path) -> None:
    study = toy.experiment(tmp_path / "calls").study
    others = [
        (study, 2),
        (replace(study, settings={**study.settings, "n": 7}), 1),
        (replace(study, methods=("proven",)), 1),
        (replace(study, source=lambda: "elsewhere"), 1),
    ]
    paths = {Journal(tmp_path, s, seed).path for s, seed in [(study, 1), *others]}
    assert len(paths) == 5
    assert Journal(tmp_path, study.at(9.0), 1).path in paths


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"jobs": 0}, {"seed": -1}])
def test_refuses_senseless_numbers(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="at least"):
        reproduce(toy.experiment(tmp_path / "calls"), tmp_path, **wrong)


def test_an_unusable_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "trials").write_text("a file")
    with pytest.raises(InputError, match="Cannot use the folder"):
        reproduce(toy.experiment(tmp_path / "calls"), tmp_path)


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    reproduce(
        toy.experiment(tmp_path / "calls"), tmp_path, trials=2,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen == [(i, 6) for i in range(1, 7)]
