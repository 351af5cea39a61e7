"""A mixture in a notebook: the shares of its classes and a picture, as a short piece of HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from privgmm.model.mixture import Mixture
from privgmm.types import Floats

_MOST_CLASSES = 12
_LONGEST = 60


def mixture_html(
    mixture: Mixture,
    names: Sequence[str] = (),
    label: str = "class",
    head: str = "",
    errors: Floats | None = None,
) -> str:
    """Shares and picture of a mixture below ``head``, which is HTML already.

    ``errors`` (K,) are the standard errors of the shares, where they are known.
    """
    from privgmm.model.picture import plot

    rows = "".join(
        f"<tr><td style='text-align:left'>{safe(name)}</td><td>{100 * mixture.weights[k]:.1f} %"
        f"{'' if errors is None else f' ± {100 * errors[k]:.2g}'}</td></tr>"
        for k, name in enumerate(mixture.classes[:_MOST_CLASSES])
    )
    hidden = mixture.n_classes - _MOST_CLASSES
    more = f"<tr><td colspan='2'>and {hidden} more</td></tr>" if hidden > 0 else ""
    picture = b64encode(plot(mixture, names, label).png()).decode()
    return (
        f"<div>{head}<table><thead><tr><th style='text-align:left'>{safe(label)}</th><th>share"
        f"{'' if errors is None else ' ± error'}</th></tr></thead><tbody>{rows}{more}</tbody></table>"
        f"<img alt='Densities and ellipses of the classes' style='max-width:100%' "
        f"src='data:image/png;base64,{picture}'></div>"
    )


def safe(text: object, limit: int = _LONGEST) -> str:
    """A text as one short line of HTML; characters that nobody sees are left out."""
    plain = "".join(c for c in str(text) if c.isprintable())
    return f"<bdi>{escape(plain if len(plain) <= limit else plain[: limit - 1] + '…')}</bdi>"
