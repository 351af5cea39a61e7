"""The package's front door: its public names and version, and the types that are defined once."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import privgmm
from privgmm import types

SOURCE = Path(privgmm.__file__).parent
SHARED = {name for name in vars(types) if name[0].isupper()} - {"Any", "Literal", "NDArray"}


def test_the_public_names_are_shown_and_lead_somewhere():
    assert set(dir(privgmm)) == {*privgmm.__all__, "__version__"}
    for name in privgmm.__all__:
        assert getattr(privgmm, name).__doc__, name


def test_listing_the_names_loads_nothing():
    code = "import sys, privgmm; dir(privgmm); print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("unit", [["label"], ["record", "--radius", "20"]])
def test_a_release_command_loads_only_what_it_uses(tmp_path, unit):
    """Half of the time of a small release was spent on importing these."""
    table = tmp_path / "t.csv"
    rows = np.random.default_rng(0).normal(size=(300, 2)).round(3)
    lines = [f"{a},{b},{'xy'[i % 2]}\n" for i, (a, b) in enumerate(rows)]
    table.write_text("a,b,k\n" + "".join(lines))
    code = (
        "import sys; from privgmm.cli import run; code = run(sys.argv[1:]); "
        "print(code, sorted({'sklearn', 'pandas', 'matplotlib', 'scipy.signal', 'scipy.stats', 'scipy.optimize', 'dp_accounting'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, "release", table, "--label", "k", "--classes", "x,y"]
    command += ["--unit", *unit, "--epsilon", "1", "--delta", "1e-5", "-o", tmp_path / "r.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_release_names_the_version_that_made_it():
    from privgmm.releases.release import software_versions

    assert software_versions()["privgmm"] == privgmm.__version__


def test_shared_types_are_defined_in_one_place():
    again = [
        f"{path.relative_to(SOURCE)}: {target.id}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path != SOURCE / "types.py"
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in SHARED
    ]
    assert {"Floats", "Integers", "Codes", "ClassName", "Mechanism"} <= SHARED
    # The paper's neighbouring relations are others than those of the proven mechanism.
    assert again == ["published/neighbours.py: Adjacency"]
