"""The benchmark runs on toy sizes and its page says what was measured; nothing here is timed."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from privgmm import Mixture, datasets, fit

ROOT = Path(__file__).parents[1]


@pytest.fixture
def bench(monkeypatch):
    """Modules of the bench folder, which is beside the package and not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    yield lambda name: importlib.import_module(f"bench.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == "bench"]:
        del sys.modules[name]


RESULTS = {
    "machine": {
        "python": "3", "system": "Linux", "processor": "abacus", "cores": 2,
        "blas_threads": "1",
        "packages": {"numpy": "2"},
    },
    "speed": [
        {"name": "fast", "seconds": 1.0, "peer": "slow", "peer_seconds": 3.0, "ratio": 3.0, "goal": 2.0, "note": ""},
        {"name": "late", "seconds": 4.0, "peer": "slow", "peer_seconds": 3.0, "ratio": 0.75, "goal": 1.0, "note": ""},
        {"name": "alone", "seconds": 4.0, "peer": "", "peer_seconds": None, "ratio": None, "note": ""},
    ],
    "growth": [{"curve": "pass", "over": over, "at": 10, "seconds": 0.1} for over in ("N", "d", "K")],
    "utility": [{"setting": "s", "method": "proven", "mean": 0.5, "median": 0.25, "data_sets": 3}],
    "failed": [],
    "modules": {"solver": {"when": "today", "seconds": 1.0, "full": True, "load": 0.5}},
}  # fmt: skip


def test_the_page_says_what_was_met_and_missed(bench, tmp_path):
    bench("page").write_page(RESULTS, tmp_path / "performance.md")
    text = (tmp_path / "performance.md").read_text()
    assert "| fast | 1 | slow | 3 | ≥ 2: met |" in text
    assert "| late | 4 | slow | 0.75 | ≥ 1: missed |" in text
    assert "| alone | 4 |  |  |  |" in text
    assert "| s | proven | 0.5 | 0.25 | 3 |" in text
    assert "<svg" in (tmp_path / "performance.svg").read_text()


def test_a_module_that_fails_is_named_and_the_rest_go_on(bench, tmp_path, monkeypatch, capsys):
    main = bench("__main__")

    def rows(name, full):
        if name == "broken":
            raise RuntimeError("no luck")
        return RESULTS["speed"][:1]

    monkeypatch.setattr(main, "_rows", rows)
    code = main.main(
        [
            "--only",
            "broken,fine",
            "--out",
            str(tmp_path / "r.json"),
            "--page",
            str(tmp_path / "p.md"),
        ]
    )
    assert code == 1
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["failed"] == ["broken"]
    assert [row["name"] for row in found["speed"]] == ["fast"]
    assert "3x of slow" in capsys.readouterr().out


def test_every_module_of_the_list_exists(bench):
    main = bench("__main__")
    for name in main.SPEED:
        assert callable(bench(name).rows)
    assert callable(bench("growth").curves)
    assert callable(bench("utility").utilities)


def test_both_sides_of_the_streaming_row_add_up_the_same_rows(bench, tmp_path):
    streaming = bench("streaming")
    streaming.write_table(tmp_path / "t.parquet", 3000)
    totals = np.reshape(streaming.our_pass(tmp_path / "t.parquet"), (10, -1))
    second = streaming.peer_pass(tmp_path / "t.parquet")
    assert totals[:, 0].sum() == 3000
    # The last total is the second moment of the last feature, on the grid of the unit ball.
    scale = (2**14 - 10**0.5 / 2 - 1) / 6
    ours = totals[:, -1] / scale**2
    np.testing.assert_allclose(ours, [s[-1, -1] for s in second], rtol=0.02)


@pytest.mark.slow
def test_utility_compares_methods_on_the_same_sets(bench):
    utility = bench("utility")
    sets = [datasets.synthetic(n=300, n_classes=3, dim=2, seed=s) for s in range(2)]
    wide = [Mixture(m.weights, m.means, 2 * m.covariances) for m in (fit(*one) for one in sets)]
    methods = {
        "proven": utility._proven,
        "fit": lambda X, y, _: fit(X, y),
        "wide": lambda X, y, i: wide[i],
    }
    rows = utility.compared("toy", sets, methods)
    assert [(row["method"], row["data_sets"]) for row in rows] == [(name, 2) for name in methods]
    assert rows[0]["mean"] > 0
    assert rows[1]["mean"] == pytest.approx(0, abs=1e-12)
    # KL of twice the covariance, in two dimensions: 1 - ln 2, in every class.
    assert rows[2]["mean"] == rows[2]["median"] == pytest.approx(1 - np.log(2))


def test_no_page_but_those_of_the_one_table_quotes_the_published_method():
    """docs/performance.md measures what is ours and what peers do; docs/results.csv has the rest."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    told = [
        line
        for line in text.splitlines()
        if re.search(r"published|laplace|gaussian \||r1smg", line)
    ]
    assert told == ["The published method and its baselines are in the [results](results.md)."]


@pytest.mark.slow
def test_the_peak_of_a_child_is_its_own(bench):
    ballast = np.ones(3 * 10**7)  # 229 MiB here, which the child must not be charged with
    small = bench("measure").peak_mebibytes("pass")
    large = bench("measure").peak_mebibytes("ballast = bytearray(b'1') * 2**28")
    assert ballast.sum() == 3 * 10**7
    assert small < 200
    assert large > small + 200


def test_second_moments_are_measured_beside_the_plain_mechanism(bench) -> None:
    """Of one entry the plain mechanism's mean error is its noise's, sqrt(2 / pi) sd; 200 draws know it to 6 %, three errors allowed."""
    second_moments = bench("second_moments")
    error = second_moments._plain_error(np.array([[0.5]]), 1000.0, np.random.default_rng(0))
    assert error == pytest.approx(np.sqrt(2 / np.pi) * np.sqrt(2) / 1000, rel=0.16)
    *lines, last = second_moments.lines(["bell off centre"], [16.0], [1.0], 1)
    assert len(lines) == 1
    assert last.startswith("above 2: 0 of 1")
    for table in second_moments.TABLES.values():
        rows = table(np.random.default_rng(1))
        assert np.linalg.norm(rows.X, axis=1).max() <= 1 + 1e-12
        assert np.abs(rows.X).max() <= rows.extent * (1 + 1e-12)
