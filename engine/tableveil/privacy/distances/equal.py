"""Equal ground distance: every two different values are 1 apart."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.distances.model import Compared, Distributions, EarthMover, Shares, overshoot, products


class EqualDistance(EarthMover):
    """Half the sum of |q - p| over all values (Li et al. 2007, section 5.1), which is the sum of what q has above p.

    Only values that occur in the class can be above, so the others need not be looked at.
    """

    @property
    def unit(self) -> int:
        """No distance but 0 and 1."""
        return 1

    def shares(self, compared: Compared) -> Shares:
        """What the values above their share have, in the class and in its distribution."""
        return above(compared, self.distributions)

    def sides(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The values themselves."""
        return table

    def fewest(self, t: Fraction) -> int:
        """As many records as it takes values to have 1 - t of all: others are above what is left for them."""
        largest = np.cumsum(np.sort(self.column.counts)[::-1])
        return int(np.searchsorted(largest, math.ceil((1 - t) * int(largest[-1])))) + 1

    def least_work(self, size: int) -> int:
        """What is above its share if every value has one of the two whole numbers of records next to it."""
        return overshoot(self.column.counts, size)


def above(compared: Compared, distributions: Distributions) -> Shares:
    """Per class, the records of values whose share is above that in its distribution: its own, and the other's."""
    values, number = compared.values, compared.values.classes
    counts = distributions.values.counts[distributions.entries(compared.of[number], values.values)]
    more = np.asarray(
        products(values.counts, compared.records[number]) > products(counts, compared.sizes[number]), np.bool_
    )
    return compared.sums(values.counts * more), compared.sums(counts * more)
