"""Reading CSV and Parquet: what is accepted, and one sentence for what is not."""

from __future__ import annotations

import datetime
import gzip
import os
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.data.some import in_memory, streamed

from privgmm.data.opening import open_rows
from privgmm.errors import InputError

SECRET = "8675309.25"


def write(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path, **options: Any) -> str:
    """The sentence of the refusal; both ways of reading must agree on it."""
    with pytest.raises(InputError) as whole:
        in_memory(path, **options)
    with pytest.raises(InputError) as chunks:
        streamed(path, **options)
    assert str(whole.value) == str(chunks.value)
    assert SECRET not in str(whole.value)
    assert "\n" not in str(whole.value)
    return str(whole.value)


def test_csv_with_integer_labels(tmp_path: Path) -> None:
    table = in_memory(write(tmp_path, "a,b,y\n1,2.5,7\n-3e2, 4 ,-1\n"), label="y")
    assert table.X.tolist() == [[1, 2.5], [-300, 4]]
    assert table.X.flags.c_contiguous
    assert table.X.dtype == np.float64
    assert table.labels is not None
    assert table.labels.tolist() == [7, -1]
    assert {type(label) for label in table.labels.tolist()} == {int}
    assert (table.feature_names, table.label_name) == (("a", "b"), "y")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["true", "false"], [True, False]),
        (["1.5", "2"], [1.5, 2.0]),
        (["1", "x"], ["1", "x"]),
        (["007", "7"], ["007", "7"]),
        (["1.0", "1.00"], ["1.0", "1.00"]),
        (["12345678901234567890", "12345678901234567891"], None),
        (["=1+1", "é\U0001f600"], ["=1+1", "é\U0001f600"]),
        (['"NA"', "b"], ["NA", "b"]),
        (["1e999", "2.0"], ["1e999", "2.0"]),
    ],
)
def test_labels_of_a_csv_keep_their_kind(
    tmp_path: Path, texts: list[str], expected: list[object] | None
) -> None:
    path = write(tmp_path, "a,y\n" + "".join(f"1,{t}\n" for t in texts))
    table = in_memory(path, label="y")
    passes = streamed(path, label="y")
    assert table.labels is not None
    assert passes.labels is not None
    assert table.labels.tolist() == (texts if expected is None else expected)
    assert [type(v) for v in table.labels.tolist()] == [type(v) for v in passes.labels.tolist()]


def test_columns_are_taken_in_the_order_asked(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,c,note\n1,2,3,x\n4,5,6,y\n")
    table = in_memory(path, columns=["c", "a"])
    assert table.X.tolist() == [[3, 1], [6, 4]]
    assert table.labels is None
    assert table.feature_names == ("c", "a")


def test_extreme_but_finite_numbers_pass(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1e308,5e-324\n1e308,-0.0\n")
    assert in_memory(path).X.tolist() == [[1e308, 5e-324], [1e308, -0.0]]


def test_odd_but_valid_csv(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf"a,1",y\r\n1,"line\nbreak"\r\n2,"say ""hi"""\r\n\r\n'
    table = in_memory(write(tmp_path, text), label="y")
    assert table.feature_names == ("a,1",)
    assert table.labels is not None
    assert table.labels.tolist() == ["line\nbreak", 'say "hi"']


def test_gzip(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.csv.gz")
    assert in_memory(path).X.tolist() == [[1, 2]]
    assert "readable CSV" in refusal(write(tmp_path, b"\x1f\x8b broken", "u.csv.gz"))


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (f"a,y\n{SECRET}x,u\n", {"label": "y"}, "Column 'a' of"),
        (
            f"a,y\n{SECRET},u\n,v\nNaN,w\ninf,\n",
            {"label": "y"},
            "'y' (1 missing), 'a' (2 missing, 1 infinite)",
        ),
        (f"a,b\n1,2\n{SECRET}\n3,4\n5,6,7\n", {}, "2 lines whose number of cells is not 2"),
        (f"a\n1\n\n{SECRET}\n", {}, "'a' (1 missing)"),
        ("a,a\n1,2\n", {}, "more than one column named 'a'"),
        ("a,b\n1,2\n", {"label": "z"}, "no label column 'z'; its columns are 'a', 'b'"),
        ("a,b\n1,2\n", {"columns": ["z"]}, "no column named 'z'; its columns are 'a', 'b'"),
        ("a,b\n1,2\n", {"columns": ["a", "a"]}, "names one of them twice"),
        ("a,b\n1,2\n", {"columns": ["a"], "label": "a"}, "cannot also be a feature"),
        ("a,b\n1,2\n", {"columns": "a"}, "a list of names"),
        ("a,b\n1,2\n", {"columns": []}, "no feature columns"),
        ("y\n1\n", {"label": "y"}, "no feature columns"),
        ("", {}, "is empty"),
        ("\n\n", {}, "is empty"),
        ("\nsecret,x\n1,2\n", {"label": "z"}, "first line of"),
        ("a,b", {"label": "b"}, "has no rows"),
        ("a,b\n", {"label": "b"}, "has no rows"),
        ("a,b\n\n\n", {"label": "b"}, "has no rows"),
        (f"{SECRET},x\n1,y\n", {"label": "z"}, "looks like data"),
        ("5,4,4\n1,2,3\n", {}, "looks like data"),
        ("7,secret\n1,y\n", {"label": "z"}, "looks like data"),
        (f"{'9' * 5000},a\n1,2\n", {}, "looks like data"),
        ("5,6,secret\n1,2,y\n", {"label": "z"}, "none of its 3 columns has that name"),
        (f"#{SECRET},secret\n1,y\n", {"label": "z"}, "none of its 2 columns has that name"),
        (f'"a,y\n{SECRET},secret"\n1,2\n', {"label": "z"}, "runs over several lines"),
        (",a\n0,1\n", {}, "without a name of its own"),
        ("a;b\n1;2\n", {}, "separates its cells by semicolons; give --separator ';'"),
        ("2.5|secret\n1|2\n", {"label": "z"}, "separates its cells by bars; give --separator '|'"),
        ("a,b\n1,2\n".encode("utf-16"), {}, "is written in UTF-16; give --encoding utf-16"),
        (b"a,\xff\n1,2\n", {}, "not written in utf-8; give --encoding"),
        (b"a,b\n1,\xff\n", {"label": "b"}, "UTF-8 text"),
        (f'a,b\n1,"{SECRET}\n2,3\n', {}, "Column 'b' of"),
    ],
)
def test_refusals_of_a_csv(
    tmp_path: Path, text: str | bytes, options: dict[str, object], sentence: str
) -> None:
    assert sentence in refusal(write(tmp_path, text), **options)


@pytest.mark.parametrize("header", ["0,1,y", "1,2,3", "0,y", "2019,2020,y", "400,410,420,y"])
def test_numbers_that_count_are_column_names(tmp_path: Path, header: str) -> None:
    row = ",".join("1" for _ in header.split(","))
    assert in_memory(write(tmp_path, f"{header}\n{row}\n")).n_rows == 1


@pytest.mark.parametrize(
    "text",
    [
        f"a,y\n{SECRET}x,u\n",
        f"a,y\n1,u\n2,v,{SECRET}\n",
        f"a,y\n1,u\n2,v,{SECRET}\n".encode() + b"1,\xff,3\n",
    ],
)
def test_not_even_a_traceback_shows_a_cell(
    tmp_path: Path, text: str | bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    """Arrow's own errors quote cells, so a refusal must not carry them as its context."""
    with pytest.raises(InputError) as refused:
        in_memory(write(tmp_path, text), label="y")
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert capfd.readouterr().err == ""


def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    """Tables are read more than once; the second reading of a pipe would start among the records."""
    os.mkfifo(tmp_path / "pipe.csv")
    assert "no ordinary file" in refusal(tmp_path / "pipe.csv")


def test_messages_list_at_most_ten_columns(tmp_path: Path) -> None:
    names = [f"c{j}" for j in range(30)]
    path = write(tmp_path, ",".join(names) + "\n" + ",".join(["x"] * 30) + "\n")
    message = refusal(path, label="nope")
    assert "'c9' and 20 more" in message
    assert "'c10'" not in message
    assert "'c9' and 20 more" in refusal(path)


def test_names_in_messages_are_readable_and_harmless(tmp_path: Path) -> None:
    path = write(tmp_path, f"größe,\u202eevil\x1b[2J,{'n' * 500},y\nx,x,x,u\n")
    message = refusal(path, label="y")
    assert "'größe'" in message
    assert "\u202e" not in message
    assert "\x1b" not in message
    assert len(message) < 400


@pytest.mark.slow
def test_very_many_columns(tmp_path: Path) -> None:
    names = [f"column {j}" for j in range(100_000)]
    path = write(tmp_path, ",".join(names) + "\n" + ",".join(["1"] * 100_000) + "\n")
    assert "and 99990 more" in refusal(path, label="nope")
    some = write(tmp_path, ",".join(names[:10_000]) + "\n" + ",".join(["1"] * 10_000) + "\n")
    assert in_memory(some).X.shape == (1, 10_000)


def test_unreadable_paths(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "absent.csv")
    assert "not usable" in refusal(Path("a\0b"))
    assert "no .csv, .parquet or .xlsx files" in refusal(tmp_path)
    (tmp_path / "deeper").mkdir()
    assert "below it are not read" in refusal(tmp_path)


def save(path: Path, **columns: object) -> Path:
    parquet.write_table(pa.table(columns), path)
    return path


def test_parquet_types(tmp_path: Path) -> None:
    path = save(
        tmp_path / "t.parquet",
        i=pa.array([1, 2], pa.int8()),
        h=pa.array([0.5, 1.5], pa.float16()),
        d=pa.array(["1.25", "2.5"]).cast(pa.decimal128(9, 2)),
        y=pa.array(["u", "v"]).dictionary_encode(),
    )
    table = in_memory(path, label="y")
    assert table.X.tolist() == [[1, 0.5, 1.25], [2, 1.5, 2.5]]
    assert table.labels is not None
    assert table.labels.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pa.array([3, 4], pa.uint16()), int),
        (pa.array([True, False]), bool),
        (pa.array([1.5, 2.5]), float),
        (pa.array(["a", "b"], pa.large_string()), str),
        (pa.array(["a", "b"], pa.string_view()), str),
        (pa.array([2**64 - 1, 0], pa.uint64()), int),
        (pa.array([5, 6]).dictionary_encode(), int),
    ],
)
def test_parquet_labels(tmp_path: Path, labels: pa.Array, kind: type) -> None:
    path = save(tmp_path / "t.parquet", a=[1.0, 2.0], y=labels)
    table = in_memory(path, label="y")
    assert table.labels is not None
    assert {type(label) for label in table.labels.tolist()} == {kind}
    assert table.labels.tolist() == labels.to_pylist()


@pytest.mark.parametrize(
    "labels",
    [
        [datetime.date(2020, 1, 1)],
        [datetime.datetime(2020, 1, 1)],
        [b"x"],
        [[1]],
        [{"k": 1}],
        [datetime.timedelta(1)],
    ],
)
def test_labels_without_plain_names_are_refused(tmp_path: Path, labels: list[object]) -> None:
    path = save(tmp_path / "t.parquet", a=[1.0], y=labels)
    assert "'y' of" in refusal(path, label="y")
    assert "Column 'y'" in refusal(path)


def test_parquet_refusals(tmp_path: Path) -> None:
    path = save(tmp_path / "t.parquet", a=[1.0, None, float("nan")], y=["u", None, ""])
    with pytest.raises(InputError, match=r"'y' \(2 missing\), 'a' \(2 missing\)"):
        in_memory(path, label="y")
    # The class list is read before the features, so passes refuse the labels first.
    with pytest.raises(InputError, match=r"'y' \(2 missing\)"):
        streamed(path, label="y")
    assert "'a' (2 missing)" in refusal(path, columns=["a"])
    assert "'a' (2 missing)" in refusal(save(tmp_path / "n.parquet", a=pa.nulls(2)))
    empty = save(tmp_path / "e.parquet", a=pa.array([], pa.float64()), y=pa.array([], pa.string()))
    assert "has no rows" in refusal(empty, label="y")
    assert "has no columns" in refusal(save(tmp_path / "z.parquet"))
    twice = pa.table([[1.0], [2.0]], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "d.parquet")
    assert "more than one column named 'a'" in refusal(tmp_path / "d.parquet")
    index = save(tmp_path / "i.parquet", a=[1.0], __index_level_0__=[0])
    assert "saved row index" in refusal(index)
    whole = path.read_bytes()
    for cut in (4, 20, len(whole) - 5):
        assert "readable Parquet" in refusal(write(tmp_path, whole[:cut], "cut.parquet"))
    assert "not a Parquet file" in refusal(write(tmp_path, b"hello", "text.parquet"))


def test_a_column_whose_name_is_a_prefix_of_another(tmp_path: Path) -> None:
    path = save(tmp_path / "t.parquet", **{"a": [1.0], "a.b": [2.0], "c": [3.0]})
    assert in_memory(path, columns=["a"]).X.tolist() == [[1]]
    assert in_memory(path, columns=["a.b", "a"]).X.tolist() == [[2, 1]]


def test_folders_are_read_in_name_order(tmp_path: Path) -> None:
    for k in (2, 0, 1):
        save(tmp_path / f"part-{k}.parquet", a=[float(k)] * 3, y=[f"class {k}"] * 3)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part.crc").touch()
    table = in_memory(tmp_path, label="y")
    assert table.X[:, 0].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert streamed(tmp_path, label="y").X.tolist() == table.X.tolist()
    write(tmp_path, "a,y\n1,u\n", "more.csv")
    assert "mixes kinds of parts" in refusal(tmp_path, label="y")


def test_parts_must_agree(tmp_path: Path) -> None:
    save(tmp_path / "0.parquet", a=[1.0], y=["u"])
    save(tmp_path / "1.parquet", b=[1.0], y=["u"])
    assert "the same columns" in refusal(tmp_path, label="y")
    save(tmp_path / "1.parquet", a=[1.0], y=[1])
    assert "different types" in refusal(tmp_path, label="y")
    save(tmp_path / "1.parquet", a=["x"], y=["u"])
    assert "Column 'a'" in refusal(tmp_path, label="y")


def test_csv_parts_agree_on_the_kind_of_label(tmp_path: Path) -> None:
    write(tmp_path, "a,y\n1,1\n", "0.csv")
    write(tmp_path, "y,a\nx,2\n", "1.csv")
    table = in_memory(tmp_path, label="y")
    assert table.labels is not None
    assert table.labels.tolist() == ["1", "x"]
    assert table.X.tolist() == [[1], [2]]
    passes = streamed(tmp_path, label="y")
    assert passes.labels is not None
    assert passes.labels.tolist() == ["1", "x"]


def test_a_late_change_of_type_is_not_lost_between_blocks(tmp_path: Path) -> None:
    """Integers for 20 MB, then decimals: inference from a first block would fail here."""
    rows = "1,1\n" * 5_000_000
    path = write(tmp_path, "a,y\n" + rows + "0.5,x\n")
    opened = open_rows(path, label="y")
    assert opened.classes == ("1", "x")
    assert opened.source.n_rows == 5_000_001
    assert opened.features.at(np.array([5_000_000])).tolist() == [[0.5]]
