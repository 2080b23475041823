"""The equivalence classes at one transformation, their details, sets of records by attributes, and their nesting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.keys import KeyLayout
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


@dataclass(frozen=True, eq=False)
class ClassValues:
    """How the records of classes spread over the values of one sensitive column, sparse.

    `counts[i]` > 0 records of class `classes[i]` have the value of code `values[i]`. Entries are in the order of class,
    then code; every class has at least one.
    """

    classes: NDArray[np.intp]
    values: NDArray[np.intp]
    counts: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Per class its first entry, as `np.add.reduceat` needs it."""
        return np.flatnonzero(np.diff(self.classes, prepend=-1)).astype(np.intp)


class ClassDetails(Protocol):
    """Details of counted classes beyond their sizes, computed on demand."""

    @property
    def nbytes(self) -> int:
        """Bytes that are kept for the details."""
        ...

    def values(self, attribute: int) -> ClassValues:
        """The values of a sensitive column, given by its position in the counter's `sensitive`."""
        ...

    def population(self) -> NDArray[np.int64]:
        """Per class, the records of the population that have its labels."""
        ...

    def population_only(self) -> int:
        """Number of classes of the population without a record in the source."""
        ...

    def selected(self, mask: NDArray[np.bool_]) -> ClassDetails:
        """The details of the classes of the mask."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EquivalenceClasses:
    """One entry per class: its packed key (one array per word of `layout`) and its number of records.

    Classes come in the order of their keys. Records withheld by NULL handling are in none of them.
    """

    layout: KeyLayout
    words: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]
    at: Transformation
    details: ClassDetails | None = field(default=None, repr=False)

    def groups(self, attribute: int) -> NDArray[np.int64]:
        """Per class, the group number of the attribute at its level."""
        return self.layout.unpack(self.words, attribute)

    def values(self, attribute: int) -> ClassValues:
        """How the classes spread over the values of a sensitive column, by its position in `sensitive`."""
        assert self.details is not None, "the counter of these classes does not know their values"
        return self.details.values(attribute)

    def population(self) -> NDArray[np.int64]:
        """Per class, the records of the population that have its labels."""
        assert self.details is not None, "the counter of these classes does not know the population"
        return self.details.population()

    def population_only(self) -> int:
        """Number of classes of the population without a record in the source: none of them is in here."""
        assert self.details is not None, "the counter of these classes does not know the population"
        return self.details.population_only()

    def selected(self, mask: NDArray[np.bool_]) -> EquivalenceClasses:
        """The classes of the mask."""
        details = None if self.details is None else self.details.selected(mask)
        return EquivalenceClasses(
            self.layout, tuple(word[mask] for word in self.words), self.counts[mask], self.at, details
        )


@dataclass(frozen=True, slots=True)
class Marginals:
    """How a set of records spreads over each quasi-identifier by itself.

    `counts[j][g]` records are in group g of quasi-identifier j at its level in `at`.
    """

    at: Transformation
    counts: tuple[NDArray[np.int64], ...]


class LevelMaps:
    """Arrays from the group numbers of a level to those of a level above; each is made once."""

    def __init__(self, levels: Sequence[AttributeLevels]) -> None:
        self._levels = tuple(levels)
        self._maps: dict[tuple[int, int, int], NDArray[np.int32]] = {}

    def between(self, attribute: int, low: int, high: int) -> NDArray[np.int32]:
        """Shape (groups at `low`,): the group at `high` that each group at `low` is part of; levels nest."""
        key = (attribute, low, high)
        if key not in self._maps:
            groups = self._levels[attribute].groups
            array = np.zeros(len(self._levels[attribute].leaves[low]), np.int32)
            array[groups[low]] = groups[high]
            self._maps[key] = array
        return self._maps[key]

    def size(self, attribute: int, level: int) -> int:
        """Number of groups at the level."""
        return len(self._levels[attribute].leaves[level])


@dataclass(frozen=True, slots=True)
class NestedClasses:
    """`parent[i]` is the class at the general transformation that class i of the fine one is part of.

    `classes` are those at the general transformation, in the order that `parent` counts.
    """

    parent: NDArray[np.intp]
    classes: EquivalenceClasses


def nest(classes: EquivalenceClasses, lo: Transformation, hi: Transformation, maps: LevelMaps) -> NestedClasses:
    """The classes at `hi` >= `lo` by rolling up those at `lo`; nothing is counted."""
    layout = KeyLayout.of([maps.size(j, level) for j, level in enumerate(hi)])
    words = [np.zeros(len(classes.counts), np.int64) for _ in range(layout.words)]
    for j, (low, high) in enumerate(zip(lo, hi, strict=True)):
        if layout.radices[j] > 1:
            part = maps.between(j, low, high).astype(np.int64) * layout.stride[j]
            words[layout.word[j]] += part[classes.groups(j)]
    first, parent = distinct_keys(words)
    counts = np.bincount(parent, weights=classes.counts, minlength=len(first)).astype(np.int64)
    return NestedClasses(parent, EquivalenceClasses(layout, tuple(word[first] for word in words), counts, hi))


def distinct_keys(words: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each distinct key, and per row the number of its key."""
    key = words[0]
    for word in words[1:]:
        # Ranks are below the number of rows, so that the product of two of them fits.
        _, left = np.unique(key, return_inverse=True)
        _, right = np.unique(word, return_inverse=True)
        key = left.astype(np.int64) * (int(right.max(initial=0)) + 1) + right
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse
