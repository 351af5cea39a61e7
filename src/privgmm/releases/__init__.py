"""The published object and its document. All of it is post-processing: nothing here can import what reads private data."""

from privgmm.releases.guarantee import Guarantee
from privgmm.releases.release import Release
from privgmm.types import Mechanism

__all__ = ["Guarantee", "Mechanism", "Release"]
