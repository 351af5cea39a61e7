"""A release does not wander: how often it changes rooms is counted and may not grow."""

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
