"""What is searched: the lattice, who counts, what may be released, and what is to be minimized."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.classes import ClassCounter
from tableveil.lattice import Lattice
from tableveil.privacy import ReleaseRule
from tableveil.quality import QualityModel


@dataclass(frozen=True, slots=True)
class Problem:
    """Find the valid transformation of the lattice with the least score.

    Valid means that at most `suppressible` records, withheld ones included, are in classes that `privacy` does not
    release.
    """

    lattice: Lattice
    counter: ClassCounter
    privacy: ReleaseRule
    quality: QualityModel
    suppressible: int
