"""Which class weights to release: those with the least expected KL, or the noisy class frequencies."""

from typing import Literal

# "kl": q_k ~ exp(E ln pi_k - E KL_k), see denoise.py; a class that noise hides gets less than its share.
# "counts": the expected share of the rows, whatever is known of the class's shape.
Weighting = Literal["kl", "counts"]
