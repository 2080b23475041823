"""Labels of sets of combinations: the most specific ones that all members share, and their cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels

Integers = NDArray[np.integer[Any]]

FORBIDDEN = 1e6
"""The cost of labels that level limits do not allow: finite, so that sums of products stay numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnLabels:
    """The labels that one quasi-identifier may have; values are numbered so that those of a label stand together.

    Attributes:
        levels: The levels it may have, ascending.
        groups: Shape (levels, values): the group of each value.
        costs: Shape (levels + 1, values): the cost of the value's label; the last row is no label.
    """

    levels: tuple[int, ...]
    groups: NDArray[np.int32]
    costs: NDArray[np.float64]

    def shared(self, one: Integers, other: Integers) -> NDArray[np.int64]:
        """The index of the first level at which both values have one label; `len(levels)` if there is none.

        Labels nest, so that it is the number of levels at which they differ.
        """
        shared = np.zeros(np.broadcast_shapes(one.shape, other.shape), np.int64)
        for groups in self.groups:
            shared += groups[one] != groups[other]
        return shared


@dataclass(frozen=True, slots=True, eq=False)
class CombinationLabels:
    """Combinations as numbers of values, in the order of `ColumnLabels`: shape (combinations, quasi-identifiers)."""

    columns: tuple[ColumnLabels, ...]
    values: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        attributes: Sequence[AttributeLevels],
        codes: Integers,
        costs: Sequence[Sequence[NDArray[np.float64]]],
        allowed: Sequence[Sequence[int]],
    ) -> CombinationLabels:
        """The labels at the allowed levels of each quasi-identifier."""
        columns, values = [], np.empty(codes.shape, np.int32)
        for j, attribute in enumerate(attributes):
            order = np.lexsort(attribute.groups)
            rank = np.empty(len(order), np.int32)
            rank[order] = np.arange(len(order), dtype=np.int32)
            values[:, j] = rank[codes[:, j]]
            levels = tuple(allowed[j])
            groups = np.array([attribute.groups[level][order] for level in levels], np.int32)
            per_value = [costs[j][level][attribute.groups[level][order]] for level in levels]
            columns.append(ColumnLabels(levels, groups, np.array([*per_value, np.full(len(order), FORBIDDEN)])))
        return cls(tuple(columns), values)

    def of_sets(self, rows: Integers, starts: Integers) -> Sets:
        """The labels of sets of combinations, each the `rows` from one start to the next."""
        values = self.values[rows]
        if not len(starts):
            return self.between(self.values[:0], self.values[:0])
        # Values of a label stand together: the first and the last member share what all share.
        low = np.minimum.reduceat(values, starts, axis=0)
        return self.between(low, np.maximum.reduceat(values, starts, axis=0))

    def between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> Sets:
        """The labels of sets by their first and last values, shape (sets, quasi-identifiers)."""
        levels = np.empty(low.shape, np.int64)
        costs = np.zeros(len(low))
        for j, column in enumerate(self.columns):
            levels[:, j] = column.shared(low[:, j], high[:, j])
            costs += column.costs[levels[:, j], low[:, j]]
        return Sets(low, levels, costs)

    def components(self) -> NDArray[np.int64]:
        """Per combination the number of those it shares the most general labels with: no class holds others."""
        # Most columns have one label for all: rows of numbers are compared for the others only.
        tops = [
            column.groups[-1][self.values[:, j]] for j, column in enumerate(self.columns) if column.groups[-1].any()
        ]
        if not tops:
            return np.zeros(len(self.values), np.int64)
        number: NDArray[np.int64] = np.unique(np.column_stack(tops), axis=0, return_inverse=True)[1]
        return number

    def chosen(self, rows: Integers) -> CombinationLabels:
        """Some of the combinations."""
        return CombinationLabels(self.columns, self.values[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Labels of sets: the value of a member and the index of the level, per set and column; the cost of a record."""

    values: NDArray[np.int32]
    levels: NDArray[np.int64]
    costs: NDArray[np.float64]


def sets_of(classes: Integers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows in the order of their classes, and where each class that occurs starts."""
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    return order, np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]] if len(ordered) else [])


def renumbered(classes: Integers) -> NDArray[np.int64]:
    """Classes numbered from 0 without gaps, in their order; those below 0 stay."""
    numbers = np.full(len(classes), -1, np.int64)
    inside = classes >= 0
    numbers[inside] = np.unique(classes[inside], return_inverse=True)[1]
    return numbers
