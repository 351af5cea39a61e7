"""How the site reads docstrings: a line ``name : what it is`` is one entry of a list.

Griffe loads this file (mkdocs.yml). NumPy's style puts a type after the colon and one name before it;
here types stand in the signature, several names may share a sentence, and fields are listed the same way.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : (.*)$")
_SECTION = re.compile(r"^(\w+)\n-{3,}$", re.MULTILINE)


class Prose(griffe.Extension):
    """Rewrite docstrings as Markdown before they are rendered."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """Underlined sections become bold words, entries become a list."""
    lines: list[str] = []
    for line in _SECTION.sub(r"**\1**\n", text).splitlines():
        entry = _ENTRY.match(line)
        if entry is None:
            lines.append(line)
            continue
        if lines and lines[-1] and not lines[-1].startswith(("- ", "    ")):
            lines.append("")
        lines.append(f"- `{entry[1]}`: {entry[2]}")
    return "\n".join(lines)
