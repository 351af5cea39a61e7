"""Bad input: one clear sentence on stderr, exit 2, nothing written, no record's value shown."""

import io

import numpy as np
import pytest

from privgmm import Mixture, Release
from privgmm.cli import run
from privgmm.datasets import synthetic
from privgmm.releases import Guarantee
from privgmm.releases.document import dump

SECRET = "314159.2653"


def table(n=60, k=3, d=2, seed=0):
    x, y = synthetic(n, k, d, seed)
    return [[*(f"{v:.6f}" for v in row), f"c{label}"] for row, label in zip(x, y, strict=True)]


def write(path, rows, header=("a", "b", "cls")):
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
    return path


def with_cell(row, column, value):
    rows = table()
    rows[row][column] = value
    return rows


def tiny_class():
    rows = table()
    labels = np.array([row[-1] for row in rows])
    rare = np.flatnonzero(labels == "c1")[3:]
    for index in rare:
        rows[index][-1] = "c0"
    return rows


COMMON = ["--label", "cls", "--unit", "label", "--epsilon", "1", "--delta", "1e-5"]
COMMON += ["--classes", "c0,c1,c2"]
CASES = {
    "nan": (with_cell(3, 0, "nan"), COMMON, "a"),
    "empty cell": (with_cell(3, 1, ""), COMMON, "b"),
    "infinite": (with_cell(3, 0, "inf"), COMMON, "a"),
    "string column": (with_cell(3, 0, "hello"), COMMON, "'a'"),
    "missing label": (with_cell(3, 2, ""), COMMON, "'cls'"),
    "epsilon zero": (table(), [*COMMON, "--epsilon", "0"], "Epsilon must be a positive"),
    "epsilon negative": (table(), [*COMMON, "--epsilon=-1"], "Epsilon must be a positive"),
    "epsilon nan": (table(), [*COMMON, "--epsilon", "nan"], "Epsilon must be a positive"),
    "epsilon word": (table(), [*COMMON, "--epsilon", "much"], "epsilon"),
    "delta zero": (table(), [*COMMON, "--delta", "0"], "Delta must lie strictly between"),
    "delta one": (table(), [*COMMON, "--delta", "1"], "Delta must lie strictly between"),
    "unknown label": (table(), [*COMMON, "--label", "klass"], "klass"),
    "unknown column": (table(), [*COMMON, "--columns", "a,zz"], "zz"),
    "unknown unit": (table(), [*COMMON, "--unit", "person"], "unit"),
    "one class": ([[*r[:2], "c0"] for r in table()], [*COMMON, "--classes", "c0"], "two classes"),
    "one class in the data": (
        [[*r[:2], "c0"] for r in table()],
        [*COMMON[:-2], "--classes-from-data"],
        "two classes",
    ),
    "no class list": (table(), COMMON[:-2], "--classes a,b,c"),
    "label that is not a class": (with_cell(3, 2, "hello"), COMMON, "class list"),
    "no rows": ([], COMMON, "rows"),
    "class outside the list": (table(), [*COMMON, "--classes", "c0,c1"], "class list"),
    "class twice": (table(), [*COMMON, "--classes", "c0,c1,c2,c2"], "distinct"),
    "record without bounds": (table(), [*COMMON, "--unit", "record"], "radius"),
    "bad bounds": (table(), [*COMMON, "--unit", "record", "--bounds", "5"], "--bounds LO,HI"),
    "bounds crossed": (table(), [*COMMON, "--unit", "record", "--bounds", "5,1"], "lo < hi"),
    "small class, published": (
        tiny_class(),
        [*COMMON, "--mechanism", "published"],
        "Class 'c1' has 3 rows",
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::privgmm.PrivacyLeakWarning")
def test_refused_with_one_sentence(name, tmp_path, capfd):
    rows, options, words = CASES[name]
    data, out = write(tmp_path / "data.csv", rows), tmp_path / "out"
    out.mkdir()
    code = run(["release", str(data), *options, "-o", str(out / "release.json")])
    said = capfd.readouterr()
    sentences = [line for line in said.err.splitlines() if not line.startswith("Warning: ")]
    assert code == 2, said.err
    assert len(sentences) == 1
    assert words in sentences[0]
    assert "hello" not in said.err + said.out
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["release", "{dir}/none.csv", *COMMON],
        ["release", "{dir}", *COMMON],
        ["release", "{dir}/empty.csv", *COMMON],
        ["release", "{dir}/empty.parquet", *COMMON],
        ["release", "{dir}/data.csv", *COMMON, "-o", "{dir}/no/such/folder/r.json"],
        ["release", "{dir}/data.csv", *COMMON, "-o", "{dir}"],
        ["show", "{dir}/none.json"],
        ["show", "{dir}/data.csv"],
        ["sample", "{dir}/data.csv", "-n", "5", "-o", "{dir}/out.csv"],
        ["sample", "{dir}/none.json", "-n", "5", "-o", "{dir}/out.csv"],
        ["sample", "{dir}/none.json", "-n", "0", "-o", "{dir}/out.csv"],
        ["sample", "{dir}/none.json", "-n", "5", "-o", "{dir}/out.txt"],
        ["relaese"],
        ["release"],
        ["release", "--no-such-option"],
    ],
)
@pytest.mark.filterwarnings("ignore::privgmm.PrivacyLeakWarning")
def test_unusable_files_and_commands(arguments, tmp_path, capfd):
    write(tmp_path / "data.csv", table())
    (tmp_path / "empty.csv").touch()
    (tmp_path / "empty.parquet").touch()
    before = sorted(tmp_path.iterdir())
    code = run([part.replace("{dir}", str(tmp_path)) for part in arguments])
    said = capfd.readouterr()
    assert code == 2
    assert len([line for line in said.err.splitlines() if not line.startswith("Warning")]) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_an_unexpected_failure_shows_no_values(monkeypatch, tmp_path, capfd):
    def explode(*_args, **_kwargs):
        raise RuntimeError(f"row 17 holds {SECRET}")

    monkeypatch.setattr("privgmm.curate.release", explode)
    data = write(tmp_path / "data.csv", table())
    code = run(["release", str(data), *COMMON, "-o", str(tmp_path / "r.json")])
    said = capfd.readouterr()
    assert code == 1
    assert SECRET not in said.err + said.out
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sample", "r.json", "-n", str(10**30), "-o", "s.csv"], "at most"),
        (["sample", "r.json", "-n", str(10**14), "-o", "s.csv"], "do not fit"),
        (["sample", "r.json", "-n", "3", "--seed", "-1", "-o", "s.csv"], "A seed must be"),
        (["sample", "r.json", "-n", "3", "-o", "r.json"], ".csv, .parquet or .xlsx"),
        (["report", "r.json", "-o", "r.json"], "this command reads it"),
        (["release", "t.csv", *COMMON, "--seed", "-1", "-o", "o.json"], "A seed must be"),
        (["release", "t.csv", *COMMON, "--epsilon", "1e200", "-o", "o.json"], "at most 1e+06"),
        (["release", "t.csv", *COMMON, "-o", "t.csv"], "this command reads it"),
        (["release", "t.csv", *COMMON, "--ledger", "l.db", "-o", "l.db"], "this command reads it"),
        (["release", "t.csv", *COMMON, "-o", "x" * 300], "Cannot write"),
        (["audit", "--seed", "-1"], "A seed must be"),
    ],
)
@pytest.mark.filterwarnings("ignore::privgmm.PrivacyLeakWarning")
def test_found_by_fuzzing(arguments, words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", table())
    (tmp_path / "r.json").write_bytes(small_release())
    (tmp_path / "l.db").write_bytes(b"a ledger, say")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code = run(arguments)
    said = capfd.readouterr().err
    assert code == 2, said
    assert words in said
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def small_release():
    mixture = Mixture([0.5, 0.5], [[0.0, 0.0]] * 2, [np.eye(2)] * 2, ("u", "v"))
    guarantee = Guarantee("proven", "label", "label", 1.0, 1e-5, 0.26, True)
    return dump(Release(mixture, guarantee)).encode()


def test_a_name_that_cannot_be_printed_is_no_failure(tmp_path, monkeypatch):
    """The file is written; a terminal that lacks its letters must not turn that into exit 1."""
    (tmp_path / "r.json").write_bytes(small_release())
    monkeypatch.chdir(tmp_path)
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr("sys.stdout", out)
    for name in ("\u00e9.csv", "\udcff.csv", "\x1b[2J.csv"):
        assert run(["sample", "r.json", "-n", "3", "-o", name]) == 0
    out.flush()
    assert b"\x1b" not in out.buffer.getvalue()


def test_messages_hold_no_control_characters(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(["show", "\x1b[2J\u202e"]) == 2
    assert capfd.readouterr().err.isascii()
