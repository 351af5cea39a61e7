"""``privgmm show``, ``privgmm report`` and ``privgmm demo``: what a release holds, on the terminal or as one self-contained HTML page."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from privgmm.cli.terminal import plain, working
from privgmm.data import ArraySource
from privgmm.data.parts import TableFile
from privgmm.errors import InputError
from privgmm.files import check_target
from privgmm.model.schema import Schema
from privgmm.releases import Release
from privgmm.releases.release import UNLABELLED
from privgmm.types import Floats, Labels


def show(path: Path, as_json: bool, registry: bool) -> None:
    """``privgmm show``: what was promised and what is known."""
    if as_json and registry:
        raise InputError("Choose one of --json and --registry.")
    release = Release.load(path)
    if registry:
        from privgmm.releases.registry import registry_yaml

        print(registry_yaml(release), end="")
        return
    if as_json:
        from privgmm.releases.document import dump

        print(dump(release), end="")
        return
    from privgmm.releases.statement import print_statement

    print_statement(release)


def run(
    path: Path,
    output: Path,
    reference: TableFile | None,
    label: str | None,
    overwrite: bool = False,
    schema: Path | None = None,
) -> None:
    """``privgmm report``: one HTML page about a release."""
    from privgmm.report import write_report

    check_target(output, path, reference, overwrite=overwrite)
    release = Release.load(path)
    if schema is not None:
        label = label or Schema.load(schema).label
    rows = None
    if reference is not None:
        if label is None and release.label_name == UNLABELLED:
            raise InputError(
                "This release is of rows without labels, and a report sets private rows beside it class by class; "
                "name a column of such classes with --label, or leave --reference out."
            )
        rows = _rows(release, reference, label or release.label_name)
    with working("Drawing the report"):
        write_report(release, output, reference=rows)
    print(f"Wrote {plain(output)}.")
    if rows is not None:
        print("Note: it shows the private reference; keep this copy inside.")


def _rows(release: Release, reference: TableFile, label: str) -> tuple[Floats, Labels]:
    """The private rows, read as the release read them: its stated columns, and its rule for bad rows."""
    from privgmm.curate.statement import DROPPED, DROPPED_CELLS
    from privgmm.data.opening import open_rows

    opened = open_rows(
        reference,
        label=label,
        columns=release.feature_names,
        classes=release.mixture.classes,
        drop_bad=not {DROPPED, DROPPED_CELLS}.isdisjoint(release.guarantee.notes),
        in_memory=sys.maxsize,
        stated=release.columns,
    )
    source = opened.source
    assert isinstance(source, ArraySource)  # whatever its size
    kept = source.codes >= 0
    if not kept.any():
        raise InputError(f"{reference} has no rows of the release's classes.")
    return source.X[kept], np.take(release.mixture.class_array, source.codes[kept])


def demo(out: Path) -> None:
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
