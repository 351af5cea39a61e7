"""Label level (Definition 1: features public, labels private). The map of the mechanism, in order:

1. ``clusterings.py``  the features alone are clustered in several ways and cut into cells (free)
2. ``cell_table.py``   labels are counted per cell with a part of the budget, with noise
3. ``release.py``      decides by the noisy table whether moments or a second table are asked for, and makes the release of draws
4. ``pure.py``         after a second table: draws of labels that follow a clustering, from
   ``assignments.py``  which class each component carries (Gibbs sampling), and how plausible such classes look
   ``cell_table.py``   such labels bent, cell by cell, until they agree with the noisy counts
5. ``frames.py``       moments: per class an ellipsoid, chosen from the table, in which rows are clipped
   ``guesses.py``      soft labels by the table in several ways: a class is held to the clusterings, or doubted,
                       by itself; table and moments together choose
   ``tilt.py``         its soft labels bent until they agree with the noisy moments, and in
   ``tilt_draws.py``   draws around them: what noise, clipping and the guess leave open
6. ``statistics.py``   class moments under soft labels, and one Gaussian per class from the draws, balanced or as the paper has it
7. ``shapes.py``       the shape of every column, or several Gaussians per class, from rows under soft labels
``tuning.py`` holds every number that was tuned.

No file here sees a label: labels enter through ``Curator.answer`` only. Proofs: docs/proofs/label-sums.md.
"""

from privgmm.proven.label.clusterings import PublicView, public_view
from privgmm.proven.label.release import release_label, release_view
from privgmm.proven.label.shapes import public_encoding

__all__ = ["PublicView", "public_encoding", "public_view", "release_label", "release_view"]
