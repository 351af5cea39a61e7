"""diffprivlib's GaussianNB as a generator: a class by its prior, then each column from its bell. Runs where diffprivlib is installed."""

import json
import sys
import time

import numpy as np
import pandas as pd
from diffprivlib.models import GaussianNB

if __name__ == "__main__":
    train, facts, out, epsilon, delta, seed = sys.argv[1:]
    rows = pd.read_csv(train)
    with open(facts) as file:
        stated = json.load(file)
    names = list(stated["ranges"])
    low, high = np.array([stated["ranges"][name] for name in names]).T
    start = time.perf_counter()
    peer = GaussianNB(epsilon=float(epsilon), bounds=(low, high), random_state=int(seed))
    peer.fit(rows[names].to_numpy(), rows[stated["target"]].to_numpy())
    rng = np.random.default_rng(int(seed))
    codes = rng.choice(len(peer.classes_), len(rows), p=peer.class_prior_)
    X = rng.normal(peer.theta_[codes], np.sqrt(peer.var_[codes]))
    made = pd.DataFrame(np.clip(X, low, high), columns=names)
    made[stated["target"]] = peer.classes_[codes]
    print(time.perf_counter() - start)
    made.to_csv(out, index=False)
