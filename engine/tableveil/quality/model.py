"""The interface of every quality model: the score of a transformation, and bounds for those that are not counted."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses
from tableveil.lattice import Transformation
from tableveil.quality.aggregate import Score

Table = tuple[NDArray[np.float64], ...]
"""Per quasi-identifier, one number per level from 0 to the top."""


@dataclass(frozen=True, slots=True)
class AssessedTransformation:
    """The score of a transformation, which is compared, and its parts per quasi-identifier if it has any."""

    score: Score
    values: tuple[float, ...] = ()


class BoundEvidence(Protocol):
    """Evidence from one checked transformation `hi` about all x <= hi."""

    @property
    def guide(self) -> Table:
        """Each level's contribution to the score, to any scale: it decides where to split, and bounds nothing."""
        ...

    def bound(self, lo: Transformation) -> Score:
        """No valid x with lo <= x <= hi has a lower score. Cheap: no classes are counted."""
        ...


class QualityModel(Protocol):
    """Scores transformations, the lower the better, and bounds the scores of whole intervals of the lattice.

    Valid transformations suppress all records in classes below the minimum size, all classes that the privacy models
    reject, and at most the suppressible number of records.
    """

    @property
    def bounds_by_classes(self) -> bool:
        """Whether `bound_between` offers more than `BoundEvidence.bound`; it costs a count."""
        ...

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The score at a transformation if exactly the classes of the mask are kept."""
        ...

    def evidence(self, check: Check) -> BoundEvidence:
        """The evidence from a checked transformation about those below."""
        ...

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """No valid x with lo <= x <= hi has a lower score, computed from the classes at both ends.

        The classes at `hi` follow from those at `lo`: see `tableveil.classes.nest`. Only called if `bounds_by_classes`.
        """
        ...

    def reported(self, score: Score) -> float:
        """The score as users know it; monotone in the score."""
        ...
