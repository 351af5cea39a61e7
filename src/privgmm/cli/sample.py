"""``privgmm sample``: synthetic rows to CSV or Parquet, in constant memory."""

from __future__ import annotations

from pathlib import Path

from privgmm.cli.progress import working
from privgmm.errors import InputError
from privgmm.files import whole_file
from privgmm.releases import Release


def run(path: Path, n: int, output: Path, per_class: bool, seed: int | None) -> None:
    from privgmm.releases.rows import write_rows

    if output.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"Name the output .csv or .parquet, got {output.name!r}.")
    if n < 1:
        raise InputError(f"Ask for at least one row, got -n {n}.")
    release = Release.load(path)
    with working(f"Sampling {n:,} rows"), whole_file(output) as temporary:
        write_rows(release, n, temporary, output.suffix.lower(), per_class, seed)
    print(f"Wrote {output}.")
