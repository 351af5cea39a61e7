"""Section V-D, end to end: a network trained on synthetic rows, tested on real images (figure 13).

The paper's downstream classifier: d -> 256 -> 128 -> 10, ReLU, softmax loss, plain SGD, one epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.model import Mixture, fit
from privgmm.reproduce.figures.data import Labelled, mnist, mnist_source
from privgmm.reproduce.figures.methods import (
    PROVEN,
    PUBLISHED,
    DataCase,
    by_class,
    closeness,
    designed,
    proven_release,
)
from privgmm.reproduce.harness.drawing import Y_LABELS, new_figure, print_below, styled
from privgmm.reproduce.harness.experiment import Experiment, Finding, Row, Study, Task, stream
from privgmm.reproduce.harness.findings import below, sides, yes_if
from privgmm.reproduce.harness.table import FigureTable
from privgmm.types import Floats

F32 = NDArray[np.float32]
Rows = tuple[Floats, NDArray[np.intp]]
_HIDDEN = (256, 128)
_CLASSES, _BATCH, _RATE = 10, 128, 0.01
_REAL, _FITTED, _SYNTHETIC = "real rows", "non-private synthetic rows", "synthetic rows"
_METHODS = (PROVEN, PUBLISHED, _FITTED, _REAL)
_SHOWN = 0.6  # of the highest accuracy: where the axis starts
# Small to large epsilon, dark to light, readable without hue.
_SHADES = ("#440154", "#31688E", "#35B779", "#C8B400")
_SOME = 5  # curves are measured on every fifth test image, final accuracies on all


@dataclass
class Network:
    """Weights and biases of each layer, updated in place."""

    weights: list[F32]
    biases: list[F32]

    @classmethod
    def initial(cls, dim: int, n_classes: int, rng: np.random.Generator) -> Network:
        """Gaussian weights of variance 2 / fan-in (He et al. 2015) and zero biases."""
        sizes = (dim, *_HIDDEN, n_classes)
        weights = [
            (rng.standard_normal((a, b)) * np.sqrt(2 / a)).astype(np.float32)
            for a, b in pairwise(sizes)
        ]
        return cls(weights, [np.zeros(b, np.float32) for b in sizes[1:]])

    def layers(self, X: F32) -> list[F32]:
        """Input, hidden activations and logits."""
        out = [X]
        last = len(self.weights) - 1
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = out[-1] @ w + b
            out.append(z if i == last else np.maximum(z, 0))
        return out

    def gradients(self, X: F32, y: NDArray[np.intp]) -> list[tuple[F32, F32]]:
        """Gradients of the mean cross-entropy by (weights, biases), first layer first."""
        layers = self.layers(X)
        logits = layers[-1] - layers[-1].max(axis=1, keepdims=True)
        back = np.exp(logits)
        back /= back.sum(axis=1, keepdims=True)
        back[np.arange(len(y)), y] -= 1
        back /= len(y)
        out: list[tuple[F32, F32]] = []
        for i in range(len(self.weights) - 1, -1, -1):
            out.append((layers[i].T @ back, back.sum(axis=0)))
            back = (back @ self.weights[i].T) * (layers[i] > 0)
        return out[::-1]

    def step(self, X: F32, y: NDArray[np.intp], rate: float) -> None:
        """One step of gradient descent on a batch."""
        for i, (dw, db) in enumerate(self.gradients(X, y)):
            self.weights[i] -= np.float32(rate) * dw
            self.biases[i] -= np.float32(rate) * db

    def accuracy(self, X: F32, y: NDArray[np.intp]) -> float:
        """The share of rows whose class is found."""
        return float((self.layers(X)[-1].argmax(axis=1) == y).mean())


def trained(
    X: NDArray[np.floating],
    y: NDArray[np.intp],
    seed: int,
    each: Callable[[Network], None] | None = None,
) -> Network:
    """One epoch of mini-batches over the rows in random order; ``each`` is called after every batch.

    Rows that do not fill a last batch are left out, as MATLAB (the paper's tool) does.
    """
    rng = np.random.default_rng(seed)
    network = Network.initial(X.shape[1], _CLASSES, rng)
    x = X.astype(np.float32)
    order = rng.permutation(len(x))
    for start in range(0, len(x) - _BATCH + 1, _BATCH):
        rows = order[start : start + _BATCH]
        network.step(x[rows], y[rows], _RATE)
        if each is not None:
            each(network)
    return network


def run(study: Study, task: Task) -> list[Row]:
    """All curves of one trial: the same starts and orders of batches for every training set.

    The curve is that of the first network, on every fifth test image; ``final`` is the accuracy on all of
    them, mean over ``runs`` networks, each with its own start, synthetic rows and published release.
    """
    data = mnist(task.trial, task.seed, int(task.x), int(study.number("d")))
    fitted, runs = fit(data.X, data.y), int(study.number("runs"))
    counts = len(data.X)

    def row(method: str, epsilon: float | None = None) -> Row:
        return Row(study.name, "iteration", 0, method, task.trial, study.source(), epsilon)

    # Common random numbers: runs of the same number share start, batches, noise and rows, so that what is left
    # between two privacy levels is what the level does.
    rows, draws = (
        [stream(task.seed, name, task.trial, i) for i in range(runs)] for name in ("rows", "draw")
    )

    def synthetic(mixtures: Sequence[Mixture]) -> list[Rows]:
        return [
            by_class(m, _histogram(m.weights, counts), seed)
            for m, seed in zip(mixtures, rows, strict=True)
        ]

    out = _learned(row(_REAL), [(data.X, data.y)] * runs, data, task)
    out += _learned(row(_FITTED), synthetic([fitted] * runs), data, task)
    for epsilon in map(float, str(study.settings["epsilons"]).split(",")):
        case = DataCase(data.X, data.y, fitted, epsilon, data.X_test, data.y_test)
        design = designed(PUBLISHED, case)
        released = {PUBLISHED: [design.draw(draw) for draw in draws]}
        if PROVEN in study.methods:
            seed = stream(task.seed, study.name, epsilon, task.trial, PROVEN)
            released[PROVEN] = [proven_release(case, seed)] * runs
        for method, mixtures in released.items():
            sets = synthetic(mixtures)
            found = _learned(row(method, epsilon), sets, data, task)
            numbers: dict[str, Any] = closeness(list(dict.fromkeys(mixtures)), fitted, case)
            found[-1] = replace(found[-1], **numbers)
            out += found
    return out


def _learned(row: Row, sets: list[Rows], data: Labelled, task: Task) -> list[Row]:
    """A row for each batch of the first network; the last also has the mean final accuracy of all."""
    x_test, x_some = (x.astype(np.float32) for x in (data.X_test, data.X_test[::_SOME]))
    curve: list[float] = []
    final: list[float] = []

    def note(network: Network) -> None:
        curve.append(network.accuracy(x_some, data.y_test[::_SOME]))

    for i, (X, y) in enumerate(sets):
        start = stream(task.seed, "network", task.trial, i)
        network = trained(X, y, start, note if i == 0 else None)
        final.append(network.accuracy(x_test, data.y_test))
    out = [replace(row, x=i, accuracy=a) for i, a in enumerate(curve, start=1)]
    out[-1] = replace(out[-1], final=float(np.mean(final)))
    return out


def _histogram(weights: Floats, n: int) -> NDArray[np.intp]:
    """n rows in the proportions of the *released* weights, to the nearest row.

    The paper preserves "the class histogram"; the true one is private, so it is not used.
    """
    exact = weights / weights.sum() * n
    counts: NDArray[np.intp] = np.floor(exact).astype(np.intp)
    counts[np.argsort(counts - exact)[: n - counts.sum()]] += 1
    return counts


def _epsilons(table: FigureTable) -> list[float]:
    return sorted({row.epsilon for row in table.rows if row.epsilon is not None})


def _finals(table: FigureTable, method: str) -> Floats:
    """(trials, epsilons) of final accuracies; empty where the method was left out."""
    found = [table.where(method=method, epsilon=e).values("final") for e in _epsilons(table)]
    return np.array(found).T


def _check(table: FigureTable) -> tuple[Finding, ...]:
    ours, mine = (_finals(table, m) for m in (PROVEN, PUBLISHED))
    best = float(mine[:, -1].mean())
    real, fitted = (table.mean("final", method=m) for m in (_REAL, _FITTED))
    return (
        _ordered(mine),
        Finding("non-private synthetic rows train nearly as well as real rows: nearer to them than "
                "published at the largest ε", yes_if(abs(real - fitted) < abs(real - best)),
                f"{fitted:.3f} against {real:.3f}; published {best:.3f}"),
        Finding("proven trains better networks than published at every ε",
                below(mine, ours) if ours.size else "open",
                f"{_path(ours)} against {_path(mine)}", by="privgmm"),
    )  # fmt: skip


def _path(finals: Floats) -> str:
    return " → ".join(f"{v:.4f}" for v in finals.mean(axis=0)) if finals.size else "–"


def _ordered(finals: Floats) -> Finding:
    """Each step in epsilon by Wilcoxon's test over trials, each of which is a mean over runs."""
    claim, text = "final accuracy of published is ordered by ε", f"{_path(finals)} as ε grows"
    verdict = below(finals[:, :-1], finals[:, 1:])
    if verdict == "open" and len(finals) < 2:
        return Finding(claim, verdict, f"{text}; too few trials to tell")
    up = ", ".join(f"{p:.1g}" for p in sides(finals[:, :-1] - finals[:, 1:])[0])
    return Finding(claim, verdict, f"{text}; p of each step {up} (Wilcoxon, one-sided)")


def draw(experiment: Experiment, table: FigureTable) -> Any:
    """Published on the left, proven on the right; both with the two non-private references."""
    with styled():
        figure = new_figure(8.6, 3.9)
        figure.suptitle(experiment.title, x=0.01, ha="left")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, method in zip(panels, (PUBLISHED, PROVEN), strict=True):
            for name, colour, dash in ((_REAL, "#000000", "-"), (_FITTED, "#D55E00", "--")):
                _line(axes, table.curve(name, "accuracy"), name, colour, dash)
            for epsilon, colour in zip(_epsilons(table)[::-1], _SHADES[::-1], strict=False):
                curve = table.curve(method, "accuracy", epsilon=epsilon)
                _line(axes, curve, f"{_SYNTHETIC}, ε = {epsilon:g}", colour, "-")
            axes.set_title(method, fontweight="normal")
            axes.set_xlabel("iteration (batches of 128)")
        # The curves differ at their end; their common start would flatten that part.
        top = max(row.accuracy for row in table.rows if row.accuracy is not None)
        panels[0].set_ylim(bottom=_SHOWN * top)
        panels[0].set_ylabel(Y_LABELS["accuracy"])
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center",
                      title="trained on")  # fmt: skip
        print_below(figure, f"{table.rows[0].data}\nmean of {table.trials} trials, bands: 95 % interval of "
                            f"the mean; the axis starts at {100 * _SHOWN:.0f} % of the highest accuracy")  # fmt: skip
    return figure


def _line(axes: Any, curve: Any, label: str, colour: str, dash: str) -> None:
    axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.10, lw=0)
    axes.plot(curve.x, curve.mean, color=colour, ls=dash, lw=1.6, label=label)


EXPERIMENTS = (
    Experiment(
        "mnist-mlp",
        "Network trained on synthetic rows: accuracy against iteration",
        "A clear trade-off: a smaller ε gives a lower accuracy, consistently ordered; non-private "
        "synthetic rows come close to real ones.",
        Study("mnist-mlp", "rows", (5000,), _METHODS,
              {"d": 5, "k": 10, "delta": 1e-5, "epsilons": "0.5, 1, 2, 4", "runs": 10},
              mnist_source, run),
        _METHODS, _check, draw, "iteration", "accuracy",
    ),
)  # fmt: skip
