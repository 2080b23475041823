"""The equivalence classes at one transformation, their details, and sets of records by their attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.keys import KeyLayout
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
