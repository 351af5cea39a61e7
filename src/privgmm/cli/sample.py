"""``privgmm sample``: synthetic rows to CSV, Parquet or a spreadsheet, in constant memory."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

from privgmm.checks import checked_count, checked_seed
from privgmm.cli.stated import listed
from privgmm.cli.terminal import counting, plain
from privgmm.errors import InputError
from privgmm.files import check_target, whole_file
from privgmm.model.schema import Schema
from privgmm.releases import Release

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def run(
    path: Path,
    n: int,
    output: Path,
    per_class: bool,
    seed: int | None,
    overwrite: bool = False,
    given: str | None = None,
    schema: Path | None = None,
) -> None:
    """``privgmm sample``: synthetic rows into a file."""
    from privgmm.releases.rows import check_sheet, write_rows

    if output.suffix.lower() not in (".csv", ".parquet", ".xlsx"):
        raise InputError(f"Name the output .csv, .parquet or .xlsx, got {output.name!r}.")
    if n < 1:
        raise InputError(f"Ask for at least one row, got -n {n}.")
    if given is not None and per_class:
        raise InputError("Give --per-class or --given, not both.")
    checked_count(n)
    checked_seed(seed)
    check_target(output, path, overwrite=overwrite)
    release = Release.load(path)
    if schema is not None:
        release = _stated(release, Schema.load(schema))
    total = n * release.mixture.n_classes if per_class else n
    if output.suffix.lower() == ".xlsx":
        check_sheet(total)
    # A number takes eight bytes in Parquet and about sixteen in CSV.
    if 8 * total * len(release.feature_names) > shutil.disk_usage(output.parent).free:
        raise InputError(f"{total:,} rows do not fit where {output} should be; ask for fewer.")
    with counting(f"Sampling {total:,} rows", total) as progress, whole_file(output) as temporary:
        write_rows(
            release, n, temporary, output.suffix.lower(), per_class, seed, progress, _given(given)
        )
    print(f"Wrote {plain(output)}.")
    if output.suffix.lower() == ".csv" and _formulas(release):
        print(
            "Warning: some names in this release begin like a formula, and a spreadsheet may run them; "
            "trust its author, or sample to .parquet.",
            file=sys.stderr,
        )


def _stated(release: Release, schema: Schema) -> Release:
    """The release with the ranges, integers and decimals of a schema file, where its own file states none."""
    if release.encoding is not None:
        raise InputError("This release holds what was stated of its columns; leave --schema out.")
    by_name = {column.name: column for column in schema.columns}
    columns = tuple(by_name.get(column.name, column) for column in release.columns)
    special = next((column.name for column in columns if not column.plain), None)
    if special is not None:
        raise InputError(f"{special!r} was released as a number; state it as number or integer.")
    return replace(release, columns=columns)


def _given(text: str | None) -> dict[str, str] | None:
    """The conditions of COLUMN=VALUE,...: a pair that contains a comma stands in double quotes, and COLUMN= asks for a missing cell."""
    if text is None:
        return None
    pairs = [pair.partition("=") for pair in listed(text) or []]
    if not all(name and sign for name, sign, _ in pairs):
        raise InputError("State what is given as COLUMN=VALUE,COLUMN=VALUE.")
    return {name: value for name, _, value in pairs}


def _formulas(release: Release) -> bool:
    """Whether some text that goes into cells begins as a formula does; numbers such as -1 do not count."""
    levels = (level for column in release.columns for level in column.levels)
    texts = (*release.feature_names, release.label_name, *release.mixture.classes, *levels)
    return any(isinstance(text, str) and text.startswith(_FORMULA_STARTS) for text in texts)
