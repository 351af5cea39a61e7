"""Electricity load profiles, whole records protected: half-day profiles of homes, in log kWh.

The classes are computed from the profiles, so protecting labels would protect nothing: the unit is the
record. With PRIVGMM_DATA set to a folder that holds load_profiles.npz, real homes of several countries and
seasons are used (not the paper's data); otherwise an invented stand-in.
"""

import os
from pathlib import Path

import numpy as np

import privgmm
from privgmm.model import label_by_kmeans

HOURS = [f"{hour:02d}:00" for hour in range(12, 24)]


def invented_homes(n: int = 3000, seed: int = 0) -> np.ndarray:
    """Log consumption of n homes in three shapes: evening peak, flat, and daytime business."""
    rng = np.random.default_rng(seed)
    hours = np.arange(12)
    shapes = np.array(
        [
            -1.2 + 0.9 * np.exp(-(((hours - 7) / 2.5) ** 2)),
            -0.9 + 0.0 * hours,
            0.4 - 1.4 / (1 + np.exp(-(hours - 6.0))),
        ]
    )
    kind = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    level = 0.35 * rng.standard_normal((n, 1))
    return shapes[kind] + level + 0.2 * rng.standard_normal((n, 12))


folder = os.environ.get("PRIVGMM_DATA")
if folder and (Path(folder) / "load_profiles.npz").exists():
    stored = np.load(Path(folder) / "load_profiles.npz")
    homes = stored["pool_min10wh"] & (stored["pool_source"] != "PT")
    X, n_classes = np.log(stored["pool_kwh"][homes][:, 12:24]), 6
else:
    print("Invented homes (set PRIVGMM_DATA for real ones).")
    X, n_classes = invented_homes(), 3

y = label_by_kmeans(X, n_classes)
for epsilon in (1.0, 4.0):
    release = privgmm.release(
        X,
        y,
        epsilon=epsilon,
        delta=1e-5,
        unit="record",
        radius=10.0,
        center=-np.ones(12),
        classes=range(n_classes),
        feature_names=HOURS,
        label_name="profile",
    )
    kl = privgmm.kl_divergence(release.mixture, privgmm.fit(X, y))
    weights = ", ".join(f"{w:.2f}" for w in release.mixture.weights)
    print(f"epsilon {epsilon:g}: KL(released || fitted) {kl:.2f}, class weights {weights}")
print(release.guarantee.promise)
