"""A release does not wander: how often it changes rooms is counted and may not grow. Every type has a name of its own."""

import ast
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Half of what it was when the way in was two rooms and every helper was asked twice (200 to 204, by the same counter).
MOST_SWITCHES = 97


def test_a_label_level_release_changes_rooms_half_as_often_as_it_did():
    walk = runpy.run_path(str(ROOT / "tools" / "rooms.py"))["walk"]()
    assert 0 < walk.switches.total() <= MOST_SWITCHES
    assert walk.functions > 50
    assert any(call.room == "privacy" for call in walk.calls)


def test_no_two_types_share_a_name():
    owners: dict[str, list[str]] = {}
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.parse(file.read_text()).body:
            # Every level has its own tuned numbers under the same name.
            if isinstance(node, ast.ClassDef) and node.name != "Tuning":
                owners.setdefault(node.name, []).append(file.name)
    assert len(owners) > 200
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}
