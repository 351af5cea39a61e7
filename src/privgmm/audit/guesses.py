"""What somebody guesses who sees a release and one person's row, and knows no other row."""

from __future__ import annotations

import numpy as np

from privgmm.audit.bounds import Floats
from privgmm.model import Mixture

# A class of weight zero or a far point would be an infinity, which cannot be ranked.
_FAR = 1e6


def label_odds(mixture: Mixture, x: Floats, other: int, label: int) -> float:
    """ln of the posterior odds that x (d,) carries ``label`` rather than ``other``."""
    joint = np.maximum(mixture.log_joint(x[None])[0], -_FAR)
    return float(joint[label] - joint[other])


def membership(mixture: Mixture, x: Floats, label: int) -> float:
    """ln p(x, label): a model fits its own rows better (the loss-threshold attack, Yeom et al. 2018)."""
    return float(max(mixture.log_joint(x[None])[0, label], -_FAR))
