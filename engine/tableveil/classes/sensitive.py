"""A column whose values are counted within classes, such as a sensitive one: distribution, order, hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.model import ClassValues
from tableveil.hierarchy import AttributeLevels


@dataclass(frozen=True, slots=True, eq=False)
class ListedElements:
    """The elements of each code of a sensitive column, each once; they are numbered from the most frequent one.

    Attributes:
        starts: Per code, and once more at the end, its first entry in `numbers`.
        numbers: Per entry an element. A code without elements, such as that of NULL, has `nothing` as its only one.
        counts: Per element, the records of the whole source that have it.
        nothing: The element of cells without any, if there are such.
    """

    starts: NDArray[np.int64]
    numbers: NDArray[np.int64]
    counts: NDArray[np.int64]
    nothing: int | None = None

    @classmethod
    def of(cls, records: NDArray[np.int64], codes: NDArray[np.int64], elements: NDArray[np.int64]) -> ListedElements:
        """The elements, by any numbers, of codes that have so many `records`; each pair stands once."""
        empty = np.setdiff1d(np.arange(len(records)), codes)
        found = int(elements.max(initial=-1)) + 1
        codes = np.concatenate([codes, empty])
        elements = np.concatenate([elements, np.full(len(empty), found)])
        counts = np.zeros(found + bool(len(empty)), np.int64)
        np.add.at(counts, elements, records[codes])
        order = np.argsort(-counts, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        by_code = np.lexsort((rank[elements], codes))
        starts = np.searchsorted(codes[by_code], np.arange(len(records) + 1))
        return cls(starts, rank[elements][by_code], counts[order], int(rank[found]) if len(empty) else None)

    def entries(self, codes: NDArray[np.integer[Any]]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The elements of each of the codes: the position of the code among these, and the element."""
        first, lengths = self.starts[codes], self.starts[codes + 1] - self.starts[codes]
        of = np.repeat(np.arange(len(codes)), lengths)
        among = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        return of, self.numbers[among]

    def spread(self, values: ClassValues) -> ClassValues:
        """How the classes spread over the elements: a record counts for each of its own."""
        of, elements = self.entries(values.values)
        width = len(self.counts)
        keys, inverse = np.unique(values.classes[of].astype(np.int64) * width + elements, return_inverse=True)
        counts = np.zeros(len(keys), np.int64)
        np.add.at(counts, inverse, values.counts[of])
        return ClassValues((keys // width).astype(np.intp), (keys % width).astype(np.intp), counts)


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
