"""Rows held as few narrow columns: each block packs neighbouring quasi-identifiers together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import LevelMaps
from tableveil.lattice import Transformation

CELLS = 4096
"""The most combinations a block may have: a table of so many numbers stays in a core's first two caches."""

PIECE = 1 << 15
"""Rows that are looked up at a time, so that numpy's intermediate arrays stay in the cache too."""

DENSE = 4
"""Up to this number of places per row, places are used as they are; beyond it, those that occur are numbered."""

MARKED = 8
"""Up to this number of places per row, marking finds those that occur, which is faster; beyond it, sorting does."""


class Blocks:
    """Rows by their groups at `at`, packed into blocks of neighbouring attributes with few combinations together.

    An attribute's part of a key depends on its group alone. So the parts of a block's attributes are added once per
    combination instead of once per row: with twelve attributes of some six groups each, four lookups a row do the work
    of twelve. A block's column has one or two bytes per row, unless a single attribute has more groups than that.
    """

    def __init__(self, at: Transformation, groups: Sequence[NDArray[np.integer[Any]]], maps: LevelMaps) -> None:
        self._maps = maps
        self._at = at
        self._sizes = [maps.size(j, level) for j, level in enumerate(at)]
        self._rows = len(groups[0]) if groups else 0
        self._members: list[list[int]] = []
        cells = CELLS + 1
        for j, size in enumerate(self._sizes):
            cells *= size
            if cells > CELLS:
                self._members.append([])
                cells = size
            self._members[-1].append(j)
        self._columns = [self._packed(members, groups) for members in self._members]

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return sum(column.nbytes for column in self._columns)

    def places(
        self, transformation: Transformation, radices: Sequence[int]
    ) -> tuple[NDArray[np.signedinteger[Any]], int]:
        """Per row the place of its class, and the number of places: at most `DENSE` per row, or as many as classes.

        Rows have the same place if they are in the same class at the transformation, where quasi-identifier j has
        `radices[j]` groups. Places are in the order of the classes' keys; if there are as many places as possible keys,
        the places are the keys.
        """
        places: NDArray[np.signedinteger[Any]] = np.zeros(self._rows, np.int32)
        space = 1
        markable = MARKED * self._rows
        for members, column in zip(self._members, self._columns, strict=True):
            radix = 1
            strides = [0] * len(radices)
            for j in reversed(members):
                strides[j] = radix
                radix *= radices[j]
            if radix <= 1:
                continue
            # Numbers stay below the number of rows, so that the product with a block's radix fits into 64 bits.
            if space > 1 and space * radix > markable:
                places, space = _numbered(places, space, markable)
            space *= radix
            places = places.astype(np.int32 if space <= 2**31 else np.int64, copy=False)
            table = self._table(members, transformation, strides).astype(places.dtype)
            for start in range(0, self._rows, PIECE):
                piece = places[start : start + PIECE]
                piece *= radix
                # Codes are within the table: clipping is faster than checking that they are.
                piece += table.take(column[start : start + PIECE], mode="clip")
        return _numbered(places, space, markable) if space > DENSE * self._rows else (places, space)

    def keys(
        self, transformation: Transformation, layout: KeyLayout, rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.int64], ...]:
        """The keys of these rows at the transformation, one array per word of the layout."""
        words = tuple(np.zeros(len(rows), np.int64) for _ in range(layout.words))
        for members, column in zip(self._members, self._columns, strict=True):
            codes = column[rows]
            for word in {layout.word[j] for j in members}:
                strides = [stride if layout.word[j] == word else 0 for j, stride in enumerate(layout.stride)]
                words[word][:] += self._table(members, transformation, strides)[codes]
        return words

    def marginals(self, counts: NDArray[np.int64], rows: NDArray[np.intp] | slice) -> tuple[NDArray[np.int64], ...]:
        """Per quasi-identifier and group at `at`, the sum of these rows' counts."""
        marginals: list[NDArray[np.int64]] = []
        for members, column in zip(self._members, self._columns, strict=True):
            sums = sums_at(column[rows], counts[rows], math.prod(self._sizes[j] for j in members))
            for i, j in enumerate(members):
                # Sums over one axis of two are several times faster in numpy than over all axes but one of many.
                sums = sums.reshape(self._sizes[j], math.prod(self._sizes[rest] for rest in members[i + 1 :]))
                marginals.append(sums.sum(axis=1))
                sums = sums.sum(axis=0)
        return tuple(marginals)

    def rows_with(self, attribute: int, level: int, groups: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The rows, ascending, whose group of the attribute at the level is in the mask."""
        members, column = next(
            source_column
            for source_column in zip(self._members, self._columns, strict=True)
            if attribute in source_column[0]
        )
        place = members.index(attribute)
        before = math.prod(self._sizes[j] for j in members[:place])
        after = math.prod(self._sizes[j] for j in members[place + 1 :])
        among = groups[self._maps.between(attribute, self._at[attribute], level)]
        return np.flatnonzero(np.tile(np.repeat(among, after), before).take(column, mode="clip"))

    def selected(self, rows: NDArray[np.intp]) -> Blocks:
        """These rows alone."""
        blocks = copy(self)
        blocks._rows, blocks._columns = len(rows), [column[rows] for column in self._columns]
        return blocks

    def _packed(self, members: Sequence[int], groups: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.integer[Any]]:
        codes = np.zeros(self._rows, np.int64)
        for j in members:
            codes *= self._sizes[j]
            codes += groups[j]
        return codes.astype(np.min_scalar_type(max(math.prod(self._sizes[j] for j in members) - 1, 0)))

    def _table(
        self, members: Sequence[int], transformation: Transformation, strides: Sequence[int]
    ) -> NDArray[np.int64]:
        """Per combination of a block, the sum of its attributes' parts of the key."""
        table = np.zeros(1, np.int64)
        for j in reversed(members):
            part = self._maps.between(j, self._at[j], transformation[j]).astype(np.int64) * strides[j]
            table = (part[:, None] + table).reshape(-1)
        return table


def sums_at(places: NDArray[np.integer[Any]], counts: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Per place the sum of its rows' counts."""
    sums = np.zeros(number, np.int64)
    np.add.at(sums, places, counts)
    return sums


def _numbered(
    places: NDArray[np.signedinteger[Any]], space: int, markable: int
) -> tuple[NDArray[np.signedinteger[Any]], int]:
    """Per row the number of its place among those that occur, in ascending order; and how many these are."""
    if space > markable:
        occurring, numbers = np.unique(places, return_inverse=True)
        return numbers.astype(np.int32), len(occurring)
    marks = np.zeros(space, np.bool_)
    marks[places] = True
    occurring = np.flatnonzero(marks)
    number = np.empty(space, np.int32)
    number[occurring] = np.arange(len(occurring), dtype=np.int32)
    return number.take(places, mode="clip"), len(occurring)
