"""Ordered t-closeness by the straightforward sum, as fast as numpy lets it be; for comparison only."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.policy import TCloseness
from tableveil.privacy import Facts
from tableveil.privacy.closeness import TClosenessRule
from tableveil.privacy.distances import ComparedClasses, Distributions, OrderedDistance

CELLS = 1 << 18
"""Numbers in a block of classes by values: so many fit into a core's second cache, or nearly."""

FEW = 32
"""Up to this number of values, going value by value, for many classes at once, is faster than going class by class."""


class OverAllValues(OrderedDistance):
    """For any class, all values are gone through."""

    def within(self, compared: ComparedClasses, t: Fraction) -> NDArray[np.bool_]:
        """The classes whose sum is not above the threshold."""
        if len(self.column.counts) <= FEW:
            return np.asarray(self._by_all_values(compared) <= self.most(compared, t), np.bool_)
        return np.asarray(self._by_classes(compared) <= self.most(compared, t), np.bool_)

    def _by_classes(self, compared: ComparedClasses) -> NDArray[np.int64]:
        whole = np.cumsum(self._in_order(self.distributions.values, self.distributions.values.starts).counts)
        values, width = self._in_order(compared.values, compared.starts), len(self.column.counts)
        starts, sums = np.append(compared.starts, len(values.classes)), np.zeros(len(compared.sizes), np.int64)
        block = max(CELLS // width, 1)
        for low in range(0, len(sums), block):
            sizes = compared.sizes[low : low + block]
            entries = slice(starts[low], starts[low + len(sizes)])
            counts = np.zeros((len(sizes), width), np.int64)
            lengths = np.diff(starts[low : low + len(sizes) + 1])
            counts[np.repeat(np.arange(len(sizes)), lengths), values.values[entries]] = values.counts[entries]
            np.cumsum(counts, axis=1, out=counts)
            counts *= whole[-1]
            counts -= sizes[:, None] * whole
            sums[low : low + block] = np.abs(counts, out=counts).sum(axis=1)
        return sums


@dataclass(frozen=True)
class Straightforward(TClosenessRule):
    """The search learns only whether it holds, and nothing else."""

    knows_lost = False
    minimum_class_size = 1

    @cached_property
    def distance(self) -> OverAllValues:
        """The distance with that way of summing."""
        return OverAllValues(self.column, Distributions.whole(self.column.counts))


def straightforward(model: TCloseness, facts: Facts) -> Straightforward:
    """The rule of a model."""
    return Straightforward(model, facts)
