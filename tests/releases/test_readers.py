"""Readers for people without privgmm: each loads a release, checks its digest and draws rows of its model."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from privgmm import Mixture, Release
from privgmm.model.columns import Column, Encoding
from privgmm.model.components import ComponentMixture
from privgmm.model.margins import SCORES, Margins, choice, switch
from privgmm.releases import Guarantee
from privgmm.transform import Log, Pca, Standardise

READERS = Path(__file__).parents[2] / "readers"
COMMANDS = {
    "python": [sys.executable, str(READERS / "privgmm_reader.py")],
    "node": ["node", str(READERS / "privgmm_reader.mjs")],
    "R": ["Rscript", "--vanilla", str(READERS / "privgmm_reader.R")],
}
ROWS = 4000


def has_digest() -> bool:
    """R alone has SHA-256 since 4.5; before, its package digest."""
    asked = (
        'quit(status = !(exists("sha256sum", asNamespace("tools")) || requireNamespace("digest")))'
    )
    return subprocess.run(["Rscript", "-e", asked], capture_output=True).returncode == 0


def run(language: str, *arguments: object) -> subprocess.CompletedProcess:
    command = COMMANDS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    if language == "R" and not has_digest():
        pytest.skip("R has no SHA-256: it is older than 4.5 and lacks the package digest")
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True)


def three_parts() -> ComponentMixture:
    """Numbers of many sizes, so that every layout of RFC 8785 occurs."""
    covariances = [np.diag([1e-7, 4.0]), np.diag([2e-6, 1e3]), [[3.0, 0.5], [0.5, 1 / 3]]]
    means = [[1e-9, -2e22], [0.1 + 0.2, 5e-324], [-7.25, 1e21]]
    parts = Mixture([0.25, 0.125, 0.625], means, covariances)
    return ComponentMixture(parts, [0, 1, 0], ['é\U0001f600\n"<', 'b, "quoted"'])


def release(model: ComponentMixture, **more) -> Release:
    guarantee = Guarantee("proven", "label", "label", 1.0, 1e-5, 0.268, True)
    return Release(model.moments(), guarantee, components=model, **more)


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("readers") / "r.json"
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(5, 2, 2)) + 2 * np.eye(2)
    parts = Mixture(
        [0.1, 0.2, 0.3, 0.15, 0.25],
        4 * rng.normal(size=(5, 2)),
        roots @ roots.transpose(0, 2, 1),
    )
    steps = (
        Log(1.5),
        Standardise([3.0, -1.0, 0.5], [2.0, 4.0, 0.25]),
        Pca([0.1, 0.2, 0.3], [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]]),
    )
    model = ComponentMixture(parts, [0, 0, 1, 1, 1], ["a", "b"])
    names = ("höhe", "\U0001f600", "z")
    release(model, feature_names=names, preprocessing=steps, label_name="kind").save(path)
    return path


@pytest.mark.parametrize("language", COMMANDS)
def test_rows_follow_the_model_in_the_columns_of_the_table(language, plain):
    done = run(language, plain, ROWS, 7)
    assert done.returncode == 0, done.stderr
    header, *rows = csv.reader(io.StringIO(done.stdout))
    assert header == ["höhe", "\U0001f600", "z", "kind"]
    assert len(rows) == ROWS
    known = Release.load(plain)
    X = np.array([row[:3] for row in rows], dtype=float)
    y = np.array([row[3] for row in rows])
    Z = known.transform(X)
    # Five standard errors on ten numbers: a false alarm in 2 * 10^5 runs, and the seed is fixed.
    for k, name in enumerate(known.mixture.classes):
        own, weight = Z[y == name], known.mixture.weights[k]
        assert abs(len(own) / ROWS - weight) < 5 * np.sqrt(weight * (1 - weight) / ROWS)
        wide = np.sqrt(np.diag(known.mixture.covariances[k]) / len(own))
        assert (np.abs(own.mean(axis=0) - known.mixture.means[k]) < 5 * wide).all()
        np.testing.assert_allclose(np.cov(own.T), known.mixture.covariances[k], rtol=0.2, atol=0.8)
    # The whole model, not its moments: its own rows are likelier than those of one Gaussian per class.
    gain = known.model.log_density(Z) - known.mixture.log_density(Z)
    assert gain.mean() > 5 * gain.std() / np.sqrt(ROWS)
    assert run(language, plain, ROWS, 7).stdout == done.stdout


@pytest.mark.parametrize("language", COMMANDS)
def test_numbers_and_texts_of_every_kind_have_the_same_digest(language, tmp_path):
    release(three_parts(), label_name="\u2028 \x01\\").save(tmp_path / "r.json")
    done = run(language, tmp_path / "r.json", 3)
    assert done.returncode == 0, done.stderr


COLUMNS = (
    Column("colour", "category", levels=("red", "blue, light", "grün"), missing=True),
    Column("size", "integer", lo=0.0, hi=9.0, missing=True),
    Column("weight", "number", lo=0.5, hi=3.04, decimals=1),
    Column("any"),
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    """Two classes of categories, missing cells, whole numbers and decimals, each with a shape of its own."""
    path = tmp_path_factory.mktemp("readers") / "mixed.json"
    encoding = Encoding(COLUMNS, (0.0, 4.0, 0.0, 0.0), ((1,), (), (), ()))
    told = [
        np.stack([
            switch(red), 9 * ndtr(SCORES + red), switch(0.3), 4 * np.exp(SCORES - 2), SCORES**3,
            choice(np.array([2.0, 1.0, 3.0 * red])),
        ])
        for red in (0.2, 0.7)
    ]  # fmt: skip
    ties = np.eye(6)
    ties[0, 1] = ties[1, 0] = 0.6
    model = Mixture([0.3, 0.7], np.zeros((2, 5)), [np.eye(5)] * 2, [1, 2])
    guarantee = Guarantee("proven", "record", "replace", 1.0, 1e-5, 0.268, True)
    names = tuple(column.name for column in COLUMNS)
    Release(
        model, guarantee, names, "kind", columns=COLUMNS, encoding=encoding,
        margins=Margins(np.stack(told), np.stack([ties, ties])),
        order=("kind", *names),
    ).save(path)  # fmt: skip
    return path


@pytest.mark.parametrize("language", COMMANDS)
def test_shapes_categories_and_missing_cells_are_those_of_the_release(language, mixed):
    done = run(language, mixed, ROWS, 3)
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(io.StringIO(done.stdout))
    known = Release.load(mixed).sample_table(100_000, seed=0).to_pandas()
    assert rows.columns.tolist() == known.columns.tolist()
    assert set(rows.colour.dropna()) == {"red", "blue, light", "grün"}
    size, weight = rows["size"].dropna(), rows.weight
    assert (size == size.round()).all()
    assert size.between(0, 9).all()
    assert weight.between(0.5, 3.0).all()
    assert weight.to_numpy() == pytest.approx(weight.round(1))
    # Five standard errors on 14 numbers: a false alarm in 10^5 runs, and the seed is fixed.
    for mine, other in ((rows, known), (rows[rows.kind == 2], known[known.kind == 2])):
        facts = [
            *((lambda t, c=c: t.colour.fillna("") == c) for c in ("red", "grün", "")),
            lambda t: t["size"].isna(),
            lambda t: t["size"] >= 6,
            lambda t: (t["size"] >= 6) & (t.colour == "blue, light"),
            lambda t: (t.weight > 1) & (t["any"] > 0),
        ]
        for fact in facts:
            share = fact(other).mean()
            assert abs(fact(mine).mean() - share) < 5 * np.sqrt(share * (1 - share) / len(mine))


@pytest.mark.parametrize("language", COMMANDS)
def test_a_changed_number_is_refused(language, plain, tmp_path):
    content = json.loads(plain.read_text())
    content["components"]["means"][1][0] += 1e-12
    (tmp_path / "r.json").write_text(json.dumps(content))
    done = run(language, tmp_path / "r.json", 3)
    assert done.returncode == 1
    assert "changed or damaged" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("language", COMMANDS)
def test_older_documents_are_refused_with_a_sentence(language, plain, tmp_path):
    content = {**json.loads(plain.read_text()), "version": 2}
    (tmp_path / "r.json").write_text(json.dumps(content))
    done = run(language, tmp_path / "r.json", 3)
    assert done.returncode == 1
    assert "version 3 or later" in done.stderr
