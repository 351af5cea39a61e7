"""The package's front door: its public names and version, and the types that are defined once."""

import ast
import subprocess
import sys
from pathlib import Path

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
