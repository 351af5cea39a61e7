"""Write docs/api.md from the docstrings of the public surface: ``python tools/api_page.py``."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import privgmm
from privgmm.releases import Guarantee, Mechanism
from privgmm.solver import Ellipsoid

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
SURFACE = {
    "privgmm": [
        privgmm.release,
        privgmm.Release,
        privgmm.PrivateGaussianMixture,
        privgmm.fit,
        privgmm.kl_divergence,
        privgmm.Mixture,
        privgmm.InputError,
        privgmm.BudgetError,
        privgmm.PrivacyLeakWarning,
    ],
    "privgmm.releases": [Guarantee, Mechanism],
    "privgmm.published": [
        privgmm.published.design,
        privgmm.published.Design,
        privgmm.published.baseline,
    ],
    "privgmm.solver": [privgmm.solver.min_trace_ellipsoid, Ellipsoid],
    "privgmm.datasets": [privgmm.datasets.synthetic],
}


def page() -> str:
    lines = ["# API reference", "", "Made from the docstrings by `python tools/api_page.py`.", ""]
    for module, members in SURFACE.items():
        lines += [f"## `{module}`", ""]
        for member in members:
            lines += entry(member)
    return "\n".join(lines).rstrip() + "\n"


def entry(member: type | object) -> list[str]:
    name = getattr(member, "__name__", "")
    lines = [f"### `{name}{signature(member)}`", "", *text(member)]
    if inspect.isclass(member) and not issubclass(member, BaseException):
        for attribute, value in vars(member).items():
            if attribute.startswith("_") or not own_doc(value):
                continue
            kind = "" if isinstance(value, property) else signature(value)
            lines += [f"- `{attribute}{kind}`: {' '.join(summary(value).split())}"]
        lines.append("")
    return lines


def own_doc(value: object) -> bool:
    unwrapped = getattr(value, "__func__", value)
    return bool(getattr(unwrapped, "__doc__", None)) and (
        inspect.isfunction(unwrapped) or hasattr(value, "fget") or hasattr(value, "attrname")
    )


def signature(member: object) -> str:
    target = getattr(member, "__func__", member)
    if inspect.isclass(target) and issubclass(target, BaseException):
        return ""
    if not callable(target):
        return ""
    found = inspect.signature(target)
    bare = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in found.parameters.values()
        if p.name not in ("self", "cls")
    ]
    return re.sub(
        r"<factory>|<[^>]*>",
        "...",
        str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty)),
    )


def text(member: object) -> list[str]:
    """The docstring; sections underlined with dashes become a code block so that they keep their shape."""
    doc = inspect.getdoc(member) or ""
    head, _, tail = doc.partition("\nParameters\n")
    lines = [head.strip(), ""]
    if tail:
        lines += ["```text", "Parameters", tail.strip(), "```", ""]
    return lines


def summary(value: object) -> str:
    return (inspect.getdoc(value) or "").split("\n\n")[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
