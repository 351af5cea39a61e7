"""What a release is close in: both directions of KL (the default), or the paper's direction alone."""

from typing import Literal

# "balanced": shapes minimise the expected KL(released || fitted) + KL(fitted || released) (balanced.py), and
#     weights are the noisy class frequencies.
# "paper": shapes and weights minimise the expected KL(released || fitted) alone, the paper's figure of merit;
#     a class whose shape the noise hides then gets less weight than its share of the rows.
Objective = Literal["balanced", "paper"]
