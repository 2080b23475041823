"""Counting every subset of the quasi-identifiers from one histogram."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.frequencies import Frequencies
from tableveil.risk.prosecutor import ClassSizes

Subset = tuple[int, ...]

MOST_CELLS = 1 << 22
"""Cells of a table of all combinations of some attributes: 32 MB, much of which still stays in the last cache."""

WIDENED_CELLS = 1 << 17
"""A table may take extra attributes up to this number of cells: larger tables fill several times slower."""

FEWEST_CELLS = 1 << 12

MOST_ROWS = 1 << 25
"""Rows of a histogram whose numbers are added up in tables: see `_Rows`."""

PIECE = 1 << 14
"""Rows processed at a time, so that numpy's intermediate arrays stay in the first caches."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedSubset:
    """One subset, counted.

    Attributes:
        attributes: Positions of the quasi-identifiers, ascending.
        counts: Records per distinct combination of their values, in no particular order.
        unique: The histogram's rows whose record is alone with its values in these attributes.
    """

    attributes: Subset
    counts: NDArray[np.int64]
    unique: NDArray[np.int64]


def counted_subsets(frequencies: Frequencies, size: int) -> Iterator[CountedSubset]:
    """All subsets of 1 to `size` attributes, each after all of its own subsets with one attribute less.

    Subsets whose values have few combinations are counted in tables with a cell per combination. One pass over the
    histogram fills such a table for a set of attributes that contains several of them; its subsets are sums along the
    table's axes. A subset with more combinations than cells is counted by sorting the histogram's rows.

    A cell holds, beside the number of its records, the sum of their rows' numbers: if it has one record, that sum is
    its row. So unique records are found without another look at the histogram.
    """
    wanted = [s for members in range(1, size + 1) for s in combinations(range(len(frequencies.values)), members)]
    done: set[Subset] = set()
    for counted in _in_tables(frequencies, wanted):
        done.add(counted.attributes)
        yield counted
    for subset in wanted:
        if subset not in done:
            yield _sorted(frequencies, subset)


def _in_tables(frequencies: Frequencies, wanted: Sequence[Subset]) -> Iterator[CountedSubset]:
    """Counts those of the wanted subsets that have few combinations."""
    number = len(frequencies.records)
    most = min(max(number, FEWEST_CELLS), MOST_CELLS) if number <= MOST_ROWS else 0
    rows = _Rows(frequencies)
    done: set[Subset] = set()
    for members in _tables(frequencies.values, wanted, most):
        table = _Table(frequencies.values, members, rows.cells(members), rows.shift)
        for subset in wanted:
            if subset not in done and set(subset) <= set(members):
                done.add(subset)
                yield table.counted(subset)


def _tables(values: Sequence[int], wanted: Sequence[Subset], most: int) -> list[Subset]:
    """Sets of attributes with at most `most` cells; every wanted subset with so few cells is in one of them.

    Greedy: the largest subset that is in no set yet is extended by the attribute that brings in most other subsets, and
    so on up to `WIDENED_CELLS`.
    """

    def cells(subset: Subset) -> int:
        return math.prod(values[j] for j in subset)

    widened = min(most, WIDENED_CELLS)
    fitting = [subset for subset in wanted if cells(subset) <= most]
    fitting.sort(key=lambda subset: (len(subset), cells(subset)), reverse=True)
    contains = np.zeros((len(fitting), len(values)), np.bool_)
    for row, subset in zip(contains, fitting, strict=True):
        row[list(subset)] = True
    open_ = np.ones(len(fitting), np.bool_)
    tables: list[Subset] = []
    for i, subset in enumerate(fitting):
        if not open_[i]:
            continue
        members = subset
        # The attributes of each open subset that are not among the members.
        left = contains & open_[:, None]
        left[:, list(members)] = False
        while more := [j for j in range(len(values)) if j not in members and cells((*members, j)) <= widened]:
            lacks = left.sum(axis=1)
            best = max(more, key=lambda j: (int((left[:, j] & (lacks == 1)).sum()), -values[j]))
            members = (*members, best)
            left[:, best] = False
        counted = open_ & ~left.any(axis=1)
        open_ &= ~counted
        # Members that were added and then helped to bring in no subset are removed again.
        tables.append(tuple(np.flatnonzero(contains[counted].any(axis=0)).tolist()))
    return tables


class _Rows:
    """The histogram's rows in a form that can be added up in tables.

    `np.bincount` is the fastest way to add up, and adds doubles. So each row adds its records and, 2^52 times smaller,
    its number. The sum for one record is between 1 and 2, where the lowest bits of a double are multiples of 2^-52:
    they are the row's number. Other sums are rounded, but rounding and rows' numbers add less than 1 to the records for
    up to `MOST_ROWS` rows and 2^31 records: the whole part is the number of records.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        self._frequencies = frequencies
        self._added = np.arange(len(frequencies.records), dtype=np.float64)
        self._added *= 2.0**-52
        self._added += frequencies.records
        self._keys = np.empty(len(frequencies.records), np.intp)
        # At least the twelve bits of a double outside its fraction.
        self.shift = max(frequencies.total.bit_length(), 12)

    def cells(self, members: Subset) -> NDArray[np.uint64]:
        """The cells of some attributes: records below 2^shift; above it, the row's number if there is one record."""
        for start in range(0, len(self._keys), PIECE):
            piece = slice(start, start + PIECE)
            self._keys[piece] = _keys(self._frequencies, members, piece)
        space = math.prod(self._frequencies.values[j] for j in members)
        sums = np.bincount(self._keys, self._added, space)
        records = sums.astype(np.uint64)
        cells = sums.view(np.uint64)
        cells <<= np.uint64(self.shift)
        cells |= records
        return cells


class _Table:
    """The cells of some attributes, and of their subsets on demand."""

    def __init__(self, values: Sequence[int], members: Subset, cells: NDArray[np.uint64], shift: int) -> None:
        self._values = values
        self._cells = {members: cells}
        # Sums of records stay below 2^shift; sums of rows' numbers above it may wrap around without harm.
        self._shift = shift

    def counted(self, subset: Subset) -> CountedSubset:
        """Counts a subset of the table's attributes."""
        cells = self._summed(subset)
        cells = cells[cells != 0]
        counts = (cells & np.uint64((1 << self._shift) - 1)).view(np.int64)
        unique = (cells[counts == 1] >> np.uint64(self._shift)).view(np.int64)
        return CountedSubset(subset, counts, unique)

    def _summed(self, subset: Subset) -> NDArray[np.uint64]:
        """The cells of a subset, summed from those with one attribute more: the smallest, preferably present ones."""
        if subset not in self._cells:
            members = next(iter(self._cells))
            more = [tuple(sorted((*subset, j))) for j in members if j not in subset]
            there = [superset for superset in more if superset in self._cells] or more
            superset = min(there, key=lambda superset: math.prod(self._values[j] for j in superset))
            (j,) = set(superset) - set(subset)
            after = math.prod(self._values[i] for i in superset if i > j)
            # Sums one axis of three at a time: sums over several axes of many are several times slower.
            parts = self._summed(superset).reshape(-1, self._values[j], after)
            self._cells[subset] = parts.sum(axis=1, dtype=np.uint64).reshape(-1)
        return self._cells[subset]


def _sorted(frequencies: Frequencies, subset: Subset) -> CountedSubset:
    """Counts a subset by sorting keys together with the rows' numbers, in one 64-bit integer each."""
    rows = len(frequencies.records)
    bits = rows.bit_length()
    keys = _keys(frequencies, subset, slice(None), most=1 << (63 - bits)).astype(np.int64)
    keys <<= bits
    keys |= np.arange(rows)
    keys.sort()
    row = keys & ((1 << bits) - 1)
    keys >>= bits
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.add.reduceat(frequencies.records[row], starts)
    return CountedSubset(subset, counts, row[starts[counts == 1]])


def records_by_values(frequencies: Frequencies, subset: Subset) -> NDArray[np.int64]:
    """The number of records of each distinct combination of values of some attributes, in no particular order."""
    keys = _keys(frequencies, subset, slice(None))
    space = math.prod(frequencies.values[j] for j in subset)
    if space <= MOST_CELLS:
        # Sums of records are below 2^31, and exact in floating point.
        cells: NDArray[np.int64] = np.bincount(keys, frequencies.records, space).astype(np.int64)
        occupied: NDArray[np.int64] = cells[cells != 0]
        return occupied
    order = np.argsort(keys)
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    records: NDArray[np.int64] = np.add.reduceat(frequencies.records[order], starts)
    return records


def _keys(frequencies: Frequencies, subset: Subset, rows: slice, most: int = 1 << 63) -> NDArray[np.signedinteger[Any]]:
    """Per row a number below `most` for its values of these attributes; numbers are made smaller where they must be."""
    first, *others = subset
    few = math.prod(frequencies.values[j] for j in subset) <= 1 << 31
    kind: type[np.signedinteger[Any]] = np.int32 if few else np.int64
    keys = frequencies.codes[first][rows].astype(kind)
    space = frequencies.values[first]
    for j in others:
        if space * frequencies.values[j] > most:
            occurring, keys = np.unique(keys, return_inverse=True)
            space = len(occurring)
        keys *= frequencies.values[j]
        # Numpy would add mixed types piece by piece.
        keys += frequencies.codes[j][rows].astype(kind)
        space *= frequencies.values[j]
    return keys


def class_sizes_by(frequencies: Frequencies, attributes: Sequence[int]) -> ClassSizes:
    """The sizes of the classes by quasi-identifiers at these positions; there is at least one."""
    if len(set(attributes)) == len(frequencies.values):
        return frequencies.sizes
    return ClassSizes.of(records_by_values(frequencies, tuple(sorted(set(attributes)))))
