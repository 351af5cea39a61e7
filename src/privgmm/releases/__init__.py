"""The published object and its document. Post-processing only: nothing here can reach private data."""

from privgmm.releases.guarantee import Guarantee, Mechanism
from privgmm.releases.release import Release

__all__ = ["Guarantee", "Mechanism", "Release"]
