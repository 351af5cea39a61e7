"""docs/api.md is what the docstrings say now."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_page_is_up_to_date():
    made = runpy.run_path(str(ROOT / "tools" / "api_page.py"))["page"]()
    stored = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert made == stored, "run: python tools/api_page.py"
