"""``privgmm sample``: synthetic rows to CSV or Parquet, in constant memory."""

from __future__ import annotations

import shutil
from pathlib import Path

from privgmm.checks import checked_count, checked_seed
from privgmm.cli.progress import counting
from privgmm.cli.terminal import plain
from privgmm.errors import InputError
from privgmm.files import check_target, whole_file
from privgmm.releases import Release


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
