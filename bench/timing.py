"""``python -m bench.timing``: does the time of a noise draw tell how large the noise is?

OpenDP's discrete Gaussian is sampled by rejection (Canonne, Kamath, Steinke 2020), so its time is
random. Single draws are timed by the processor time of the thread; only ratios and correlations are
printed, as the machine sets the rest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

SCALES = (2.0**20, 2.0**40, 1.1 * 2.0**40, 2.0**50)


@dataclass(frozen=True)
class Timing:
    """Draws at one scale. ``far_over_near``: median time of the largest tenth over the smallest."""

    scale: float
    median: float
    spread: float
    correlation: float
    p_value: float
    far_over_near: float


def sampler(scale: float) -> Callable[[], int]:
    """One draw per call, built once: the noise of ``privgmm.privacy.noise`` without its set-up."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    draw = make_gaussian(*space, scale=scale)
    return lambda: int(draw([0])[0])


def measured(scale: float, draws: int) -> Timing:
    draw = sampler(scale)
    for _ in range(100):
        draw()
    times, sizes = np.empty(draws), np.empty(draws)
    for i in range(draws):
        started = time.thread_time_ns()
        drawn = draw()
        times[i], sizes[i] = time.thread_time_ns() - started, abs(drawn)
    rank, p_value = spearmanr(sizes, times)
    order = np.argsort(sizes)
    tenth = draws // 10
    near, far = np.median(times[order[:tenth]]), np.median(times[order[-tenth:]])
    low, median, high = np.quantile(times, [0.1, 0.5, 0.9])
    return Timing(scale, float(median), float(high / low), float(rank), float(p_value), far / near)


def main(draws: int = 20_000) -> list[Timing]:
    found = [measured(scale, draws) for scale in SCALES]
    base = found[0].median
    print("scale (grid steps)  time  90%/10%  rank correlation with |noise|  far/near")
    for t in found:
        print(
            f"{t.scale:18.4g}  {t.median / base:4.2f}  {t.spread:7.2f}  "
            f"{t.correlation:+.4f} (p = {t.p_value:.2g})  {t.far_over_near:18.4f}"
        )
    return found


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
