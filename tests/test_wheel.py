"""``make wheel``: what it builds runs in an environment that holds nothing else of this project."""

import os
import subprocess
import sys
import sysconfig
import venv

import pytest
from hatchling import build

import privgmm


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The command of a wheel in a fresh environment; libraries come from this one, so no network is needed."""
    folder = tmp_path_factory.mktemp("wheel")
    here = os.getcwd()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        wheel = folder / build.build_wheel(str(folder))
    finally:
        os.chdir(here)
    home = folder / "environment"
    venv.create(home, with_pip=False)
    python = str(home / "bin" / "python")
    words = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *words], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    libraries = home / "lib" / version / "site-packages" / "libraries.pth"
    libraries.write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def run(*words):
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(words, env=clean, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_wheel_says_its_version(installed):
    assert run(installed / "privgmm", "--version") == f"privgmm {privgmm.__version__}\n"
    where = run(installed / "python", "-c", "import privgmm; print(privgmm.__file__)")
    assert where.startswith(str(installed.parent))


@pytest.mark.slow
def test_the_wheel_releases(installed, tmp_path):
    table = tmp_path / "table.csv"
    rows = [f"{i % 7},{i % 11},{'ab'[i % 2]}" for i in range(200)]
    table.write_text("x,y,kind\n" + "\n".join(rows) + "\n")
    out = tmp_path / "release.json"
    words = ["--label", "kind", "--unit", "label", "--classes", "a,b", "--epsilon", "1"]
    run(installed / "privgmm", "release", table, *words, "--delta", "1e-5", "-o", out)
    run(installed / "privgmm", "report", out, "-o", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000
