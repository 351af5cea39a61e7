"""dpmm's MST, as its example has it: epsilon for the model, and 0.1 more for its bins. Runs where dpmm is installed."""

import json
import sys
import time

import pandas as pd
from dpmm.pipelines import MSTPipeline

if __name__ == "__main__":
    train, facts, out, epsilon, delta, seed = sys.argv[1:]
    rows = pd.read_csv(train)
    with open(facts) as file:
        stated = json.load(file)
    domain = {name: {"lower": lo, "upper": hi} for name, (lo, hi) in stated["ranges"].items()}
    domain[stated["target"]] = {"categories": stated["classes"]}
    start = time.perf_counter()
    peer = MSTPipeline(epsilon=float(epsilon), delta=float(delta), n_jobs=1)
    peer.fit(rows, domain=domain, random_state=int(seed))
    made = peer.generate(n_records=len(rows), random_state=int(seed))
    print(time.perf_counter() - start)
    made.to_csv(out, index=False)
