"""The only layer that sees exact statistics and noise together: sensitivities, noise, accounting."""

from privgmm.privacy.accounting import epsilon_from_mu, mu_from_epsilon
from privgmm.privacy.curator import Curator
from privgmm.privacy.noise import NoiseSource, OpenDPNoise, SeededNoise
from privgmm.queries import Query
from privgmm.types import Adjacency

__all__ = [
    "Adjacency",
    "Curator",
    "NoiseSource",
    "OpenDPNoise",
    "Query",
    "SeededNoise",
    "epsilon_from_mu",
    "mu_from_epsilon",
]
