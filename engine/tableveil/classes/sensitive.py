"""A column whose values are counted within classes, such as a sensitive one: distribution, order, hierarchy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.elements import ListedElements
from tableveil.hierarchy import AttributeLevels


@dataclass(frozen=True, slots=True, eq=False)
class PersonValues:
    """The pairs of a person and a value that the person has, in some record.

    Attributes:
        people: Per pair, the number of its person.
        values: Per pair, one code that all spellings of its value share; -1 for NULL.
        elements: The elements of these codes, if the column's cells are lists.
    """

    people: NDArray[np.int64]
    values: NDArray[np.int64]
    elements: ListedElements | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """The values that occur in a column have codes from 0 in their order; NULL has the last code, if it occurs.

    Attributes:
        column: Its name.
        counts: Per code, the records of the whole source, suppressed and withheld ones included; at least 1.
        null_code: The code of NULL, if it occurs.
        null_first: Whether NULL stands before all other values in the order; else after them.
        spellings: Per code, one code that all spellings of its value share; None if each value has one spelling.
        elements: The elements of the codes, if cells are lists; then no code shares its spelling.
        levels: The groups of the codes by the column's hierarchy, if it has one.
        people: Whether its values are the people of the records, each by a number that says nothing.
        unit: The column whose values are its codes, if they are other units that count beside people. NULL stands for
            records each of which is a unit of its own.
        owned: The pairs of a person and a value of the column, if its codes are such pairs, each once.
        protected: Whether privacy models may look at it. Others are counted for the sake of quality: aggregated
            columns, combinations of features with a class, and people, which have no name of their own.
    """

    column: str
    counts: NDArray[np.int64]
    null_code: int | None = None
    null_first: bool = False
    levels: AttributeLevels | None = None
    protected: bool = True
    spellings: NDArray[np.int64] | None = None
    people: bool = False
    owned: PersonValues | None = None
    elements: ListedElements | None = None
    unit: str = ""

    @property
    def respelled(self) -> int:
        """How many values are spellings of others."""
        spellings = self.spellings
        return 0 if spellings is None else int((spellings != np.arange(len(spellings))).sum())

    @property
    def records(self) -> int:
        """N: all records of the source."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveRows:
    """The rows of a histogram by the values of a sensitive column: `counts[i]` records of row `rows[i]` have the value.

    Entries are in the order of row, then code; each pair stands once at most.
    """

    rows: NDArray[np.integer[Any]]
    values: NDArray[np.integer[Any]]
    counts: NDArray[np.int64]
