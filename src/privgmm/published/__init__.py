"""The paper's system as printed: Algorithm 1, its mechanisms and its baselines.

Its privacy guarantee is **not proven**: the noise is calibrated to the neighbours of the actual data
and several steps of the printed argument do not hold (docs/guarantees.md). It is here to reproduce
the paper and to be compared with; publish with ``privgmm.proven``. Repairs of the print that were
needed to run it are listed in docs/published.md.

neighbours  (eq10) (eq14) (eq14b) (eqr1) (eqr4) (eqr5)   problem      (P2), (eq19), (eq21), (eq23), Algorithm 1
objective   (eq_obj), Prop. 2, and the true E[KL]        mechanism    design(), design_for(), (eq5), (eq6)
weights_map Prop. 3, (eq24)-(eq27), lambda-smoothing     baselines    Laplace, Gaussian, coloured, R1SMG,
budget      Theorem 1, (eq09)-(eq11)                                  made of baseline_parts
options     lambda, readings, repairs
"""

from privgmm.published.baselines import BaselineDesign, baseline, baseline_design
from privgmm.published.budget import Spent, spent, spent_on
from privgmm.published.mechanism import Design, design, design_for
from privgmm.published.neighbours import mean_shifts
from privgmm.published.options import Options

__all__ = [
    "BaselineDesign",
    "Design",
    "Options",
    "Spent",
    "baseline",
    "baseline_design",
    "design",
    "design_for",
    "mean_shifts",
    "spent",
    "spent_on",
]
