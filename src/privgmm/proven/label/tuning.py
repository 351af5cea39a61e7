"""Every tuned number of label level, in one place: what it means, what was tried, what justifies it.

Rows named "label: ..." are those of ``python -m bench.goals label profiles mnist mnist20``.
"""

from __future__ import annotations

from dataclasses import dataclass

from privgmm.proven.em import Init


@dataclass(frozen=True)
class Tuning:
    """Numbers of the mechanism. None of them bears on privacy: they steer queries and post-processing.

    Where a comment names no range, none was tried: the number was set by hand.
    """

    # --- budget, as shares of mu^2 ---
    # The first table of label counts. Tried 0.05 to 0.2. If no moments follow, the cells are counted again and both tables are averaged,
    # so nothing is lost; if they do, the rest pays for them (MNIST 5 components, 12 data sets: J at epsilon 4 0.053, 0.041, 0.039
    # at 0.2, 0.1, 0.05).
    first_share: float = 0.05
    # The share of the rest for a second table, where the first is so noisy that it does not decide whether moments pay. With 0.3 instead of none the mean KL
    # of MNIST, 5 components, epsilon 0.5, falls from 0.79 to 0.36 (12 releases); 24 of the paper's mixtures stay as they are.
    second_share: float = 0.3

    # --- do moments pay? (release.py) ---
    # Cells with an impurity (two standard errors below its estimate) under the first number count as pure,
    # over the second one as mixed. MNIST has 0.47 and, with 20 components, 0.3; synthetic and Iris less than
    # 0.05. Tried (0.05, 0.25) and (0.15, 0.3): three far clusters, one not listed, have 0.07 to 0.11 and J 0.009
    # when they are counted again, 0.08 to 0.37 after moments (900 rows, epsilon 4).
    impure: tuple[float, float] = (0.15, 0.3)
    # Moments are asked for if their noise is expected to cost a class less KL than this. Mixed cells:
    # tried 0.1 to 1 (label: MNIST 5 components).
    affordable_mixed: float = 0.25
    # Pure cells after the first table, which hardly says which class a cluster carries: so cheap that nothing else matters.
    # Set, not tuned.
    affordable_once: float = 1e-4
    # Pure cells after the second table. Tried 0.001, 0.05, 0.1 on the paper's mixtures, moments against counts, mean J: at a cost of 0.019
    # (N=1000, epsilon 2, 40 sets) 0.051 and 0.076, but at 0.028 (N=3000, epsilon 0.5, 16 sets) 0.103 and 0.013, and at 0.068 (N=1000, epsilon 1)
    # 0.17 and 0.10; medians hardly differ.
    affordable_pure: float = 0.02
    # Moments with more statistics per class than this, 1 + d + d(d+1)/2 at d = 60, would take hours.
    most_statistics: int = 2000

    # --- public clusterings (clusterings.py) ---
    # Clusterings are fitted to at most this many rows, chosen by a fixed seed, and applied to all.
    fit_rows: int = 10_000
    # K-means sees raw columns, as footnote 1 has it, unless their spreads differ by more than this.
    comparable: float = 10.0
    # With more classes than this, fewer clusterings are tried: each costs time.
    few_classes: int = 12
    # Mixtures are also merged down from this many components more than classes, found by EM from these starts.
    starts: tuple[tuple[int, Init], ...] = ((10, "kmeans"), (15, "k-means++"))
    # Up to this many rows times columns times classes EM runs to its end at every size.
    thorough: int = 100_000
    # Where one step of EM costs more multiplications than this (rows times columns squared times
    # classes), the cells come from k-means alone, with ``rough_times`` as many cells as classes: the whole release of
    # 50,000 x 20, K=10 then takes less than 3 fits of scikit-learn's mixture. Tried 2, 4, 8 times
    # (label: MNIST 20 components).
    rough: int = 10_000_000
    rough_times: tuple[int, ...] = (1, 4)
    # Two mixtures whose BIC differs by less than this are taken to be the same: the difference is rounding.
    better: float = 2.0

    # --- labels that follow a clustering (assignments.py, pure.py) ---
    # Gibbs chains that run side by side, sweeps of each while it cools down, and sweeps whose draws are kept.
    chains: int = 16
    anneal: int = 50
    keep: int = 20
    # Chains this many nats below the best one are stuck in a worse mode and are replaced.
    stuck: float = 12.0
    # The class list is public and its classes are expected to occur: prior nats lost per absent class.
    absent: float = 3.0
    # The power to which the features' likelihood is raised, because real classes are not exactly Gaussian. Tried
    # 0 to 0.2 (label: Iris).
    belief: float = 0.05
    # Draws of labels that follow a clustering; as many as ``share_sweeps``, since classes of one release may come from either.
    draws: int = 200
    # A model whose share of the posterior is below this contributes no draw.
    negligible_model: float = 1e-3
    # Share of a cell's rows whose labels no model explains. Tried 0.003 to 0.03 (label: Iris).
    misfit: float = 0.01
    # Every draw gives each row a random weight Gamma(a, 1/a), a milder Bayesian bootstrap, so that a class whose
    # shape depends on few rows, some of which may belong to others, counts as uncertain.
    bootstrap: float = 2.0
    # The boundaries of clusterings are only estimated: in every draw for the errors, the log odds of labels are off by a shift and by slopes
    # of this deviation (standardised columns of the rows that may carry several labels), the same for all rows. Tried 0 to 0.3. With 0 the
    # errors of shares and means of overlapping classes were beyond 3.1 and 3.7 told deviations in one entry of twenty (65 tables without
    # moments), with 0.3 beyond 1.8 and 2.4; of bells (400 tables) beyond 2.4 and 1.9.
    swing: float = 0.2
    # Labels are off by exp(wrong) times as much for each unit by which the excess of the best clustering (see ``excess``) is above
    # ``right``: of bells without moments it is -1.3 in the middle, of tables with counts, which are no bells, 0.1.
    right: float = -1.0
    wrong: float = 0.6

    # Mixed cells without moments: labels follow the features within a cell with slopes of this size (all columns together,
    # standardised), drawn anew for every draw.
    slope: float = 1.0
    # A sign that labels do not follow the clusters: even under the best clustering the chi-square of the table is so large that noise
    # alone exceeds it as rarely as a normal draw exceeds this number. (Measured in standard deviations of chi-square, as before, 14
    # tables of bells had -2.5 to -0.2, 11 of spikes -0.2 to 20.) The other sign is ``impure``.
    excess: float = 1.0
    # Above this value of the same number, affordable moments are asked for by this sign alone (breast cancer, 569 x 8, epsilon 16: J 0.09
    # instead of 1.1). With 1.0, tables that are mostly noise exceeded it by chance: of 16 of the paper's mixtures at epsilon 0.5 two with
    # the first table and five more with the second, with J up to 12. With 2.0, three of 18 releases at epsilon 1 did, with J up to 80,
    # because a few foreign rows ruin a flat class.
    refuted: float = 3.0
    # Moments that are affordable are asked for as well if all clusterings together miss the noisy total of some class by so many
    # standard deviations (noise alone does that once in 3,000 releases of five classes) and by this part. (The paper's mixture of seed
    # 214, N=1000: a class of 34 rows inside one of 484 was released with no rows, at any epsilon.) Mixed cells instead, where
    # moments cost too much, make such a class far too wide: J 2.2 instead of 0.36 (seed 320, epsilon 4).
    missed: float = 4.0
    missed_part: float = 0.25
    # Draws of (eq2)'s values are spread out by these factors (weights, means, deviations, correlations) before intervals are told: where
    # moments were asked for, and where labels are drawn cell by cell. Found by simulation (bench/coverage.py). The first, for means: by 1,
    # 1.12, 1.2, of tables with counts, after moments, 0.91, 0.94, 0.95 are held, of bells 0.971, 0.978, 0.982; for shares 1.06 and 1.12 were
    # tried. With these (and half a row as the least width) 1,000 bells hold 0.962 / 0.967 / 0.967 / 0.963, 1,000 spikes 0.942 / 0.957
    # / 0.950 / 0.960. The second: 150 to 450 tables.
    widen_moments: tuple[float, ...] = (1.0, 1.06, 1.0, 1.0)
    widen_cells: tuple[float, ...] = (0.8, 1.0, 1.3, 1.2)
    # The same for columns that are flagged as not usable: that several explanations of the table are left is known better than how likely
    # each is. Tried 1, 1.3, 2 (540 tables of bells): deviations of flagged columns are held in 0.91, 0.96, 0.97; with 1.4 in 0.91 of 2,000 others.
    widen_unsure: float = 2.0

    # --- class shares of mixed cells (cell_table.py) ---
    # Dirichlet prior of the class shares of a cell: a few classes each. Tried 0.1 to 1 (label: MNIST).
    share_alpha: float = 0.3
    share_grid: int = 64
    share_burn: int = 50
    share_sweeps: int = 200

    # --- the ellipsoids of the moment round (frames.py) ---
    # Radii in standard deviations: sqrt(d) times this ratio to the powers -4, -3, ... until no row is
    # outside.
    radius_ratio: float = 1.25
    narrowest: int = -4
    # The part of the KL by clipping that the tilt is expected to leave. Tried 0.002 to 0.4 (MNIST 5 components,
    # 12 data sets: J at epsilon 1 0.22, 0.26 and at epsilon 4 0.036, 0.039 at 0.002, 0.008; worse above).
    clip_cost: float = 0.002
    # A wider ellipsoid is taken as long as its noise costs less KL than this: rows that the cells do not
    # expect outside are then inside, too. This makes the release consistent on any table.
    negligible_noise: float = 2e-4
    # An ellipsoid's axes are at least this share of the columns' spreads (variance).
    flattest: float = 1e-3

    # --- the tilt and its draws (tilt.py) ---
    # Share of the guess that is the overall class frequencies: moments may say that any row carries any
    # label. Tried 0.005 to 0.1: J at epsilon 4 is 0.084, 0.094, 0.137 at 0.005, 0.02, 0.1 with 20 components of
    # MNIST (one run) and 0.036, 0.033 at 0.02, 0.1 with 5 (12 data sets).
    doubt: float = 0.02
    # A class that is doubted, not held to the clusterings, must gain so many nats by it. Of 16 of the paper's mixtures, N=1000, epsilon 4, moments
    # after two tables, mean J 0.16, 0.092, 0.017 with 4 nats for all classes together, with 2 and with 4 for each.
    doubted: float = 4.0
    # ln tau is normal around 0 with the first deviation, for classes that are held to the clusterings with the second: their labels vary
    # as responsibilities say, unless the answer says otherwise clearly. Tried 3, 1, 0.5 for the second: 8 of the paper's mixtures, N=3000,
    # epsilon 1, mean J 0.023, 0.0085, 0.0084.
    trust_sd: tuple[float, float] = (3.0, 1.0)
    # For the errors, draws have so many equally likely values of tau, for counts and sums and for second moments each.
    trusts: int = 8
    # ln tau is then normal with these means and deviations: for counts and sums, of classes that are doubted or held; for second moments.
    # An answer with little noise gives doubted classes of spikes ln tau -2.2 +- 1.3, held ones of bells -0.1 +- 0.4. (The likeliest tau alone,
    # mostly 1 where noise hides it, told errors of spikes' means at epsilon 0.5 and 1 too small, by factors of 1.8 and 1.4, and at 4 too large.) Held classes: tried means
    # of -0.4 to 0.35 and deviations of 1 to 1.3.
    trust_prior: tuple[tuple[tuple[float, float], ...], ...] = (
        ((-2.0, 1.5), (0.2, 1.0)),
        ((-1.5, 1.5), (0.35, 1.0)),
    )
    # Rows times columns times classes that the tilt is fitted to; more rows are corrected for in passes.
    tilt_cells: int = 20_000_000
    corrections: int = 3
    # Rows from which curvatures and draws are computed, each standing for N / rows.
    probe_rows: int = 4_096
    # Steps where classes are coupled (see most_coupled). Newton's method needs about ten, if its curvature is from so many rows per slope:
    # on Covertype (581,012 rows, 462 slopes) 9, 35, 70 and 130 make 122 (not yet at the optimum), 35, 29 and 39 s,
    # all blocks of the curvature computed twice.
    newton_steps: int = 60
    newton_rows: int = 70
    # Steps elsewhere: as many as this number of multiplications pays for, within these bounds. On 50,000 x 20,
    # K=10 that is 20 steps; 40 changed J by less than runs differ.
    tilt_work: float = 4e9
    tilt_steps: tuple[int, int] = (20, 300)
    # The fit stops when it is this close to its optimum, in posterior standard deviations.
    tilt_close: float = 0.1
    # Classes are coupled (labels add up to one) when K times the statistics are at most this many; with
    # more classes than that the coupling is weak, and expensive.
    most_coupled: int = 600
    posterior_draws: int = 200
    # Eigenvalues of a drawn covariance below this part of the estimate's are moved smoothly away from zero.
    bend: float = 0.3

    # --- the paper's weights (statistics.py) ---
    # A class has at least so many rows in every draw, so that the logarithm of its share is finite.
    smallest_count: float = 0.5
    # The least KL to expect of a class with d + 2 rows, in nats; it falls to zero at ``scant_rows`` rows more.
    scant_kl: float = 12.0
    scant_rows: float = 10.0


# What releases use; other values are for experiments.
TUNING = Tuning()
