"""The default mechanism: it decides which questions to ask the curator, and makes one mixture from the noisy answers.

Three levels. Each has a map of its own steps and a frozen ``Tuning`` of its budget shares and rounds; thresholds that belong to
one step stand at the top of its file:

label/       features public, labels private (Definition 1)       docs/label-level.md
record/      whole rows private                                   docs/proven.md
unlabelled   whole rows private, no labels: private EM            docs/proofs/class-moments.md

They share ``objective`` (the Gaussian closest in both directions of KL, or in the paper's), ``uncertainty`` (standard errors),
``mixtures`` (mixtures of public or synthetic rows, several Gaussians inside a released class) and ``margins`` (the shapes of
columns). No code here sees private rows: a question goes to ``privacy.Curator.answer``, and only a noisy answer comes back.
"""
