"""The common part of the two divergences: the bits of a record under the distribution expected from a release."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, Marginals
from tableveil.hierarchy import AttributeLevels
from tableveil.hierarchy.labelling import log_combinations, log_leaves, require_discrete
from tableveil.lattice import Transformation
from tableveil.quality.bits import log_ratio
from tableveil.quality.record_costs import RecordCosts


class Expectation:
    """-log2(q) of records: q = (size/N) / product_j leaves_j in a kept class, (S/N) / product_j |H_j| if suppressed."""

    def __init__(self, levels: Sequence[AttributeLevels], records: int, marginals: Marginals) -> None:
        """`marginals` holds the weights of all records that are not withheld, per code.

        Raises:
            UncountableError: a domain is continuous.
        """
        require_discrete(levels)
        self.records = max(records, 1)
        self.volumes = RecordCosts(levels, marginals, log_leaves)
        self.domain = log_combinations(levels)
        self._largest = tuple(
            [float(self.volumes.at(j, level).max(initial=0.0)) for level in range(attribute.top + 1)]
            for j, attribute in enumerate(levels)
        )

    def volumes_of(self, at: Transformation, classes: EquivalenceClasses) -> NDArray[np.float64]:
        """Per class, log2 of the product of its leaves."""
        volumes = np.zeros(len(classes.counts))
        for j, level in enumerate(at):
            volumes += self.volumes.at(j, level)[classes.groups(j)]
        return volumes

    def if_kept(self, at: Transformation, classes: EquivalenceClasses) -> NDArray[np.float64]:
        """Per class, -log2(q) of its records if it is kept."""
        return log_ratio(classes.counts, self.records) + self.volumes_of(at, classes)

    def if_suppressed(self, records: int) -> float:
        """-log2(q) of each record if so many records are suppressed, at least one."""
        return float(log_ratio(records, self.records)) + self.domain

    def largest_volume(self, at: Transformation) -> float:
        """The largest volume that a class could have at a transformation."""
        return math.fsum(row[level] for row, level in zip(self._largest, at, strict=True))
