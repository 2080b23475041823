"""Packed keys: the groups of all quasi-identifiers in as few 64-bit integers as they fit into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_WORD = 2**63 - 1


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """The word and the stride of each attribute's group number: key[word[j]] = sum of group[j] * stride[j].

    One integer key groups several times faster than nine columns, so attributes share
    a word for as long as the product of their numbers of groups fits; the last attribute of a word has stride 1.
    """

    radices: tuple[int, ...]
    word: tuple[int, ...]
    stride: tuple[int, ...]

    @classmethod
    def of(cls, radices: Sequence[int]) -> KeyLayout:
        """The layout for attributes with `radices[j]` groups each."""
        parts: list[list[int]] = []
        space = LARGEST_WORD + 1
        for j, radix in enumerate(radices):
            space *= max(radix, 1)
            if space > LARGEST_WORD:
                parts.append([])
                space = max(radix, 1)
            parts[-1].append(j)
        word, stride = [0] * len(radices), [1] * len(radices)
        for number, part in enumerate(parts):
            step = 1
            for j in reversed(part):
                word[j], stride[j] = number, step
                step *= max(radices[j], 1)
        return cls(tuple(radices), tuple(word), tuple(stride))

    @property
    def space(self) -> int:
        """How many different keys there could be."""
        return math.prod(max(radix, 1) for radix in self.radices)

    @property
    def words(self) -> int:
        """Number of 64-bit integers a key takes."""
        return max(self.word, default=0) + 1

    def pack(self, groups: Sequence[NDArray[np.integer[Any]]]) -> tuple[NDArray[np.int64], ...]:
        """Packs the group numbers of every attribute into the words of keys."""
        words = tuple(np.zeros(len(groups[0]) if groups else 0, np.int64) for _ in range(self.words))
        for word, stride, group in zip(self.word, self.stride, groups, strict=True):
            words[word][:] += group * np.int64(stride)
        return words

    def unpack(self, words: Sequence[NDArray[np.int64]], attribute: int) -> NDArray[np.int64]:
        """The group numbers of one attribute, taken out of packed keys."""
        return words[self.word[attribute]] // self.stride[attribute] % max(self.radices[attribute], 1)
