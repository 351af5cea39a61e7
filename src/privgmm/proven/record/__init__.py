"""Record level: whole rows are private. Adaptive noisy rounds, then the balanced release.

A map of the mechanism, in the order in which it runs (docs/proven.md tells it with pictures):

1. ``locate``     column histograms say where each class lies and how wide it is; bins that surely hold
                  rows are believed before a bell is;
   ``spikes``     columns of which most rows share a value: finer looks find them, frames hold the other rows
2. ``alike``      classes that noise hides are thought to be like the others: in place, width and shape
3. ``rounds``     counts, means and second moments of rows clipped into an ellipsoid per class
4. ``frames``     those ellipsoids; ``draws.posterior_frames`` makes the next ones from all answers so far
5. ``tails``      counts per shell around each class say how far out its rows lie and choose the last round's radius;
   ``clipping``   what the clips took away is put back, and doubted
6. ``posterior``, ``draws``   draws of (count, mean, covariance) given all answers
7. ``mechanism``  steps 1 to 6 in turn, and the release: balanced, or the paper's objective

``lookalike`` makes rows that look like noisy counts of public cells (for several Gaussians per class, and for rows
without labels), ``tuning`` holds every tuned number.
"""

from privgmm.proven.record.mechanism import release_record

__all__ = ["release_record"]
