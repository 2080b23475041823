"""Equal ground distance: any two different values are 1 apart."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.distances.model import ComparedClasses, Distributions, EarthMover, Shares, overshoot, products


class EqualDistance(EarthMover):
    """Half the sum of |q - p| over all values (Li et al. 2007, section 5.1), which is the sum of q's excess over p.

    Only values that occur in the class can have an excess, so the others need not be looked at.
    """

    @property
    def unit(self) -> int:
        """Only the distances 0 and 1 occur."""
        return 1

    def shares(self, compared: ComparedClasses) -> Shares:
        """The records of values above their share, in the class and in its distribution."""
        return above(compared, self.distributions)

    def sides(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each value is a side."""
        return table

    def fewest(self, t: Fraction) -> int:
        """As many records as needed for their values to hold 1 - t of all: the excess of fewer is too large."""
        largest = np.cumsum(np.sort(self.column.counts)[::-1])
        return int(np.searchsorted(largest, math.ceil((1 - t) * int(largest[-1])))) + 1

    def least_work(self, size: int) -> int:
        """The excess if every value has one of the two whole numbers of records next to its share."""
        return overshoot(self.column.counts, size)


def above(compared: ComparedClasses, distributions: Distributions) -> Shares:
    """Per class, the records of values with a larger share than in its distribution: in the class and there."""
    values, number = compared.values, compared.values.classes
    counts = distributions.values.counts[distributions.entries(compared.of[number], values.values)]
    more = np.asarray(
        products(values.counts, compared.records[number]) > products(counts, compared.sizes[number]), np.bool_
    )
    return compared.sums(values.counts * more), compared.sums(counts * more)
