"""The default mechanism: which questions to ask the curator, and one mixture from its noisy answers.

Three levels, each with a map of its own steps and a frozen ``Tuning`` of every tuned number:

label/       features public, labels private (Definition 1)       docs/label-level.md
record/      whole rows private                                   docs/proven.md
unlabelled   whole rows private, no labels: private EM            docs/proofs/class-moments.md

What they share: ``objective`` (the Gaussian closest in both directions of KL, or in the paper's), ``uncertainty`` (how
far off), ``mixtures`` (mixtures of rows anyone may see, several Gaussians inside a released class), ``margins`` (shapes of
columns). Rows are never seen here: a question goes to ``privacy.Curator.answer``, and only noise comes back.
"""
