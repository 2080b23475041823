"""Known facts of people, so many rows with a label in an event table; and which of their rows chance leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class RowFacts:
    """Per entry, `counts` rows of a person with a label; sorted by person, then label, which have one entry each."""

    people: Ints
    labels: Ints
    counts: Ints

    @classmethod
    def of(cls, people: Ints, labels: Ints, counts: Ints, number: int) -> RowFacts:
        """The facts of rows in any order, by one of so many labels; equal ones become one, with all their rows."""
        return cls.grouped(people, labels, counts, number)[0]

    @classmethod
    def grouped(cls, people: Ints, labels: Ints, counts: Ints, number: int) -> tuple[RowFacts, NDArray[np.intp]]:
        """The facts, as `of` makes them, and the place of each entry among them."""
        if not len(people):
            return cls(people, labels, counts), np.zeros(0, np.intp)
        keys = people.astype(np.int64) * number + labels
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        first = np.flatnonzero(new)
        places = np.empty(len(keys), np.intp)
        places[order] = np.cumsum(new) - 1
        found = ordered[first]
        totals = np.add.reduceat(counts[order], first).astype(np.int32)
        return cls((found // number).astype(np.int32), (found % number).astype(np.int32), totals), places

    def __len__(self) -> int:
        return len(self.people)

    def selected(self, chosen: NDArray[np.bool_]) -> RowFacts:
        """The facts of the mask."""
        return RowFacts(self.people[chosen], self.labels[chosen], self.counts[chosen])


def supports(keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], int]:
    """Small numbers for keys, equal for equal ones, and how many numbers there are; some may stand for no key."""
    if not len(keys):
        return np.zeros(0, np.intp), 0
    most = int(keys.max()) + 1
    if most <= 4 * len(keys) + 1_000_000:
        return keys, most
    found, numbers = np.unique(keys, return_inverse=True)
    return numbers.reshape(-1), len(found)


def capped(people: Ints, most: int, chance: np.random.Generator) -> NDArray[np.bool_]:
    """The rows that are left if everybody keeps at most so many, chosen by chance."""
    order = np.lexsort((chance.random(len(people)), people))
    left = np.zeros(len(people), np.bool_)
    left[order[_place(people[order]) < most]] = True
    return left


def kept_rows(fact_of: NDArray[np.intp], counts: Ints, kept: Ints, chance: np.random.Generator) -> NDArray[np.bool_]:
    """The rows that are kept, so many of each fact; where these are not all, they are chosen by chance."""
    chosen: NDArray[np.bool_] = (kept == counts)[fact_of]
    some = np.flatnonzero(((kept > 0) & (kept < counts))[fact_of])
    order = some[np.lexsort((chance.random(len(some)), fact_of[some]))]
    chosen[order] = _place(fact_of[order]) < kept[fact_of[order]]
    return chosen


def _place(of: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """The place of each entry in its run of equal ones, from 0."""
    starts = np.flatnonzero(np.concatenate([[True], of[1:] != of[:-1]]))
    if not len(of):
        return np.zeros(0, np.intp)
    return np.arange(len(of)) - np.repeat(starts, np.diff(np.append(starts, len(of))))
