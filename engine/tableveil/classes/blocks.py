"""Quasi-identifiers taken together in blocks, so that the key of a row is the sum of a few table lookups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.between import LevelMaps
from tableveil.classes.keys import KeyLayout
from tableveil.lattice import Transformation

CELLS = 4096
"""Most combinations of a block: a table of so many 8-byte numbers stays in a core's first two caches."""


class Blocks:
    """Rows by their groups at `at`, packed by blocks of neighbouring attributes that have few combinations together.

    The part that an attribute adds to a key depends on its group alone, so the parts of a block's attributes are added
    once per combination instead of once per row: with twelve attributes of some six groups each, four lookups a row
    do what twelve did.
    """

    def __init__(self, at: Transformation, groups: Sequence[NDArray[np.intp]], maps: LevelMaps) -> None:
        self._at = at
        self._maps = maps
        self._members: list[list[int]] = []
        cells = CELLS + 1
        for j, level in enumerate(at):
            cells *= maps.size(j, level)
            if cells > CELLS:
                self._members.append([])
                cells = maps.size(j, level)
            self._members[-1].append(j)
        self._codes = [self._packed(members, groups) for members in self._members]

    def keys(self, transformation: Transformation, layout: KeyLayout) -> tuple[NDArray[np.int64], ...]:
        """The key of each row at the transformation, one array per word of the layout."""
        words: list[NDArray[np.int64] | None] = [None] * layout.words
        for members, codes in zip(self._members, self._codes, strict=True):
            for word in range(layout.words):
                table = self._table(members, transformation, layout, word)
                if table is None:
                    continue
                part = table.take(codes)
                so_far = words[word]
                words[word] = part if so_far is None else np.add(so_far, part, out=so_far)
        rows = len(self._codes[0]) if self._codes else 0
        return tuple(np.zeros(rows, np.int64) if word is None else word for word in words)

    def _packed(self, members: Sequence[int], groups: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
        codes = groups[members[0]]
        for j in members[1:]:
            codes = codes * self._maps.size(j, self._at[j]) + groups[j]
        return codes

    def _table(
        self, members: Sequence[int], transformation: Transformation, layout: KeyLayout, word: int
    ) -> NDArray[np.int64] | None:
        """What each combination of a block adds to a word of the key; None if that is nothing."""
        if all(layout.word[j] != word or layout.radices[j] <= 1 for j in members):
            return None
        table = np.zeros(1, np.int64)
        for j in members:
            if layout.word[j] == word and layout.radices[j] > 1:
                part = self._maps.between(j, self._at[j], transformation[j]).astype(np.int64) * layout.stride[j]
            else:
                part = np.zeros(self._maps.size(j, self._at[j]), np.int64)
            table = (table[:, None] + part).reshape(-1)
        return table
