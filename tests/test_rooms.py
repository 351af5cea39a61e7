"""A release does not wander: how often it changes rooms is counted and may not grow."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Before the rooms were joined a label-level release of a CSV changed rooms about 200 times and called
# 167 functions; threads interleave, hence the room above.
MOST_SWITCHES = 260


def test_a_label_level_release_changes_rooms_no_more_often_than_it_did():
    walk = runpy.run_path(str(ROOT / "tools" / "rooms.py"))["walk"]()
    assert 0 < walk.switches.total() <= MOST_SWITCHES
    assert walk.functions > 50
    assert any(call.room == "privacy" for call in walk.calls)
