"""The prose of docs/results.md: how to read it, and what lies behind each figure.

Numbers never stand here: they come from the tables when the page is made.
"""

from __future__ import annotations

INTRODUCTION = """\
The paper is Liu, Scaglione and Peisert, "Differentially Private Distribution Release of Gaussian Mixture
Models via KL-Divergence Minimization", section V. Every figure is measured anew from its description;
sweeps that the paper does not spell out are ours. How to read it:

- The figure of merit is KL(released ‖ fitted) of the joint law of features and class, in nats; smaller is better.
- **published** is the paper's method as printed, with the smallest repairs that make it run
  (`docs/published.md`). Its privacy guarantee is not proven. *Solved jointly* is the same problem (P2) without
  the stall of Algorithm 1.
- **proven** is this package's own mechanism, whose guarantee is proven.
- *No privacy* is the KL of refitting a fresh sample of the fitted mixture: a release below that line costs
  less than the accident of which rows were drawn.
- All methods get the same (ε, δ = 1e-5). The baselines split ε by a grid search on each data set, as the paper
  describes. R1SMG is drawn throughout; the paper leaves it out of all figures but two, and its
  statements about "the baselines" elsewhere do not cover it.
- KL is skewed over data sets, so intervals are bootstrap intervals of the mean. A trend holds if the ends
  agree with it and no step leaves the interval of the one before on the wrong side.
- Label level, which all figures but the last use, protects labels and treats features as public (the
  paper's Definition 1). Where classes are far apart, clusters of the public features are the classes, and only
  the label of each cluster is left to protect: the proven mechanism uses that, and its KL can be close
  to zero. Whether labels alone are worth protecting is the first question to ask of one's data."""

CLOSING = """\
Each number below is computed when this page is made. `docs/guarantees.md` has the arguments."""

NOTES = {
    "ci": """\
The published curve does not go to zero: it levels off at the price of the γ* of Prop. 2, which does not
depend on ε (see the last section). The intervals are wide at small ε because the smallest class decides: one
data set with a class of a few rows outweighs many others in the mean. The dotted curve solves the paper's
problem (P2) jointly; Algorithm 1 stalls above it.""",
    "epsilon": """\
R1SMG is far off in three dimensions because its variance grows like δ^(−2/(d−2)), as the paper remarks.""",
    "n": """\
The tables of a trial are the first N rows of one, so that only N changes along a curve. Each is drawn again until
the shortest has enough rows of every class, so classes are a little less uneven than in the other figures.""",
    "k": """More classes of the same N rows means smaller classes, and the noise of a class falls with its
size.""",
    "d": """R1SMG is not defined for d < 3; where it is below the published method, see the last section.""",
    "d-large": """\
Every class has at least d + 2 rows here (the generator draws again until it is so), which favours all methods
alike. The paper does not state R1SMG's sensitivity; here it is 4RK/n, as for the other baselines, and
`docs/published.md` has what it does with a local one. Its noise is less than its δ needs, the more so the larger d is
(see the last section). Algorithm 1 leaves much on the table: compare the dotted curve.""",
    "iris-epsilon": """\
150 rows, 50 in a class. Features are public at label level, and the clusters of the features say much of
what the labels say; the proven mechanism uses that and the published one does not.""",
    "iris-marginals": """\
Distance is the total variation between the released and the fitted marginal, averaged over classes and
releases.""",
    "ami-epsilon": """\
The paper's homes are not public; the figure names what stands in for them. The labels come from K-means on
the features, as in the paper. Then the features determine the labels and **protecting labels protects
nothing**: the proven mechanism finds the same clusters in the public features and has almost nothing left to
ask of the labels, which is why its KL is next to nothing; what is left is a class of hardly enough rows for twelve
columns, which it leaves nearly out. It is no feat; for such data use `--unit record`. The figure
is here because the paper has it.""",
    "ami-marginals": """\
Columns are classes, largest first. One release of each method is drawn; the distances are means over
all trials, classes and hours.""",
    "mnist-epsilon": """\
The published curve is nearly flat: at this N its KL is the price of γ*, not of privacy.""",
    "mnist-accuracy": """\
The reference is the classifier of the non-private fit in the same five components. KL and accuracy do not rank
methods alike in every case: accuracy needs the boundaries only. "Close" is the paper's word; five points of
accuracy is our reading of it. What keeps published away is its covariance
noise: alone, on four data sets at ε = 1 and 8, it costs nearly the whole gap, and the noise on means and weights little.""",
    "mnist-mlp": """\
The order is that of means over trials; neighbouring ε can change places by the luck of the synthetic rows.
One epoch of 39 whole batches at rate 0.01 ends long before convergence. All curves of a trial start from
the same weights. The paper preserves "the class histogram" when it samples; the true histogram is
private, so we use the released weights.""",
    "record-b": """\
The paper says that a smaller B needs more noise and so gives a larger KL; its own (eqr5) puts the noise in
proportion to B. Both directions are in the curve: against the fit of the clipped rows KL falls with B at first, as
the paper says, and rises again once B exceeds what the rows need. Why it is large at the smallest B was not isolated;
clipping flattens the classes there, so the reference itself changes. Two references are measured: the fit of the clipped rows, which the paper uses and which
changes with B, and the fit of the rows as they were. Published protects a change of features with the
label kept; proven protects the replacement of a whole row, which is more.""",
}
