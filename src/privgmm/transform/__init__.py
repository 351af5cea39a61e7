"""Preprocessing that says where its parameters came from: logarithm, standardisation, PCA.

``transform.prepare`` applies steps to rows and can fit a standardisation from private rows for a share of the budget.
It is not imported here, so that a release can hold steps without reaching private data.
"""

from privgmm.transform.chain import (
    apply_all,
    carry_bounds,
    check_origins,
    describe,
    from_dict,
    invert_all,
    names_after,
    public_steps,
    to_dict,
)
from privgmm.transform.fit import fit_chain, fit_label_level
from privgmm.transform.steps import Log, Origin, Pca, Standardise, Step

__all__ = [
    "Log",
    "Origin",
    "Pca",
    "Standardise",
    "Step",
    "apply_all",
    "carry_bounds",
    "check_origins",
    "describe",
    "fit_chain",
    "fit_label_level",
    "from_dict",
    "invert_all",
    "names_after",
    "public_steps",
    "to_dict",
]
