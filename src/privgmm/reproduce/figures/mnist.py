"""Section V-D: a GMM classifier of MNIST in principal components (figures 11 and 12, and what PCA does)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from privgmm.model import Mixture, fit
from privgmm.reproduce.figures.data import Labelled, components_source, mnist, mnist_source
from privgmm.reproduce.figures.methods import (
    ALL,
    BASELINES,
    DEPARTURES,
    PROVEN,
    PUBLISHED,
    RESAMPLED,
    DataCase,
    rows_of,
)
from privgmm.reproduce.harness.drawing import draw_lines, draw_pair
from privgmm.reproduce.harness.experiment import Experiment, Finding, Row, Study, Task, Verdict
from privgmm.reproduce.harness.findings import (
    below,
    kl_findings,
    proven_below_published,
    swept,
    trend,
    yes_if,
)
from privgmm.reproduce.harness.table import FigureTable

# The accuracy lost is measured on every fifth test image; the accuracy itself on all of them, for this many
# releases of a method in a trial.
_SOME, _JUDGES = 5, 10


def run(study: Study, task: Task) -> list[Row]:
    """KL and test accuracy; the accuracy of "non-private" is that of the fit itself."""
    swept = {"epsilon": study.number("epsilon"), "d": study.number("d"), study.x_name: task.x}
    data = mnist(task.trial, task.seed, int(study.number("n")), int(swept["d"]))
    fitted = fit(data.X, data.y)
    some = slice(None, None, _SOME)
    case = DataCase(data.X, data.y, fitted, swept["epsilon"], data.X_test[some], data.y_test[some])
    out = []
    for row, found in rows_of(study, task, case):
        if found is not None:
            judges = (fitted,) if row.method == RESAMPLED else found.releases[:_JUDGES]
            pairs = np.array([_accuracies(judge, data) for judge in judges])
            likelihood, prior = pairs.mean(axis=0)
            row = replace(row, accuracy=float(likelihood), accuracy_map=float(prior))
        out.append(row)
    return out


def _accuracies(judge: Mixture, data: Labelled) -> tuple[float, float]:
    """Two accuracies: by maximum likelihood, as the paper classifies, and with the released weights as prior."""
    even = Mixture(np.full(judge.n_classes, 1 / judge.n_classes), judge.means, judge.covariances)
    scores = even.log_joint(data.X_test)
    with np.errstate(divide="ignore"):
        weighted = scores + np.log(judge.weights)
    names = np.array(judge.classes)
    likelihood, prior = (
        float((names[s.argmax(axis=1)] == data.y_test).mean()) for s in (scores, weighted)
    )
    return likelihood, prior


def _accuracy(table: FigureTable, method: str, column: str = "accuracy") -> np.ndarray:
    """Mean at each point, missing where the method was left out."""
    return np.array([table.mean(column, method=method, x=x) for x in table.xs])


def _told(values: np.ndarray) -> str:
    return ", ".join(f"{v:.3f}" for v in values)


def _more_accurate(table: FigureTable, together: bool = False) -> Finding:
    """What this package demands, at every point or (``together``) of their mean; points that fail or are undecided are named."""
    rival, own = (table.matrix(m, "accuracy") for m in (PUBLISHED, PROVEN))
    ours, mine = (_accuracy(table, m) for m in (PROVEN, PUBLISHED))
    verdict: Verdict = "open"
    unsure: list[str] = []
    if own.size and together:
        verdict = below(*(m.mean(axis=1, keepdims=True) for m in (rival, own)))
        each = zip(table.xs, rival.T, own.T, strict=True)
        unsure = [f"{x:g}" for x, a, b in each if below(a[:, None], b[:, None]) == "open"]
    elif own.size:
        verdict = below(rival, own)
    lost = [f"{x:g}" for x, a, b in zip(table.xs, ours, mine, strict=True) if a < b]
    return Finding(
        f"proven is more accurate than published {'over all' if together else 'at every'} {swept(table)}",
        verdict,
        f"proven {_told(ours)} against {_told(mine)}"
        + (f"; not at {swept(table)} = {', '.join(lost)}" if lost else "")
        + (f"; by itself not decided at {swept(table)} = {', '.join(unsure)}" if unsure else ""),
        by="privgmm",
    )


def _check_accuracy(table: FigureTable) -> tuple[Finding, ...]:
    fitted, mine = (_accuracy(table, m) for m in (RESAMPLED, PUBLISHED))
    prior = np.subtract(*(_accuracy(table, m, "accuracy_map") for m in (RESAMPLED, PUBLISHED)))
    likelihood = fitted - mine
    best = np.max([_accuracy(table, m) for m in BASELINES], axis=0)
    return (
        Finding("published is close to the non-private accuracy: nearer to it than to any baseline's",
                yes_if(bool((likelihood < mine - best).all())),
                f"{likelihood.min():.3f} to {likelihood.max():.3f} below the fit's {fitted.mean():.3f} "
                f"(maximum likelihood, as in the paper; with the weights as prior {prior.min():.3f} to "
                f"{prior.max():.3f}); published {_told(mine)}"),
        Finding("published is above all baselines at every ε", yes_if(bool((mine > best).all())),
                f"best baseline {_told(best)}"),
        _more_accurate(table),
    )  # fmt: skip


def _check_epsilon(table: FigureTable) -> tuple[Finding, ...]:
    falls = trend(table, "falls", "in ε", same_data=True)
    return *kl_findings(table), replace(falls, by="privgmm")


def _check_pca(table: FigureTable) -> tuple[Finding, ...]:
    mine, fitted = (_told(_accuracy(table, m)) for m in (PUBLISHED, RESAMPLED))
    rise = trend(table, "rises", "in the number of components", same_data=True)
    return (
        replace(rise, claim="fewer principal components lower KL of published",
                evidence=f"{rise.evidence}; test accuracy {mine} against {fitted} of the fit"),
        proven_below_published(table),
        _more_accurate(table, together=True),
    )  # fmt: skip


_draw_pca = partial(draw_pair, columns=("kl", "accuracy"), titles=None)
_SETTINGS = {"n": 5000, "d": 5, "k": 10, "epsilon": 1.0, "delta": 1e-5}
_STUDY = Study("mnist", "epsilon", (0.5, 1, 2, 4, 8), ALL, _SETTINGS, mnist_source, run)
_FEW = (PROVEN, PUBLISHED, DEPARTURES, RESAMPLED)

EXPERIMENTS = (
    Experiment(
        "mnist-epsilon",
        "MNIST classifier: KL against the privacy level",
        "The proposed method has a significantly lower KL than the baselines.",
        _STUDY, ALL, _check_epsilon, draw_lines, "privacy level ε",
    ),
    Experiment(
        "mnist-accuracy",
        "MNIST classifier: test accuracy against the privacy level",
        "The proposed method's accuracy is close to the non-private one; the baselines suffer. Digits "
        "are told by maximum likelihood.",
        _STUDY, ALL, _check_accuracy, draw_lines, "privacy level ε", "accuracy",
    ),
    Experiment(
        "mnist-pca",
        "MNIST classifier: what the number of principal components does (ε = 1)",
        "Reducing the dimension by PCA lowers the noise that is needed, and so mitigates the growth of KL "
        "with d, while what the task needs is kept.",
        Study("mnist-pca", "d", (3, 5, 10), _FEW, _SETTINGS, components_source, run),
        _FEW, _check_pca, _draw_pca, "principal components d",
    ),
)  # fmt: skip
