"""The published object and its document. Post-processing only: nothing here can reach private data."""

from privgmm.releases.guarantee import Guarantee
from privgmm.releases.release import Release
from privgmm.types import Mechanism

__all__ = ["Guarantee", "Mechanism", "Release"]
