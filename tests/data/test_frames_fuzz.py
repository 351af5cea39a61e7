"""Whatever the bytes: a table or one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.some import Rows, in_memory, of_memory, streamed

from privgmm.errors import InputError

EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

# A marker in every text cell: if it turns up in a message, a record's value leaked.
cells = st.one_of(
    st.floats(width=64).map(repr),
    st.integers().map(str),
    st.sampled_from(
        ["", "NA", "nan", "inf", "1e308", "-1e309", "5e-324", " 7 ", "zqsecretqz", '"zqsecretqz"',
         "=1+1", "1,5", '"', "\0", "true", "\u200b", "\U0001f600", "0x1p3", "1_000", "\r"]
    ),
)  # fmt: skip
names = st.sampled_from(
    ["a", "b", "y", "", "=cmd()", "é", "a.b", "0", "5.5", '"q,r"', "\u202e", "a"]
)

# A zero byte marks a file that is not text.
labels = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)


def outcome(path: Path, label: str | None) -> Rows | str:
    try:
        table = in_memory(path, label=label)
    except InputError as refused:
        with pytest.raises(InputError):
            streamed(path, label=label)
        return str(refused)
    passes = streamed(path, label=label)
    assert np.array_equal(passes.X, table.X)
    assert np.array_equal(passes.labels, table.labels)
    return table


def check(result: Rows | str) -> None:
    if isinstance(result, str):
        assert "zqsecretqz" not in result
        assert "\n" not in result
        assert result.rstrip().endswith(".")
        return
    assert np.isfinite(result.X).all()
    assert result.X.shape[1] == result.dim == (len(set(result.feature_names)) or result.dim)
    if result.labels is not None:
        assert result.labels.shape == (result.n_rows,)
        assert not any(v is None or v != v for v in result.labels.tolist())
        # Beside an array an empty text is a class name like any other.
        assert result.feature_names == () or "" not in result.labels.tolist()


@EXAMPLES
@given(
    header=st.lists(names, min_size=1, max_size=5),
    rows=st.lists(st.lists(cells, min_size=1, max_size=5), max_size=6),
    label=st.sampled_from([None, "y", "nope"]),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_text_of_cells(
    tmp_path: Path, header: list[str], rows: list[list[str]], label: str | None, newline: str
) -> None:
    path = tmp_path / "t.csv"
    text = newline.join([",".join(header), *(",".join(row) for row in rows)])
    path.write_bytes(text.encode())
    check(outcome(path, label))


@pytest.mark.slow
@EXAMPLES
@given(rows=st.lists(st.tuples(st.floats(width=64), st.floats(), labels), max_size=6))
def test_regular_rows(tmp_path: Path, rows: list[tuple[float, float, str]]) -> None:
    """Rows of the right shape are accepted exactly when every cell is usable."""
    path = tmp_path / "t.csv"
    lines = [f'{a!r},{b!r},"{y.replace(chr(34), chr(34) * 2)}"' for a, b, y in rows]
    path.write_text("\n".join(["a,b,y", *lines]), encoding="utf-8", newline="")
    result = outcome(path, "y")
    check(result)
    usable = rows and all(np.isfinite(a) and np.isfinite(b) and y for a, b, y in rows)
    assert isinstance(result, Rows) == bool(usable)
    if isinstance(result, Rows):
        assert result.X.tolist() == [[a, b] for a, b, _ in rows]


@EXAMPLES
@given(data=st.binary(max_size=200), name=st.sampled_from(["t.csv", "t.parquet", "t.csv.gz", "t"]))
def test_bytes(tmp_path: Path, data: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    check(outcome(path, None))
    path.unlink()


@EXAMPLES
@given(at=st.integers(0, 10_000), value=st.integers(0, 255))
def test_damaged_parquet(tmp_path: Path, at: int, value: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": np.arange(50.0), "y": ["u", "v"] * 25}), path)
    data = bytearray(path.read_bytes())
    data[at % len(data)] = value
    path.write_bytes(bytes(data))
    check(outcome(path, "y"))


@EXAMPLES
@given(
    rows=st.lists(
        st.lists(st.one_of(st.none(), st.floats(), st.integers(), st.text(max_size=3)), max_size=3),
        max_size=4,
    ),
    y=st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=2), st.booleans()), max_size=4),
)
def test_python_objects(rows: list[list[object]], y: list[object]) -> None:
    try:
        check(of_memory(rows, y=y))
    except InputError as refused:
        check(str(refused))
