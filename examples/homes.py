"""Electricity of homes: half-day profiles in log kWh, many days a home, whole homes protected.

A meter gives many rows of one home, so protecting single rows would protect days. With ``person`` all rows
of a home are protected together, and each home counts once however many days it has. All columns share
one unit and vary together, so where profiles may lie is stated as a ball.
"""

import numpy as np
from matplotlib.figure import Figure

import privgmm

HOURS = [f"{hour:02d}:00" for hour in range(12, 24)]
TARIFFS = ("family", "single", "shop")


def invented_days(n_homes: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log consumption of days (rows, hours), the home of each row and its tariff; homes have 5 to 20 days."""
    rng = np.random.default_rng(0)
    hours = np.arange(12)
    shapes = np.array(
        [
            -1.0 + 1.1 * np.exp(-(((hours - 7) / 2.2) ** 2)),
            -1.6 + 0.4 * np.exp(-(((hours - 8) / 2.5) ** 2)),
            0.5 - 1.6 / (1 + np.exp(-1.5 * (hours - 6.5))),
        ]
    )
    tariff = rng.choice(3, size=n_homes, p=[0.5, 0.35, 0.15])
    profiles = shapes[tariff] + 0.3 * rng.standard_normal((n_homes, 1))
    home = np.repeat(np.arange(n_homes), rng.integers(5, 21, size=n_homes))
    days = profiles[home] + 0.3 * rng.standard_normal((home.size, 12))
    return days, home, np.array(TARIFFS)[tariff[home]]


days, home, tariff = invented_days()
release = privgmm.release(
    days,
    tariff,
    person=home,
    classes=TARIFFS,
    unit="record",
    epsilon=1.0,
    delta=1e-5,
    radius=8.0,
    center=np.full(12, -1.0),
    feature_names=HOURS,
    label_name="tariff",
)
print(release.guarantee.promise)
fitted = privgmm.fit(days, tariff, classes=TARIFFS, person=home)  # without privacy, for the holder

figure = Figure(figsize=(7, 3.6), layout="constrained")
axes = figure.subplots()
for k, name in enumerate(TARIFFS):
    mean = release.mixture.means[k]
    spread = np.sqrt(np.diagonal(release.mixture.covariances[k]))
    true = fitted.means[k]
    colour = ("#18619f", "#b8420f", "#0f7b55")[k]
    share = f"{name}, {100 * release.mixture.weights[k]:.0f} % of homes"
    axes.fill_between(HOURS, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    axes.plot(HOURS, mean, color=colour, label=share)
    axes.plot(HOURS, true, color=colour, linestyle=":", label=None if k else "true mean (dotted)")
    print(f"{name:7} largest error of an hour's mean: {np.abs(mean - true).max():.3f}")
axes.set(ylabel="log kWh", title="Released load profiles: mean and spread of days, ε = 1")
axes.legend(frameon=False, fontsize="small")
axes.spines[["top", "right"]].set_visible(False)
figure.savefig("homes.png", dpi=110)
