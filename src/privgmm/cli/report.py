"""``privgmm report``: one self-contained HTML page about a release."""

from __future__ import annotations

from pathlib import Path

from privgmm.cli.progress import working
from privgmm.cli.terminal import plain
from privgmm.errors import InputError
from privgmm.files import check_target
from privgmm.releases import Release


def run(path: Path, output: Path, reference: Path | None, label: str | None) -> None:
    from privgmm.report import write_report

    check_target(output, path, reference)
    release = Release.load(path)
    rows = None
    if reference is not None:
        from privgmm.frames import read_table
        from privgmm.transform import apply_all

        table = read_table(
            reference,
            columns=list(release.feature_names),
            label=label or release.label_name,
        )
        if table.labels is None:
            raise InputError("The reference needs labels; name the column with --label.")
        rows = (apply_all(release.preprocessing, table.X), table.labels)
    with working("Drawing the report"):
        write_report(release, output, reference=rows)
    print(f"Wrote {plain(output)}.")
    if rows is not None:
        print("Note: it shows the private reference; keep this copy inside.")
