"""Aggregated error: the share of an aggregated column's squared error that a transformation leaves inside classes.

Why the bounds hold: for a class let W be the squared distances to its mean, D those to the mean of all, so that D = W
+ size * (distance of the means)^2. Kept, it costs g W, suppressed s D + (1 - s) W, which is no less. D is a sum over
records; W of a union is at least the sum of the parts' W. From hi: the suppressed records cost at least s D, whatever
classes x divides them into. From lo: classes at x are unions of those at lo.
"""

from collections import OrderedDict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import AggregatedColumn, Points, coordinates
from tableveil.classes import EquivalenceClasses
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import rounded_part, rounded_part_down
from tableveil.quality.model import Factors

Sums = NDArray[np.float64]
"""One number per class."""

MEMORY = 16 << 20
"""Bytes of the sums that are kept, for each of the two kinds of sums."""


class AggregatedError:
    """SSE/SST: squared distances of values to the mean of their class, divided by those to the mean of all values.

    A suppressed record has no class: it counts with its distance to the mean of all. A record that is withheld or set
    aside does so, too; if it has no value, the variance of all stands for its squared distance. The squares within
    classes and between their means sum up to all (ANOVA), so the share is from 0 to 1; for a column of one value it is
    0. It measures how alike the values of a class are, whichever function aggregates them. If generalization counts by
    g < 1, a kept record costs g * its squared distance. If suppression counts by s < 1, a suppressed record costs its
    squared distance to the mean of its class, plus s * the increase from there to its squared distance to the mean of
    all.
    Source: Domingo-Ferrer and Mateo-Sanz 2002, section 2.1, for SSE and SST.
    """

    def __init__(self, column: AggregatedColumn, position: int, factors: Factors, records: int) -> None:
        """`position` is the column's position in the counter's `sensitive`; `records` counts the whole source."""
        # The weight belongs to the column's part of the score, not to the distances in it.
        codes, counts = np.arange(len(column.counts), dtype=np.int32), column.counts
        places = coordinates(Points((replace(column, weight=1.0),), (codes,), counts))
        read_records = int(counts.sum())
        self._position = position
        self._factors = factors
        self._places = places - counts @ places / max(read_records, 1)
        self._squares = np.sum(self._places**2, axis=1)
        self._total = float(counts @ self._squares)
        self._set_aside = self._total * (records - read_records) / max(read_records, 1)
        # Scores and bounds ask for the sums of the same classes again and again.
        self._known: OrderedDict[Transformation, tuple[EquivalenceClasses, Sums, Sums]] = OrderedDict()

    def part(self, classes: EquivalenceClasses, gone: NDArray[np.bool_]) -> float:
        """The share if exactly the classes of the mask are suppressed."""
        return rounded_part(self._share(classes, gone))

    def least_from(self, classes: EquivalenceClasses, gone: NDArray[np.bool_]) -> float:
        """No transformation at or above that of the classes has less if it suppresses all of the mask: classes grow."""
        return rounded_part_down(self._share(classes, gone))

    def least_up_to(self, classes: EquivalenceClasses, gone: NDArray[np.bool_]) -> float:
        """No transformation at or below that of the classes has less, if it suppresses all of the mask.

        For other records, and for suppressed ones where suppression counts for less, nothing is known: finer classes
        may have equal values.
        """
        if not self._total:
            return 0.0
        around, _ = self._of_classes(classes)
        lost = float(around[gone].sum()) + self._outside(around)
        return rounded_part_down(self._factors.suppression * lost / self._whole)

    @property
    def _whole(self) -> float:
        return self._total + self._set_aside

    def _share(self, classes: EquivalenceClasses, gone: NDArray[np.bool_]) -> float:
        if not self._total:
            return 0.0
        g, s = self._factors.generalization, self._factors.suppression
        around, between = self._of_classes(classes)
        kept = g * float((around - between)[~gone].sum())
        # s * around + (1 - s) * (around - between).
        suppressed = float((around - (1.0 - s) * between)[gone].sum())
        return (kept + suppressed + s * self._outside(around)) / self._whole

    def _outside(self, around: NDArray[np.float64]) -> float:
        """The squared distances to the mean of all, over the records that are in no class."""
        return max(self._total - float(around.sum()), 0.0) + self._set_aside

    def _of_classes(self, classes: EquivalenceClasses) -> tuple[Sums, Sums]:
        """Per class, the squared distances of its records to the mean of all, and of its mean, times its records."""
        remembered = self._known.pop(classes.at, None)
        if remembered is None or remembered[0] is not classes:
            values = classes.values(self._position)
            around = np.add.reduceat(values.counts * self._squares[values.values], values.starts)
            sums = np.add.reduceat(values.counts[:, np.newaxis] * self._places[values.values], values.starts, axis=0)
            between = np.sum(sums**2, axis=1) / np.add.reduceat(values.counts, values.starts)
            remembered = (classes, around, np.minimum(between, around))
        self._known[classes.at] = remembered
        while sum(around.nbytes for _, around, _ in self._known.values()) > MEMORY and len(self._known) > 1:
            self._known.popitem(last=False)
        return remembered[1:]
