"""Asks a privacy rule about sets of combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, KeyLayout, SensitiveRows
from tableveil.local_recoding.labels import Integers
from tableveil.local_recoding.problem import SUPPRESSED, LocalPartition, LocalProblem


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """Which values of a sensitive column the records of each combination have, sparse."""

    starts: NDArray[np.intp]
    values: NDArray[np.integer[Any]]
    counts: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, rows: SensitiveRows, combinations: int, width: int) -> _Spread:
        return cls(np.searchsorted(rows.rows, np.arange(combinations + 1)), rows.values, rows.counts, width)

    def within(self, rows: Integers, sets: Integers) -> ClassValues:
        first, lengths = self.starts[rows], self.starts[rows + 1] - self.starts[rows]
        entries = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        keys = np.repeat(sets, lengths) * np.int64(self.width) + self.values[entries]
        occurring, inverse = np.unique(keys, return_inverse=True)
        counts = np.zeros(len(occurring), np.int64)
        np.add.at(counts, inverse, self.counts[entries])
        return ClassValues((occurring // self.width).astype(np.intp), (occurring % self.width).astype(np.intp), counts)


class Judge:
    """Knows which sets of a problem's combinations are classes that may be released.

    A set has the population's records of its own combinations: no record is counted for two classes.
    """

    def __init__(self, problem: LocalProblem) -> None:
        self._problem = problem
        self._spreads = [
            _Spread.of(rows, len(problem.counts), len(column.counts)) for column, rows in problem.sensitive
        ]
        self.smallest = max(problem.privacy.minimum_class_size, 1)
        self.sizes_only = problem.privacy.sizes_only

    def releasable(self, rows: Integers, starts: Integers) -> NDArray[np.bool_]:
        """Per set, whether it may be released; sets are the rows from one start to the next."""
        counts = np.add.reduceat(self._problem.counts[rows], starts) if len(starts) else np.zeros(0, np.int64)
        kept = counts >= self.smallest
        if self.sizes_only or not kept.any():
            return kept
        lengths = np.diff(starts, append=len(rows))
        chosen = rows[np.repeat(kept, lengths)]
        sets = np.repeat(np.arange(np.count_nonzero(kept)), lengths[kept])
        kept[kept] = self._problem.privacy.releasable(self._classes(chosen, sets, counts[kept]))
        return kept

    def may_hold_released(self, rows: Integers, starts: Integers) -> NDArray[np.bool_]:
        """Per set, whether a part of it, or it, could be released: the rules do not know all its records to be lost."""
        counts = np.add.reduceat(self._problem.counts[rows], starts)
        possible = counts >= self.smallest
        if self.sizes_only or not self._problem.privacy.knows_lost:
            return possible
        sets = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
        lost = self._problem.privacy.lost(self._classes(rows, sets, counts))
        return possible if lost is None else possible & (lost < counts)

    def may_suppress_others(self, classes: NDArray[np.int64]) -> bool:
        """Whether combinations without a class may be suppressed as the policy shows them; they may be none."""
        may_show = self._problem.may_show_others
        return may_show is None or may_show(self.released(classes))

    def released(self, classes: NDArray[np.int64]) -> EquivalenceClasses:
        """The classes with their details, in the order of their numbers; none of them knows its labels."""
        rows = np.flatnonzero(classes != SUPPRESSED)
        rows = rows[np.argsort(classes[rows], kind="stable")]
        sets = np.unique(classes[rows], return_inverse=True)[1]
        counts = np.bincount(sets, self._problem.counts[rows]).astype(np.int64)
        return self._classes(rows, sets, counts)

    def _classes(self, rows: Integers, sets: Integers, counts: NDArray[np.int64]) -> EquivalenceClasses:
        """No rule looks at labels: all have the most general ones."""
        top = tuple(attribute.top for attribute in self._problem.levels)
        details = _Details(self._spreads, self._problem.population, rows, sets, len(counts))
        layout = KeyLayout.of([1] * len(top))
        return EquivalenceClasses(layout, (np.zeros(len(counts), np.int64),), counts, top, details)


def released_classes(problem: LocalProblem, recoding: LocalPartition) -> EquivalenceClasses:
    """The released classes with their details, in the order of their numbers; none of them knows its labels."""
    return Judge(problem).released(recoding.classes)


def labels_of(problem: LocalProblem, recoding: LocalPartition) -> NDArray[np.int64]:
    """The level and the group of every label: shape (classes, quasi-identifiers, 2)."""
    numbers, first = np.unique(recoding.classes, return_index=True)
    members = first[numbers != SUPPRESSED]
    groups = np.empty_like(recoding.levels)
    for j, attribute in enumerate(problem.levels):
        by_level = np.stack([of[problem.codes[members, j]] for of in attribute.groups])
        groups[:, j] = by_level[recoding.levels[:, j], np.arange(len(members))]
    return np.stack([recoding.levels, groups], axis=2)


@dataclass(frozen=True, slots=True, eq=False)
class _Details:
    """The values and the population of sets, beyond their sizes."""

    spreads: Sequence[_Spread]
    people: NDArray[np.int64] | None
    rows: Integers
    sets: Integers
    number: int

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.sets.nbytes

    def values(self, attribute: int) -> ClassValues:
        return self.spreads[attribute].within(self.rows, self.sets)

    def population(self) -> NDArray[np.int64]:
        assert self.people is not None, "a rule that asks for the population is given it"
        return np.bincount(self.sets, self.people[self.rows], self.number).astype(np.int64)

    def population_only(self) -> int:
        return 0

    def selected(self, mask: NDArray[np.bool_]) -> _Details:
        member = mask[self.sets]
        number = np.cumsum(mask) - 1
        return _Details(
            self.spreads, self.people, self.rows[member], number[self.sets[member]], int(np.count_nonzero(mask))
        )
