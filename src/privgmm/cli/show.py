"""``privgmm show``: a release in words and tables, or as JSON."""

from __future__ import annotations

from pathlib import Path

from privgmm.releases import Release


def run(path: Path, as_json: bool) -> None:
    release = Release.load(path)
    if as_json:
        from privgmm.releases.document import dump

        print(dump(release), end="")
        return
    from privgmm.releases.statement import print_statement

    print_statement(release)
