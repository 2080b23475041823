"""What classes counted in numpy tell beyond their sizes: values of sensitive columns, and the population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.blocks import MARKED, sums_at
from tableveil.classes.model import ClassValues
from tableveil.classes.sensitive import SensitiveColumn, SensitiveRows

Sensitive = Sequence[tuple[SensitiveColumn, SensitiveRows]]


class NumpyDetails:
    """The details of some of the classes that a grouping of a histogram's rows made.

    `places` has the place of each row, `number` the class of each place, -1 for none of these classes. `population` has
    the population's records per row.
    """

    def __init__(
        self,
        places: NDArray[np.signedinteger[Any]],
        number: NDArray[np.int32],
        classes: int,
        sensitive: Sensitive,
        population: NDArray[np.int64] | None,
    ) -> None:
        self._places = places
        self._number = number
        self._classes = classes
        self._sensitive = sensitive
        self._population = population
        self._values: dict[int, ClassValues] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the grouping."""
        return self._places.nbytes + self._number.nbytes

    def values(self, attribute: int) -> ClassValues:
        """Only the records in these classes are counted, so that few classes cost little whatever the values are."""
        if attribute not in self._values:
            self._values[attribute] = self._counted(*self._sensitive[attribute])
        return self._values[attribute]

    def population(self) -> NDArray[np.int64]:
        """Per class, the population's records."""
        assert self._population is not None
        sums = sums_at(self._places, self._population, len(self._number))
        counts = np.zeros(self._classes, np.int64)
        within = self._number >= 0
        counts[self._number[within]] = sums[within]
        return counts

    def population_only(self) -> int:
        """Places that hold the population's records only; meant for the details of all classes."""
        assert self._population is not None
        sums = sums_at(self._places, self._population, len(self._number))
        return int(np.count_nonzero((sums > 0) & (self._number < 0)))

    def selected(self, mask: NDArray[np.bool_]) -> NumpyDetails:
        """The details of the classes of the mask."""
        renumbered = np.append(np.where(mask, np.cumsum(mask) - 1, -1), -1).astype(np.int32)
        return NumpyDetails(
            self._places,
            renumbered[self._number],
            int(np.count_nonzero(mask)),
            self._sensitive,
            self._population,
        )

    def _counted(self, column: SensitiveColumn, rows: SensitiveRows) -> ClassValues:
        number = self._number.take(self._places.take(rows.rows))
        within = np.flatnonzero(number >= 0)
        values = len(column.counts)
        keys = number[within].astype(np.int64) * values + rows.values[within]
        counts = rows.counts[within]
        if self._classes * values <= MARKED * max(len(keys), 1):
            sums = sums_at(keys, counts, self._classes * values)
            occurring = np.flatnonzero(sums)
            sums = sums[occurring]
        else:
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            first = np.flatnonzero(np.diff(keys, prepend=-1))
            occurring, sums = keys[first], np.add.reduceat(counts[order], first) if len(first) else counts
        classes, codes = np.divmod(occurring, max(values, 1))
        return ClassValues(classes.astype(np.intp), codes.astype(np.intp), sums)
