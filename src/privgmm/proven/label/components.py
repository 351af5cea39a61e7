"""Label level: several Gaussians per class, from public features and the soft labels that noisy answers left.

No query of its own: the labels of the release are post-processing of the noisy table and moments, and features
are public. Labels are drawn once from them, by a fixed public seed, and EM is run on the rows of each class.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from privgmm.proven.components import GAIN, Components, Parts, Wanted, bell, into_classes, ladder
from privgmm.proven.mixtures import Fitted, fitted
from privgmm.types import Floats

_SEED = 2
# A component needs so many rows per column and one more: the same bound as for public clusterings.
_ROWS_PER_COLUMN = 2


def label_components(
    rows: Floats,
    shares: Floats,
    labels: Floats,
    released: tuple[Floats, Floats, Floats],
    wanted: Wanted,
) -> Components:
    """Components of the released classes from rows (n, d) under soft labels (n, L), L >= K.

    ``wanted`` components where the drawn rows carry them, 2 (d + 1) each; "auto": the size of the ladder after which
    BIC gains less than GAIN nats per row. A row that counts for less than another (``shares``) is drawn as much less often.
    """
    rng = np.random.default_rng(_SEED)
    lots = rng.random((rows.shape[0], 1))
    kept = rng.random(rows.shape[0]) * shares.max(initial=0.0) <= shares
    drawn = np.where(kept, (lots > labels.cumsum(axis=1)[:, :-1]).sum(axis=1), -1)
    fits = []
    with threadpool_limits(limits=1):
        for k, (mu, sigma) in enumerate(zip(*released[1:], strict=True)):
            u = np.linalg.solve(np.linalg.cholesky(sigma), (rows[drawn == k] - mu).T).T
            fits.append(_best(u, wanted))
    return into_classes(released, fits)


def _best(u: Floats, wanted: Wanted) -> Parts:
    """The mixture of whitened rows of one class that BIC prefers, on the way up the ladder."""
    d = u.shape[1]
    distinct = np.unique(u, axis=0).shape[0]
    best: Fitted | None = None
    for size in ladder(wanted, distinct // (_ROWS_PER_COLUMN * (d + 1))):
        if size == 1 and (wanted != "auto" or distinct < _ROWS_PER_COLUMN * (d + 1)):
            break
        found = fitted(u, size, 1, _SEED)
        if best is not None and found.bic >= best.bic - 2 * GAIN * u.shape[0]:
            break
        best = found
    if best is None:
        return bell(d)
    return best.weights, best.means, best.covariances
