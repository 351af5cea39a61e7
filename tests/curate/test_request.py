"""One request: an option is declared there and on the command line, and reaches a release by its name."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import privgmm
from privgmm.cli.options import ReleaseOptions
from privgmm.curate.request import ReleaseRequest
from privgmm.errors import InputError

SOURCE = Path(privgmm.__file__).parent


def _declares(path: Path, option: str) -> bool:
    """Whether a file has a parameter or a field of this name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.arg) and node.arg == option:
            return True
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == option:
            return True
    return False


@pytest.mark.parametrize("option", ["on_bad_row", "ledger_table"])
def test_an_option_is_declared_in_two_files(option: str) -> None:
    rooms = [*(SOURCE / "curate").glob("*.py"), *(SOURCE / "cli").glob("*.py")]
    found = [path for path in (*rooms, SOURCE / "estimator.py") if _declares(path, option)]
    assert {path.relative_to(SOURCE).as_posix() for path in found} == {
        "curate/request.py",
        "cli/options.py",
    }


def test_release_takes_and_explains_what_a_request_takes() -> None:
    assert inspect.signature(privgmm.release) == inspect.signature(ReleaseRequest)
    for option in fields(ReleaseRequest):
        assert option.name in (privgmm.release.__doc__ or "")


def test_options_of_the_command_line_go_by_their_names() -> None:
    taken = {option.name for option in fields(ReleaseRequest)}
    given = {option.name for option in fields(ReleaseOptions)}
    assert {"epsilon", "delta", "unit", "objective", "seed", "on_bad_row", "note"} <= taken & given


def test_the_estimator_hands_further_options_on() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.lognormal(size=(60, 2)), np.repeat([0, 1], 30)
    options = {"preprocessing": ["log"], "on_bad_row": "drop"}
    fitted = privgmm.PrivateGaussianMixture(classes=[0, 1], random_state=0, options=options)
    assert [step.kind for step in fitted.fit(X, y).release_.preprocessing] == ["log"]
    with pytest.raises(InputError, match="bad row"):
        fitted.set_params(options={"on_bad_row": "keep"}).fit(X, y)


def test_a_request_never_shows_its_rows() -> None:
    assert "12345" not in repr(ReleaseRequest([[12345.0]], ["a"]))
