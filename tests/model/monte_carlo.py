"""KL(q || p) of the joint law of (x, y) by drawing from q: an oracle for the closed form."""

import numpy as np


def kl_divergence_monte_carlo(q, p, n, seed):
    """From n draws: (estimate, standard error). q and p have the same classes in the same order."""
    X, y = q.sample(n, seed=seed)
    position = {name: k for k, name in enumerate(q.classes)}
    codes = np.array([position[name] for name in y.tolist()], dtype=np.intp)
    rows = np.arange(n)
    ratio = q.log_joint(X)[rows, codes] - p.log_joint(X)[rows, codes]
    return float(ratio.mean()), float(ratio.std(ddof=1) / np.sqrt(n))
