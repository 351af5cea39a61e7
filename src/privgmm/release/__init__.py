"""The published object and its document. Post-processing only: nothing here can reach private data."""

from privgmm.release.guarantee import Guarantee, Mechanism
from privgmm.release.release import Release

__all__ = ["Guarantee", "Mechanism", "Release"]
