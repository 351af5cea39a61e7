"""What wide bounds cost at record level: ``python -m bench.bounds``.

Invented tables (5,000 rows, four columns, three classes, epsilon 1) are released with bounds that just hold the
rows and with bounds up to a hundred times as wide. Printed: how far off half, and nine in ten, of the means and
standard deviations are, in standard deviations.
"""

from __future__ import annotations

import numpy as np

import privgmm
from privgmm.plan.invent import Ranges, invent
from privgmm.plan.rehearsal import errors_of

ROWS, COLUMNS, CLASSES, RUNS = 5_000, 4, 3, 6
WIDER = (1, 3, 10, 100)


def main() -> None:
    """Print one line for every width."""
    ranges = Ranges((0.0,) * COLUMNS, (100.0,) * COLUMNS, (False,) * COLUMNS)
    print("bounds   a mean is off by    a standard deviation by")
    for wider in WIDER:
        means, deviations = [], []
        for seed in range(RUNS):
            X, y = invent(ROWS, CLASSES, COLUMNS, "bells", ranges, seed)
            bounds = (50 - 50.0 * wider, 50 + 50.0 * wider)
            released = privgmm.release(
                X, y, unit="record", bounds=bounds, classes=range(CLASSES), seed=seed
            )
            _, mean, deviation, _ = errors_of(released.mixture, X, y)
            means.append(mean)
            deviations.append(deviation)
        off = [
            f"{np.median(v):.3f} ({np.quantile(v, 0.9):.3f})"
            for v in map(np.concatenate, (means, deviations))
        ]
        print(f"{wider:5} x  {off[0]:19} {off[1]}", flush=True)


if __name__ == "__main__":
    main()
