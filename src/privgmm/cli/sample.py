"""``privgmm sample``: synthetic rows to CSV or Parquet, in constant memory."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from privgmm.checks import checked_count, checked_seed
from privgmm.cli.progress import counting
from privgmm.cli.terminal import plain
from privgmm.errors import InputError
from privgmm.files import check_target, whole_file
from privgmm.releases import Release

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def run(path: Path, n: int, output: Path, per_class: bool, seed: int | None) -> None:
    from privgmm.releases.rows import write_rows

    if output.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"Name the output .csv or .parquet, got {output.name!r}.")
    if n < 1:
        raise InputError(f"Ask for at least one row, got -n {n}.")
    checked_count(n)
    checked_seed(seed)
    check_target(output, path)
    release = Release.load(path)
    total = n * release.mixture.n_classes if per_class else n
    # Eight bytes a number in Parquet and about twice as many in CSV.
    if 8 * total * len(release.feature_names) > shutil.disk_usage(output.parent).free:
        raise InputError(f"{total:,} rows do not fit where {output} should be; ask for fewer.")
    with counting(f"Sampling {total:,} rows", total) as progress, whole_file(output) as temporary:
        write_rows(release, n, temporary, output.suffix.lower(), per_class, seed, progress)
    print(f"Wrote {plain(output)}.")
    if output.suffix.lower() == ".csv" and _formulas(release):
        print(
            "Warning: some names in this release begin like a formula, and a spreadsheet may run them; "
            "trust its author, or sample to .parquet.",
            file=sys.stderr,
        )


def _formulas(release: Release) -> bool:
    """Whether a text that goes into cells begins as a formula does; numbers such as -1 do not count."""
    texts = (*release.feature_names, release.label_name, *release.mixture.classes)
    return any(isinstance(text, str) and text.startswith(_FORMULA_STARTS) for text in texts)
