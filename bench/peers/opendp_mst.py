"""OpenDP's MST over mbi: columns in 20 equal parts of their ranges, (epsilon, delta) as its rho. Runs where opendp[mbi] is installed."""

import json
import math
import sys
import time

import numpy as np
import opendp.prelude as dp
import polars as pl

PARTS = 20
# With its default of 0.9 the sum of its own parts can be a bit more than the whole (rounding), and it refuses itself.
SPLITS = (0.9, 0.89, 0.88, 0.87, 0.86, 0.85)


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho whose zero-concentrated privacy is (epsilon, delta), by Canonne, Kamath and Steinke (2020)."""
    orders = 1 + np.geomspace(1e-3, 1e4, 4000)

    def least_delta(rho: float) -> float:
        log = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders)
        return float(np.exp((log - np.log(orders - 1)).min()))

    low, high = 0.0, epsilon + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if least_delta(middle) <= delta else (low, middle)
    return low


if __name__ == "__main__":
    train, facts, out, epsilon, delta, seed = sys.argv[1:]
    dp.enable_features("contrib")
    with open(facts) as file:
        stated = json.load(file)
    # The keys' type is the column's; numbers take one type.
    rows = pl.read_csv(train).with_columns(
        [pl.col(name).cast(pl.Float64) for name in stated["ranges"]]
    )
    cuts = {
        name: np.linspace(lo, hi, PARTS + 1).tolist() for name, (lo, hi) in stated["ranges"].items()
    }
    rho = math.floor(rho_of(float(epsilon), float(delta)) * 1e4) / 1e4
    for split in SPLITS:
        start = time.perf_counter()
        context = dp.Context.compositor(
            data=rows.lazy(),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=rho, delta=0.0),
        )
        query = context.query(rho=rho, delta=0.0).select(*rows.columns)
        keys = {stated["target"]: stated["classes"]}
        try:
            algorithm = dp.mbi.MST(measure_split=split)
            table = query.contingency_table(keys=keys, cuts=cuts, algorithm=algorithm).release()
            break
        except dp.OpenDPException as problem:
            if "insufficient budget" not in str(problem):
                raise
    else:
        sys.exit("OpenDP refuses every split of its budget.")
    made = table.synthesize(rows=len(rows), method="sample")
    print(time.perf_counter() - start)
    # Its outermost parts have no end, and it keeps a class for rows of none: neither is held against it.
    inside = [pl.col(name).clip(lo, hi) for name, (lo, hi) in stated["ranges"].items()]
    made = made.with_columns(inside).drop_nulls()
    made.write_csv(out)
