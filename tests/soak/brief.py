"""Work that takes time and touches no file is shortened or done once; all that is hurt stays whole."""

from __future__ import annotations

import functools
from typing import Any

from privgmm.cli import app
from privgmm.proven import label, label_gibbs, label_pure, record_draws
from privgmm.report import page


def shorten() -> None:
    """Short posterior chains; features clustered, commands built and pages drawn only once."""
    put(record_draws, "_WARM", 4)
    put(record_draws, "_KEEP", 4)
    put(label_gibbs, "_ANNEAL", 4)
    put(label_gibbs, "_KEEP", 2)
    put(label_pure, "_DRAWS", 4)
    view, draw = label.public_view, page.render
    clustered, pages = [], {}

    def public_view(X, n_classes):
        if not clustered:
            clustered.append(view(X, n_classes))
        return clustered[0]

    def render(release, reference=None):
        mark = page._fingerprint(release), reference is None
        if mark not in pages:
            pages[mark] = draw(release, reference)
        return pages[mark]

    put(label, "public_view", public_view)
    put(page, "render", render)
    put(app, "command", functools.cache(app.command))


def put(module: Any, name: str, value: Any) -> None:
    """Replace what is there; a name that has moved is noticed."""
    assert hasattr(module, name), f"{module} no longer has {name}"
    setattr(module, name, value)
