"""``privgmm show``: a release in words and tables, or as JSON."""

from __future__ import annotations

from pathlib import Path

from privgmm.errors import InputError
from privgmm.releases import Release


def run(path: Path, as_json: bool, registry: bool) -> None:
    """``privgmm show``: what was promised and what is known."""
    if as_json and registry:
        raise InputError("Choose one of --json and --registry.")
    release = Release.load(path)
    if registry:
        from privgmm.releases.statement import registry_yaml

        print(registry_yaml(release), end="")
        return
    if as_json:
        from privgmm.releases.document import dump

        print(dump(release), end="")
        return
    from privgmm.releases.statement import print_statement

    print_statement(release)
