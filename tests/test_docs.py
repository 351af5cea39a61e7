"""Every snippet in README and docs runs: Python blocks in order, and privgmm commands of sh blocks."""

import re
import shlex
from pathlib import Path

import pytest

from privgmm.cli import run
from privgmm.datasets import synthetic

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    str(page.relative_to(ROOT)) for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = synthetic(200, 2, 2, seed=0)
    lines = [f"{a},{b},{('low', 'high')[k]}" for (a, b), k in zip(x, y, strict=True)]
    Path("table.csv").write_text("height,weight,risk\n" + "\n".join(lines) + "\n")
    namespace = {"__name__": "snippet"}
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, page, "exec"), namespace)
            continue
        for command in re.findall(r"^privgmm (.*)$", code, re.MULTILINE):
            assert run(shlex.split(command, comments=True)) == 0, command


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?://)([^)#]+)[^)]*\)", text):
        assert ((ROOT / page).parent / target).exists(), target
