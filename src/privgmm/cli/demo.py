"""``privgmm demo``: the main job on an embedded data set."""

from __future__ import annotations

from pathlib import Path

from privgmm.cli.terminal import plain, working
from privgmm.errors import InputError


def run(out: Path) -> None:
    """A proven label-level release of Iris at epsilon 1, delta 1e-5, its report and a sample."""
    from sklearn.datasets import load_iris

    from privgmm.cli import sample
    from privgmm.curate import release
    from privgmm.report import write_report

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"Cannot make the folder {out}: {problem.strerror}.") from None
    iris = load_iris()
    names = [str(name) for name in iris.target_names]
    with working("Releasing Iris with protected labels"):
        result = release(
            iris.data,
            iris.target_names[iris.target],
            epsilon=1.0,
            delta=1e-5,
            unit="label",
            classes=names,
            feature_names=[str(name) for name in iris.feature_names],
            label_name="species",
        )
    result.save(out / "release.json", replace=True)
    print(f"Wrote {plain(out / 'release.json')}: {result.guarantee.promise}")
    write_report(result, out / "report.html")
    print(f"Wrote {plain(out / 'report.html')}: open it in a browser.")
    sample.run(out / "release.json", 1000, out / "synthetic.csv", per_class=False, seed=None)
