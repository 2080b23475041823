"""Which classes a combination would join at least cost, and at what cost."""

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control
from tableveil.local_recoding.labels import ColumnLabels, CombinationLabels, Integers, Sets
from tableveil.local_recoding.problem import SUPPRESSED
from tableveil.numeric.threads import one_core

NEAR = 10
"""Classes that are tried per combination."""

CHUNK = 1 << 22
"""Numbers in the matrices by which near classes are found."""

TOLD_APART = 2048
"""Values of a column that are told apart when near classes are looked for."""

TABLE = 1 << 18
"""Numbers in a table by which the costs of joins are looked up: it should fit into the processor's cache."""

NEVER = 1e15
"""The cost of moves that are not made."""

Floats = NDArray[np.float64]


class Joins:
    """The costs of sets that one more combination joins. A label is known by its level and one of its values."""

    def __init__(self, labels: CombinationLabels) -> None:
        self._columns = labels.columns
        self._values = np.ascontiguousarray(labels.values.T)
        self._tables: list[Floats | None] = [None] * len(labels.columns)
        for j, column in enumerate(labels.columns):
            levels, width = column.costs.shape
            if levels * width * width <= TABLE:
                states, values = np.divmod(np.arange(levels * width * width, dtype=np.int32), width)
                self._tables[j] = self._of_column(j, states, values)

    def states(self, sets: Sets) -> NDArray[np.int32]:
        """The label of each set as one number, shape (columns, sets)."""
        states = [
            level * column.costs.shape[1] + value
            for column, level, value in zip(self._columns, sets.levels.T, sets.values.T, strict=True)
        ]
        return np.array(states, np.int32)

    def costs(self, states: NDArray[np.int32], sets: Integers, rows: Integers) -> Floats:
        """Per record, once the combination in `rows` has joined the set."""
        costs = np.zeros(len(sets))
        for j, state in enumerate(states):
            costs += self._of_column(j, state.take(sets), self._values[j].take(rows))
        return costs

    def _of_column(self, j: int, states: NDArray[np.int32], values: NDArray[np.int32]) -> Floats:
        column, table = self._columns[j], self._tables[j]
        width = column.costs.shape[1]
        costs: Floats
        if table is not None:
            costs = table.take(states * width + values)
        else:
            level, value = np.divmod(states, width)
            level = np.maximum(level, column.shared(value, values))
            costs = column.costs.ravel().take(level * width + value)
        return costs


def nearest(
    labels: CombinationLabels,
    counts: Floats,
    classes: NDArray[np.int64],
    sets: Sets,
    sizes: Floats,
    among: NDArray[np.int64],
    control: Control,
) -> NDArray[np.int64]:
    """Per combination those `among` the classes that it would join at least cost, but its own; shape (rows, near).

    `sets` and `sizes` are by the number of the class. Costs of joins are products of two matrices: what a class would
    cost with each value, and who has which value.
    """
    records = sizes[among].astype(np.float32)
    left, right = [], []
    for j, column in enumerate(labels.columns):
        values, number = _told_apart(column, labels.values[:, j])
        own = sets.values[among, j]
        level = np.maximum(sets.levels[among, j][:, None], column.shared(own[:, None], values[None, :]))
        left.append(column.costs[level, own[:, None]].astype(np.float32))
        one = np.zeros((len(values), len(number)), np.float32)
        one[number, np.arange(len(number))] = 1
        right.append(one)
    of_classes, of_rows = np.concatenate(left, axis=1), np.concatenate(right, axis=0)
    before = sets.costs[among].astype(np.float32) * records
    position = np.full(len(sizes), -1)
    position[among] = np.arange(len(among))
    near = min(NEAR, len(among))
    filled = np.empty((len(classes), near), np.int64)
    step = max(1, CHUNK // len(among))
    # Threads of BLAS wait in a loop for a free core: on a busy machine they take twice the time of one.
    with one_core():
        for start in range(0, len(filled), step):
            control.raise_if_stopped()
            stop = min(start + step, len(filled))
            changes = of_rows[:, start:stop].T @ of_classes.T
            changes *= counts[start:stop, None].astype(np.float32) + records
            changes -= before
            own = position[classes[start:stop]]
            inside = np.flatnonzero((classes[start:stop] != SUPPRESSED) & (own >= 0))
            changes[inside, own[inside]] = np.inf
            filled[start:stop] = among[np.argpartition(changes, near - 1, axis=1)[:, :near]]
    return filled


def _told_apart(column: ColumnLabels, values: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Values that stand for all, and per combination the position of its own: of many values, one of each label."""
    for groups in (np.arange(column.groups.shape[1]), *column.groups):
        _, first, number = np.unique(groups[values], return_index=True, return_inverse=True)
        if len(first) <= TOLD_APART:
            return values[first], number
    # Nothing is shared: the column tells nothing of what is near.
    return values[:1], np.zeros(len(values), np.intp)
