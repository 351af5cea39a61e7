"""A survey on a five-point scale: which answers go with which job, with every respondent protected.

The picture shows released means with their 95 % intervals beside the true ones, which only the holder of
the table can draw.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import privgmm

JOBS = ("office", "care", "trade", "farm")
QUESTIONS = ("satisfied with pay", "would recommend", "too much work", "trusts management")


def respondents(n: int = 4000) -> pd.DataFrame:
    """Invented answers, 1 (not at all) to 5 (fully)."""
    rng = np.random.default_rng(0)
    job = rng.choice(4, size=n, p=[0.48, 0.22, 0.24, 0.06])
    centres = np.array(
        [[3.4, 3.2, 2.6, 3.0], [2.1, 3.4, 4.2, 2.8], [2.8, 2.9, 3.1, 3.1], [2.4, 3.9, 3.8, 4.0]]
    )
    mood = 0.5 * rng.standard_normal((n, 1)) * [1, 1, -1, 1]
    answers = np.clip(np.rint(centres[job] + mood + 0.8 * rng.standard_normal(mood.shape)), 1, 5)
    frame = pd.DataFrame(answers, columns=QUESTIONS)
    return frame.assign(job=np.array(JOBS)[job])


table = respondents()
release = privgmm.release(
    table,
    label="job",
    classes=JOBS,
    bounds={question: (1, 5) for question in QUESTIONS},  # the scale on the form
    unit="record",
    epsilon=1.0,
    delta=1e-5,
)
print(release.guarantee.promise)

interval = release.errors.intervals.means
figure = Figure(figsize=(8, 3.6), layout="constrained")
axes = figure.subplots()
for k, job in enumerate(JOBS):
    at = np.arange(len(QUESTIONS)) + 0.18 * (k - 1.5)
    means = release.mixture.means[k]
    true = table.loc[table["job"] == job, list(QUESTIONS)].mean()
    colour = ("#18619f", "#b8420f", "#0f7b55", "#8a4fa3")[k]
    share = f"{job}, {100 * release.mixture.weights[k]:.0f} %"
    axes.errorbar(
        at,
        means,
        yerr=[means - interval.low[k], interval.high[k] - means],
        fmt="o",
        color=colour,
        label=share,
    )
    axes.plot(at, true, "_", color="black", markersize=10, label="true mean" if k == 0 else None)
    print(f"{job:7} largest error of a mean: {np.abs(means - true.to_numpy()).max():.2f}")
axes.set(ylim=(1, 5), ylabel="mean answer", title="Released means and 95 % intervals, ε = 1")
axes.set_xticks(range(len(QUESTIONS)), QUESTIONS)
figure.legend(frameon=False, loc="outside right center", fontsize="small")
axes.spines[["top", "right"]].set_visible(False)
figure.savefig("survey.png", dpi=110)
