"""The site's pages that are not in docs/: the README and its neighbours, and the command's own help.

MkDocs loads this file (mkdocs.yml, ``hooks``). Pages link to one another as files of the repository, so
that links work on the forge too; here they are turned into links between the site's pages.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# Path in the site of files of the repository that stand outside docs/.
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CODE_OF_CONDUCT.md": "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
COMMAND = "reference/command.md"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)#\s]+)(#[^)]*)?\)")
_INSIDE = {site: repository for repository, site in OUTSIDE.items()}


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages."""
    for repository, site in OUTSIDE.items():
        text = (ROOT / repository).read_text("utf-8")
        files.append(File.generated(config, site, content=text))
    files.append(File.generated(config, COMMAND, content=_command()))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Files, **_: Any) -> str:
    """Turn links between files of the repository into links between pages."""
    here = page.file.src_uri
    folder = posixpath.dirname(_INSIDE.get(here, f"docs/{here}"))

    def link(found: re.Match[str]) -> str:
        picture, words, target, anchor = found.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        site = OUTSIDE.get(path) or path.removeprefix("docs/")
        if files.get_file_from_path(site) is not None:
            relative = posixpath.relpath(site, posixpath.dirname(here) or ".")
            return f"{picture}[{words}]({relative}{anchor or ''})"
        if (ROOT / path).exists():  # code, or a folder: there is no page of it
            return words if words.startswith("`") else f"{words} (`{path}`)"
        return found[0]  # leads nowhere: MkDocs refuses it

    return _LINK.sub(link, markdown)


def _command() -> str:
    """What the command says of itself, as one page."""
    import typer
    from typer.cli import get_docs_for_click

    from privgmm.cli.app import app

    command = typer.main.get_command(app)
    with typer.Context(command, info_name="privgmm") as context:
        text = get_docs_for_click(obj=command, ctx=context, name="privgmm")
    # Its lists of commands cut every sentence short; the sections below them say the same in full.
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n?", "", text)
    return text.replace("# `privgmm`", "# Command line", 1)
