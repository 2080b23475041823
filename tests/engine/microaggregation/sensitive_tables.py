"""Small tables with sensitive columns, as points; their clusters are checked in exact fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import AggregatedColumn, Points, SparseClusters
from tableveil.classes import SensitiveColumn
from tableveil.hierarchy import AttributeLevels
from tableveil.policy.aggregation import Aggregation
from tests.engine.privacy.test_distances import hierarchy


@dataclass(frozen=True)
class Table:
    """Rows of numbers, the codes of sensitive columns, and how many records each row stands for."""

    rows: tuple[tuple[float, ...], ...]
    codes: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    null_first: bool = False
    hierarchical: bool = False

    @property
    def records(self) -> int:
        return sum(self.counts)

    @cached_property
    def points(self) -> Points:
        columns: list[AggregatedColumn] = []
        codes = []
        for values in np.array(self.rows, float).T:
            positions, code = np.unique(values, return_inverse=True)
            counts = np.bincount(code, self.counts).astype(np.int64)
            columns.append(AggregatedColumn(f"q{len(columns)}", Aggregation(), counts, positions))
            codes.append(code.astype(np.int32))
        sensitive = tuple(np.array(column, np.int32) for column in self.codes)
        return Points(tuple(columns), tuple(codes), np.array(self.counts, np.int64), sensitive)

    @cached_property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        found = []
        for number, codes in enumerate(self.codes):
            counts = np.bincount(codes, self.counts).astype(np.int64)
            null = len(counts) - 1 if self.null_first else None
            levels = _pairs(len(counts) - self.null_first, self.null_first) if self.hierarchical else None
            found.append(SensitiveColumn(f"s{number}", counts, null, self.null_first, levels))
        return tuple(found)

    @cached_property
    def repeated(self) -> Table:
        """The table with a row of its own for each record."""
        rows = [row for row, count in zip(self.rows, self.counts, strict=True) for _ in range(count)]
        codes = tuple(
            tuple(c for c, count in zip(column, self.counts, strict=True) for _ in range(count))
            for column in self.codes
        )
        return Table(tuple(rows), codes, (1,) * len(rows), self.null_first, self.hierarchical)

    def spread(self, clusters: SparseClusters, column: int) -> list[list[int]]:
        """Per cluster, its records per code."""
        table = np.zeros((clusters.number, len(self.sensitive[column].counts)), np.int64)
        np.add.at(table, (clusters.clusters, np.array(self.codes[column])[clusters.points]), clusters.counts)
        return [[int(count) for count in row] for row in table]

    def is_partition(self, clusters: SparseClusters) -> bool:
        """Whether each record is in one cluster, and no cluster is empty."""
        held = np.zeros(len(self.counts), np.int64)
        np.add.at(held, clusters.points, clusters.counts)
        return held.tolist() == list(self.counts) and bool((clusters.sizes > 0).all())


def as_sets(clusters: SparseClusters) -> Counter[tuple[tuple[int, int], ...]]:
    """Each cluster as its points and their records, whatever its number."""
    members: dict[int, list[tuple[int, int]]] = {}
    for point, number, count in zip(clusters.points, clusters.clusters, clusters.counts, strict=True):
        members.setdefault(int(number), []).append((int(point), int(count)))
    return Counter(tuple(sorted(m)) for m in members.values())


def of_rows(members: Sequence[Sequence[int]]) -> Counter[tuple[tuple[int, int], ...]]:
    """The clusters from lists of rows that stand for one record each."""
    return Counter(tuple(sorted(Counter(rows).items())) for rows in members)


def distinct_table(seed: int, records: int, dimensions: int = 2, correlation: float = 0.5) -> Table:
    """Values that all differ, in sensitive ranks from 0."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(records, dimensions))
    score = correlation * rows[:, 0] + (1 - correlation) * random.normal(size=records)
    ranks: NDArray[np.intp] = score.argsort().argsort()
    return Table(tuple(map(tuple, rows.tolist())), (tuple(ranks.tolist()),), (1,) * records)


@st.composite
def tables(draw: st.DrawFn, columns: int = 1, most: int = 14) -> Table:
    """Few places and few values: ties everywhere, constant columns, rows that stand for several records, NULL."""
    number = draw(st.integers(1, most))
    place = st.integers(0, draw(st.sampled_from([0, 2, 9])))
    width = draw(st.integers(1, 2))
    rows = draw(st.lists(st.tuples(*[place] * width), min_size=number, max_size=number))
    values = draw(st.integers(1, 5))
    codes = []
    for _ in range(columns):
        drawn = draw(st.lists(st.integers(0, values - 1), min_size=number, max_size=number))
        codes.append(tuple(np.unique(drawn, return_inverse=True)[1].tolist()))
    counts = draw(st.lists(st.sampled_from([1, 1, 1, 2, 5]), min_size=number, max_size=number))
    distinct = sorted({*zip(rows, *codes, strict=True)})
    return Table(
        tuple(tuple(map(float, row)) for row, *_ in distinct),
        tuple(tuple(code[c] for _, *code in distinct) for c in range(columns)),
        tuple(counts[: len(distinct)]),
        null_first=draw(st.booleans()),
        hierarchical=True,
    )


def _pairs(values: int, has_null: bool) -> AttributeLevels:
    """Neighbouring values have a common label."""
    return hierarchy([f"v{i}" for i in range(values)], has_null, [[chr(97 + i // 2) for i in range(values)]])
