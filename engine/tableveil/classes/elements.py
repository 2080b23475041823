"""The elements of a column whose cells are lists: which cell has which, and how classes spread over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.model import ClassValues


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
