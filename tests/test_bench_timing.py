"""The timing script runs and tells a sampler whose time follows its noise from one whose does not."""

import time
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def timing(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from bench import timing

    return timing


def test_the_real_sampler_is_measured(timing, capsys):
    found = timing.main(draws=200)
    assert [t.scale for t in found] == list(timing.SCALES)
    assert all(t.median > 0 and t.spread >= 1 for t in found)
    assert "rank correlation" in capsys.readouterr().out


def test_a_leaking_sampler_is_seen(timing, monkeypatch):
    rng = np.random.default_rng(0)

    def leaking(scale):
        def draw():
            size = int(abs(rng.standard_normal()) * 2000)
            stop = time.thread_time_ns() + 100 * size
            while time.thread_time_ns() < stop:
                pass
            return size

        return draw

    monkeypatch.setattr(timing, "sampler", leaking)
    found = timing.measured(1.0, 400)
    assert found.correlation > 0.8
    assert found.far_over_near > 2
