"""Record level: whole rows are private. Adaptive noisy rounds, then the balanced release.

A map of the mechanism, in the order in which it runs (docs/proven.md tells it with pictures):

1. ``locate``     column histograms show where each class lies and how wide it is; where bins that surely hold rows
                  contradict a Gaussian fit, the bins are believed;
   ``spikes``     columns in which most rows share a value: finer histograms find them, and frames are wide enough for the other rows
2. ``alike``      classes that noise hides are assumed to be like the others in place, width and shape
   ``mechanism`` widens frames where shells show rows far out of them, here and once more before the last round
3. ``rounds``     counts, means and second moments of rows clipped into an ellipsoid per class
4. ``frames``     those ellipsoids; ``draws.posterior_frames`` makes the next ones from all answers so far
5. ``tails``      counts per shell around each class show how far out its rows lie, which decides the radius of the last round;
   ``clipping``   the variance that clipping removed is added again, with an error of its own
6. ``posterior``, ``draws``   draws of (count, mean, covariance) given all answers; ``few_columns`` is the same posterior, faster
7. ``mechanism``  steps 1 to 6 in turn, and the release: balanced, or the paper's objective

``lookalike`` makes rows that look like noisy counts of public cells (for several Gaussians per class, and for rows
without labels). ``tuning`` holds every tuned number, by the step that uses it.
"""

from privgmm.proven.record.mechanism import release_record

__all__ = ["release_record"]
