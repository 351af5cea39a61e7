"""What is packed: the package with its page templates and schema, and nothing that lies about."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling import build

ROOT = Path(__file__).parents[1]
RESOURCES = {
    "privgmm/py.typed",
    "privgmm/releases/release.schema.json",
    "privgmm/report/report.css",
    "privgmm/report/report.html.j2",
}


@pytest.fixture
def littered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project in which private tables were left."""
    copy = tmp_path / "project"
    copy.mkdir()
    shutil.copytree(
        ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE", "SECURITY.md"):
        shutil.copy(ROOT / name, copy)
    (copy / "data").mkdir()
    for stray in ("private.csv", "data/private.parquet", "src/private.csv", "demo.json"):
        (copy / stray).write_text("secret")
    monkeypatch.chdir(copy)
    return copy


def test_the_wheel_holds_the_package_alone(littered: Path, tmp_path: Path) -> None:
    packed = set(zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path))).namelist())
    code = {path for path in packed if path.startswith("privgmm/")}
    assert {path for path in code if not path.endswith(".py")} == RESOURCES
    assert {f"src/{path}" for path in code if path.endswith(".py")} == {
        path.relative_to(littered).as_posix() for path in littered.glob("src/privgmm/**/*.py")
    }
    assert all(path.split("/")[0].endswith(".dist-info") for path in packed - code)


def test_the_source_archive_leaves_strays_behind(littered: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / build.build_sdist(str(tmp_path))) as archive:
        packed = {path.partition("/")[2] for path in archive.getnames()}
    assert {path.split("/")[0] for path in packed} == {
        "src", "pyproject.toml", "README.md", "LICENSE", "SECURITY.md", "PKG-INFO"
    }  # fmt: skip
    assert {f"src/{path}" for path in RESOURCES} <= packed
