"""Random tables some of whose columns are aggregated, and the loss of these columns record by record."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from tableveil.aggregation.coordinates import AggregatedColumn
from tableveil.classes import NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Transformation
from tableveil.policy import AggregateFunction, Aggregation, LossModel, Scale
from tableveil.quality import Loss, quality_of
from tests.engine.random_tables import Table, tables

REGIONS = InlineLevels((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "e", "*")))


@dataclass(frozen=True)
class Column:
    """An aggregated column: numbers, or, if nominal, the values of `REGIONS` by their position."""

    values: tuple[float, ...]
    weight: float
    nominal: bool

    def aggregated(self) -> AggregatedColumn:
        positions, counts = np.unique(np.array(self.values), return_counts=True)
        if not self.nominal:
            return AggregatedColumn("amount", Aggregation(), counts, positions, weight=self.weight)
        mode = Aggregation(AggregateFunction.MODE, Scale.NOMINAL)
        return AggregatedColumn("region", mode, counts, positions, self._levels(), weight=self.weight)

    def _levels(self) -> AttributeLevels:
        names = [REGIONS.rows[int(value)][0] for value in sorted(set(self.values))]
        return attribute_levels(label_values(REGIONS, ValueKind.TEXT, names, names), False)

    def squared_distance(self, i: int, j: int) -> Fraction:
        """The squared distance of two values; for nominal ones, of the least level with a common label."""
        if not self.nominal:
            return (Fraction(self.values[i]) - Fraction(self.values[j])) ** 2
        one, other = REGIONS.rows[int(self.values[i])], REGIONS.rows[int(self.values[j])]
        return Fraction(next(level for level in range(3) if one[level] == other[level]), 2) ** 2

    def squared_distances(self, records: Sequence[int]) -> Fraction:
        """The sum over all pairs."""
        return sum((self.squared_distance(i, j) for i, j in combinations(records, 2)), Fraction())


@dataclass(frozen=True)
class Mixed:
    """A table with more columns, which are aggregated; `set_aside` records more have no value in one of these."""

    table: Table
    columns: tuple[Column, ...]
    set_aside: int
    suppressible: int

    @property
    def aggregated(self) -> tuple[tuple[int, AggregatedColumn], ...]:
        """With their positions."""
        return tuple(enumerate(column.aggregated() for column in self.columns))

    def counter(self, kind: type[NumpyCounter] = NumpyCounter) -> NumpyCounter:
        """A new counter of the table."""
        within = [i for i, record in enumerate(self.table.records) if not self.table.withheld(record)]
        rows = {record: row for row, record in enumerate(dict.fromkeys(self.table.records[i] for i in within))}
        counts = Counter(rows[self.table.records[i]] for i in within)
        groups = [np.array([self._code(j, row[j]) for row in rows], np.int32) for j in range(len(self.table.levels))]
        sensitive = []
        for number, column in self.aggregated:
            values = np.searchsorted(column.positions, self.columns[number].values).tolist()
            spread = Counter((rows[self.table.records[i]], values[i]) for i in within)
            entries = np.array(sorted(spread), np.int64).reshape(-1, 2)
            records = np.array([spread[row, code] for row, code in entries.tolist()], np.int64)
            known = SensitiveColumn(column.column, column.counts, protected=False)
            sensitive.append((known, SensitiveRows(entries[:, 0], entries[:, 1], records)))
        return kind(
            self.table.levels,
            groups,
            np.array([counts[row] for row in range(len(rows))], np.int64),
            withheld=len(self.table.records) - len(within) + self.set_aside,
            sensitive=sensitive,
        )

    def quality(self, model: LossModel, counter: NumpyCounter) -> Loss:
        """The model over that counter."""
        found = quality_of(model, counter, self.table.weights, self.suppressible, aggregated=self.aggregated)
        assert isinstance(found, Loss)
        return found

    def part(self, number: int, x: Transformation, model: LossModel) -> float:
        """The loss of a column at a transformation that keeps the classes of at least k.

        By distances between pairs: their squares, over the number of records, sum up to those to the mean.
        """
        column, everyone = self.columns[number], range(len(self.table.records))
        exact = Fraction(model.factor)
        g, s = (Fraction(1), 2 * exact) if exact <= Fraction(1, 2) else (2 - 2 * exact, Fraction(1))
        variance = column.squared_distances(everyone) / len(everyone) ** 2
        if not variance:
            return 0.0
        around = [
            sum((column.squared_distance(i, j) for j in everyone), Fraction()) / len(everyone) - variance
            for i in everyone
        ]
        cost = s * self.set_aside * variance
        classes: dict[tuple[int, ...], list[int]] = {}
        for i, record in enumerate(self.table.records):
            if self.table.withheld(record):
                cost += s * around[i]
            else:
                classes.setdefault(self._labels(i, x), []).append(i)
        for members in classes.values():
            within = column.squared_distances(members) / len(members)
            lost = s * sum((around[i] for i in members), Fraction()) + (1 - s) * within
            kept = len(members) >= self.table.k or model.monotone
            cost += g * within if kept else lost
        return float(cost / variance / (len(everyone) + self.set_aside))

    def _code(self, j: int, value: str | None) -> int:
        """As the table's levels count: values in order, NULL last."""
        present = sorted({record[j] for record in self.table.records}, key=lambda value: (value is None, value or ""))
        return present.index(value)

    def _labels(self, record: int, x: Transformation) -> tuple[int, ...]:
        values = self.table.records[record]
        return tuple(int(self.table.levels[j].groups[level][self._code(j, values[j])]) for j, level in enumerate(x))


@st.composite
def mixed(draw: st.DrawFn) -> Mixed:
    """Values are few, so that classes have equal ones; some numbers are far from all others."""
    table = draw(tables(most_attributes=2))
    number = len(table.records)
    numbers = st.sampled_from([0.0, 1.0, 2.0, 2.5, 7.0, -3.0, 1e6])
    columns = []
    for nominal in draw(st.lists(st.booleans(), min_size=1, max_size=2)):
        values = draw(st.tuples(*[st.integers(0, len(REGIONS.rows) - 1).map(float) if nominal else numbers] * number))
        columns.append(Column(values, draw(st.sampled_from([1.0, 1.0, 0.0, 0.5, 3.7])), nominal))
    set_aside = draw(st.sampled_from([0, 0, 1, 5]))
    suppressible = draw(st.sampled_from([0, number + set_aside]) | st.integers(0, number + set_aside))
    return Mixed(table, tuple(columns), set_aside, suppressible)
