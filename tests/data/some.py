"""Some rows of features, as the label-level mechanism takes them."""

from privgmm.data.features import some_rows


def subsample(features, n, rng):
    """n rows (all, if there are no more) with how much each counts."""
    return features.shared_at(some_rows(features.n_rows, n, rng))
