"""Details of classes counted in the database beyond their sizes, from histograms of other records or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses
from tableveil.lattice import Transformation


@dataclass(frozen=True, slots=True, eq=False)
class PopulationCounts:
    """Per class of the source the population's `records`; `others` is the number of the population's other classes."""

    records: NDArray[np.int64]
    others: int


class DetailsSource(Protocol):
    """Counts values and the population in all classes at a transformation."""

    def values_at(self, transformation: Transformation, attribute: int) -> ClassValues:
        """The values of a sensitive column."""
        ...

    def population_of(self, classes: EquivalenceClasses) -> PopulationCounts:
        """The population's records."""
        ...


class DuckDBDetails:
    """The details of the `chosen` classes, or of all, at a transformation; they are counted on demand."""

    def __init__(
        self, source: DetailsSource, classes: EquivalenceClasses, chosen: NDArray[np.bool_] | None = None
    ) -> None:
        self._source = source
        self._classes = classes
        self._chosen = chosen

    @property
    def nbytes(self) -> int:
        """Bytes of the choice: the counted arrays belong to the source, and the classes are kept anyway."""
        return 0 if self._chosen is None else self._chosen.nbytes

    def values(self, attribute: int) -> ClassValues:
        """The values of a sensitive column."""
        by_value = self._source.values_at(self._classes.at, attribute)
        if self._chosen is None:
            return by_value
        within = self._chosen[by_value.classes]
        renumbered = np.cumsum(self._chosen) - 1
        return ClassValues(renumbered[by_value.classes[within]], by_value.values[within], by_value.counts[within])

    def population(self) -> NDArray[np.int64]:
        """Per class, the population's records."""
        records = self._source.population_of(self._classes).records
        return records if self._chosen is None else records[self._chosen]

    def population_only(self) -> int:
        """Classes of the population without a record in the source."""
        return self._source.population_of(self._classes).others

    def selected(self, mask: NDArray[np.bool_]) -> DuckDBDetails:
        """The details of the classes of the mask."""
        chosen = mask
        if self._chosen is not None:
            chosen = self._chosen.copy()
            chosen[chosen] = mask
        return DuckDBDetails(self._source, self._classes, chosen)


def class_values(by_value: EquivalenceClasses) -> ClassValues:
    """The values in classes, from the classes of `by_value`, whose last attribute is the code of the value.

    The last attribute has stride 1 in the last word, so that a division takes it out of the key. Classes come in the
    order of their keys, so that those that differ only in it follow each other, by code.
    """
    last = len(by_value.layout.radices) - 1
    words = list(by_value.words)
    words[-1] = words[-1] // max(by_value.layout.radices[last], 1)
    classes = np.cumsum(_differ(words)) - 1
    return ClassValues(classes, by_value.groups(last).astype(np.intp), by_value.counts)


def population_counts(classes: EquivalenceClasses, population: EquivalenceClasses) -> PopulationCounts:
    """The population's records in each class, matched by key."""
    own = len(classes.counts)
    both = [np.concatenate(pair) for pair in zip(classes.words, population.words, strict=True)]
    order = np.lexsort(both[::-1])
    number = np.empty(len(order), np.intp)
    number[order] = np.cumsum(_differ([word[order] for word in both])) - 1
    records = np.zeros(len(order), np.int64)
    records[number[own:]] = population.counts
    shared = records[number[:own]]
    return PopulationCounts(shared, len(population.counts) - int(np.count_nonzero(shared)))


def _differ(words: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Per row, whether its key differs from that of the row before; true for the first row."""
    differs = np.zeros(len(words[0]), np.bool_)
    differs[:1] = True
    for word in words:
        differs[1:] |= word[1:] != word[:-1]
    return differs
