"""Earth mover's distances from sparse counts equal the definition, for every class and distribution."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from benchmarks.privacy import straightforward
from tableveil.classes import ClassValues, SensitiveColumn
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.policy import Distance
from tableveil.privacy.distances import (
    EARTH_MOVERS,
    ComparedClasses,
    Distributions,
    EarthMover,
    OrderedDistance,
    ordered,
)

EVERY = list(Distance)


@dataclass(frozen=True)
class Sample:
    """Classes, each with its records per code, that are part of the distribution they are held against."""

    column: SensitiveColumn
    classes: tuple[tuple[int, ...], ...]

    @property
    def whole(self) -> list[int]:
        return [int(count) for count in self.column.counts]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.array([sum(counts) for counts in self.classes], np.int64)

    def ground(self, distance: Distance) -> list[list[Fraction]]:
        """How far apart two codes are."""
        codes = range(len(self.whole))
        return [[self._apart(distance, v, w) for w in codes] for v in codes]

    def _apart(self, distance: Distance, v: int, w: int) -> Fraction:
        if v == w:
            return Fraction(0)
        if distance is Distance.EQUAL:
            return Fraction(1)
        if distance is Distance.ORDERED:
            rank = list(range(len(self.whole)))
            if self.column.null_first and self.column.null_code is not None:
                rank = [*range(1, len(self.whole)), 0]
            return Fraction(abs(rank[v] - rank[w]), len(self.whole) - 1)
        levels = self.column.levels
        assert levels is not None
        meet = min(level for level, groups in enumerate(levels.groups) if groups[v] == groups[w])
        return Fraction(meet, levels.top)


def hierarchy(values: Sequence[str], has_null: bool, parents: Sequence[Sequence[str]]) -> AttributeLevels:
    """`parents` has the labels of all values per level from 1, without the top."""
    rows = tuple(
        (value, *(f"{level}{labels[i]}" for level, labels in enumerate(parents)), "*") for i, value in enumerate(values)
    )
    return attribute_levels(
        label_values(InlineLevels(rows or (("-", *("-" for _ in parents), "*"),)), ValueKind.TEXT, values, values),
        has_null,
    )


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Single values, NULL at either end or nowhere, values that no class has, classes that are everything."""
    number = draw(st.integers(1, 6))
    has_null = draw(st.booleans())
    codes = number + has_null
    fine = [draw(st.sampled_from("abc")) for _ in range(number)]
    parent = {name: draw(st.sampled_from("xy")) for name in "abc"}
    parents = draw(st.sampled_from([[], [fine], [fine, [parent[name] for name in fine]]]))
    levels = hierarchy([f"v{i}" for i in range(number)], has_null, parents)
    counts = st.lists(st.integers(0, 4), min_size=codes, max_size=codes).map(tuple)
    classes = [counts for counts in draw(st.lists(counts, min_size=1, max_size=5)) if any(counts)]
    rest = draw(st.lists(st.integers(0, 3), min_size=codes, max_size=codes))
    whole = (
        [sum(counts) + more for counts, more in zip(zip(*classes, strict=True), rest, strict=True)] if classes else rest
    )
    column = SensitiveColumn(
        "disease", np.maximum(np.array(whole, np.int64), 1), number if has_null else None, draw(st.booleans()), levels
    )
    return Sample(column, tuple(classes or [tuple(int(count) for count in column.counts)]))


def sparse(classes: Sequence[Sequence[int]]) -> ClassValues:
    table = np.array(classes, np.int64)
    rows, codes = np.nonzero(table)
    return ClassValues(rows, codes, table[rows, codes])


def transported(ground: list[list[Fraction]], own: Sequence[int], others: Sequence[int]) -> float:
    """The earth mover's distance as the linear program that it is."""
    q, p = np.array(own) / sum(own), np.array(others) / sum(others)
    m = len(q)
    leaving = [[1.0 if i == v else 0.0 for i in range(m) for _ in range(m)] for v in range(m)]
    arriving = [[1.0 if j == w else 0.0 for _ in range(m) for j in range(m)] for w in range(m)]
    costs = [float(d) for row in ground for d in row]
    solved = linprog(costs, A_eq=[*leaving, *arriving], b_eq=[*q, *p])
    assert solved.success
    return float(solved.fun)


def defined(sample: Sample, distance: Distance, own: Sequence[int], others: Sequence[int]) -> Fraction:
    """The closed formulas of Li et al. 2007, as they stand there; hierarchical by the recursion over inner nodes."""
    q = [Fraction(count, sum(own)) for count in own]
    p = [Fraction(count, sum(others)) for count in others]
    gap = [a - b for a, b in zip(q, p, strict=True)]
    if distance is Distance.EQUAL:
        return sum((abs(d) for d in gap), Fraction(0)) / 2
    if distance is Distance.ORDERED:
        if len(gap) == 1:
            return Fraction(0)
        if sample.column.null_first and sample.column.null_code is not None:
            gap = [gap[-1], *gap[:-1]]
        return sum((abs(d) for d in accumulate(gap)), Fraction(0)) / (len(gap) - 1)
    levels = sample.column.levels
    assert levels is not None
    total = Fraction(0)
    for level in range(1, levels.top + 1):
        for node in set(levels.groups[level].tolist()):
            children: dict[int, Fraction] = {}
            for code, group in enumerate(levels.groups[level]):
                if group == node:
                    child = int(levels.groups[level - 1][code])
                    children[child] = children.get(child, Fraction(0)) + gap[code]
            positive = sum((extra for extra in children.values() if extra > 0), Fraction(0))
            negative = -sum((extra for extra in children.values() if extra < 0), Fraction(0))
            total += Fraction(level, levels.top) * min(positive, negative)
    return total


def exactly(mover: EarthMover, compared: ComparedClasses) -> list[Fraction]:
    work = mover.work(compared)
    return [
        Fraction(int(done), int(n) * int(whole) * mover.unit)
        for done, n, whole in zip(work, compared.sizes, compared.records, strict=True)
    ]


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples())
def test_the_distance_from_the_whole_is_that_of_the_formula(distance: Distance, sample: Sample) -> None:
    mover = EARTH_MOVERS[distance](sample.column, Distributions.whole(sample.column.counts))
    expected = [defined(sample, distance, counts, sample.whole) for counts in sample.classes]

    compared = mover.against(sparse(sample.classes), sample.sizes)

    assert exactly(mover, compared) == expected
    assert mover.distances(compared) == pytest.approx([float(d) for d in expected], abs=1e-15)
    own, others = mover.shares(compared)
    assert [
        (Fraction(int(a), int(n)) - Fraction(int(b), sum(sample.whole))) / mover.unit
        for a, b, n in zip(own, others, sample.sizes, strict=True)
    ] == expected


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples())
def test_the_formula_is_the_least_work_of_transport(distance: Distance, sample: Sample) -> None:
    own = sample.classes[0]

    assert float(defined(sample, distance, own, sample.whole)) == pytest.approx(
        transported(sample.ground(distance), own, sample.whole), abs=1e-9
    )


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples(), data=st.data())
def test_each_class_can_have_a_distribution_of_its_own(distance: Distance, sample: Sample, data: st.DataObject) -> None:
    of = [data.draw(st.integers(0, 2)) for _ in sample.classes]
    used = sorted(set(of))
    groups = [
        [
            sum(column)
            for column in zip(*(c for c, at in zip(sample.classes, of, strict=True) if at == group), strict=True)
        ]
        for group in used
    ]
    number = np.array([used.index(at) for at in of], np.intp)
    mover = EARTH_MOVERS[distance](
        sample.column, Distributions(sparse(groups), np.array([sum(group) for group in groups], np.int64))
    )

    compared = mover.against(sparse(sample.classes), sample.sizes, number)

    assert exactly(mover, compared) == [
        defined(sample, distance, counts, groups[at]) for counts, at in zip(sample.classes, number, strict=True)
    ]


THRESHOLDS = st.sampled_from(
    [Fraction(0), Fraction(1, 10), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(1)]
)


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples(), t=THRESHOLDS, data=st.data())
def test_within_is_decided_exactly(distance: Distance, sample: Sample, t: Fraction, data: st.DataObject) -> None:
    mover = EARTH_MOVERS[distance](sample.column, Distributions.whole(sample.column.counts))
    expected = [defined(sample, distance, counts, sample.whole) for counts in sample.classes]
    # Thresholds at a distance, and just below it.
    t = data.draw(st.sampled_from([t, *expected, *(max(d - Fraction(1, 10**12), Fraction(0)) for d in expected)]))

    compared = mover.against(sparse(sample.classes), sample.sizes)

    assert mover.within(compared, t).tolist() == [d <= t for d in expected]


@given(sample=samples(), t=THRESHOLDS)
def test_ordered_answers_are_the_same_by_all_values_and_by_those_that_occur(sample: Sample, t: Fraction) -> None:
    whole = Distributions.whole(sample.column.counts)
    expected = [defined(sample, Distance.ORDERED, counts, sample.whole) for counts in sample.classes]
    with pytest.MonkeyPatch.context() as patch:
        for dense in (0, 10**9):
            for table in (0, ordered.TABLE):
                for exact_float in (0, ordered.EXACT_FLOAT):
                    patch.setattr(ordered, "DENSE", dense)
                    patch.setattr(ordered, "TABLE", table)
                    patch.setattr(ordered, "PIECE", 3 if table else ordered.PIECE)
                    patch.setattr(ordered, "EXACT_FLOAT", exact_float)
                    patch.setattr(ordered, "SURVIVORS", 1 if table else 0)
                    mover = OrderedDistance(sample.column, whole)
                    compared = mover.against(sparse(sample.classes), sample.sizes)
                    assert exactly(mover, compared) == expected
                    assert mover.within(compared, t).tolist() == [d <= t for d in expected]


@given(sample=samples())
def test_the_quick_bound_of_ordered_distance_is_never_above_it(sample: Sample) -> None:
    mover = OrderedDistance(sample.column, Distributions.whole(sample.column.counts))

    compared = mover.against(sparse(sample.classes), sample.sizes)

    assert (mover.least(compared) <= mover.work(compared)).all()
    for bound, counts, n in zip(mover.least(compared), sample.classes, sample.sizes, strict=True):
        ranks = [*range(1, len(counts)), 0] if mover._null_first else list(range(len(counts)))
        mean = Fraction(sum(r * c for r, c in zip(ranks, counts, strict=True)), int(n))
        overall = Fraction(sum(r * c for r, c in zip(ranks, sample.whole, strict=True)), sum(sample.whole))
        assert Fraction(int(bound), int(n) * sum(sample.whole)) >= abs(mean - overall)


@given(sample=samples(), t=THRESHOLDS, few=st.sampled_from([0, straightforward.FEW]))
def test_the_straightforward_sum_gives_the_same_answers(sample: Sample, t: Fraction, few: int) -> None:
    whole = Distributions.whole(sample.column.counts)
    expected = [defined(sample, Distance.ORDERED, counts, sample.whole) <= t for counts in sample.classes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(straightforward, "FEW", few)
        patch.setattr(straightforward, "CELLS", 8)
        mover = straightforward.OverAllValues(sample.column, whole)
        assert mover.within(mover.against(sparse(sample.classes), sample.sizes), t).tolist() == expected


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples(), t=THRESHOLDS)
def test_no_smaller_class_is_within_than_the_smallest(distance: Distance, sample: Sample, t: Fraction) -> None:
    mover = EARTH_MOVERS[distance](sample.column, Distributions.whole(sample.column.counts))

    smallest = mover.smallest(t)

    for size in range(1, min(smallest, 6)):
        for counts in compositions(size, len(sample.whole)):
            assert defined(sample, distance, counts, sample.whole) > t


@pytest.mark.parametrize("distance", [Distance.EQUAL, Distance.ORDERED])
@given(sample=samples(), t=THRESHOLDS)
def test_some_class_of_the_smallest_size_is_within(distance: Distance, sample: Sample, t: Fraction) -> None:
    mover = EARTH_MOVERS[distance](sample.column, Distributions.whole(sample.column.counts))

    smallest = mover.smallest(t)

    if smallest <= 6:
        assert any(
            defined(sample, distance, counts, sample.whole) <= t for counts in compositions(smallest, len(sample.whole))
        )


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples(), t=THRESHOLDS)
def test_no_part_within_is_larger_than_the_largest(distance: Distance, sample: Sample, t: Fraction) -> None:
    mover = EARTH_MOVERS[distance](sample.column, Distributions.whole(sample.column.counts))
    classes = [counts for counts in sample.classes if np.prod([c + 1 for c in counts]) <= 200]

    if classes:
        sizes = np.array([sum(counts) for counts in classes], np.int64)
        compared = mover.against(sparse(classes), sizes)
        largest = mover.largest_part(compared, mover.shares(compared), t)
        for counts, bound in zip(classes, largest, strict=True):
            parts = (part for part in np.ndindex(*(c + 1 for c in counts)) if any(part))
            within = [sum(part) for part in parts if defined(sample, distance, part, sample.whole) <= t]
            assert max(within, default=0) <= bound <= sum(counts)
            assert (bound == sum(counts)) or defined(sample, distance, counts, sample.whole) > t


def compositions(size: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(size,)]
    return [(first, *rest) for first in range(size + 1) for rest in compositions(size - first, parts - 1)]


# --- large numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", EVERY)
def test_huge_counts_neither_overflow_nor_drift(distance: Distance) -> None:
    """1e8 records of 1e5 values: n * N * m is 1e21. A class of half the values, and one that is everything but one."""
    m, each = 100_000, 1_000
    groups = tuple(np.arange(m) // step for step in (1, 100, m))
    levels = AttributeLevels(
        tuple(group.astype(np.int32) for group in groups),
        ((), ("",)),
        tuple(np.ones(int(group.max()) + 1) for group in groups),
        float(m),
        False,
        None,
    )
    column = SensitiveColumn("salary", np.full(m, each, np.int64), levels=levels)
    mover = EARTH_MOVERS[distance](column, Distributions.whole(column.counts))
    lower, nearly = np.arange(m // 2), np.arange(m)
    values = ClassValues(
        np.concatenate((np.zeros_like(lower), np.ones_like(nearly))),
        np.concatenate((lower, nearly)),
        np.concatenate((np.full(m // 2, each), np.append(np.full(m - 1, each), each - 1))),
    )
    sizes = np.array([m // 2 * each, m * each - 1], np.int64)

    compared = mover.against(values, sizes)

    n, whole = m * each - 1, m * each
    missing = Fraction(1, whole) - Fraction(each - 1, whole * n)
    rest = Fraction(m - 1, 1) * each * Fraction(1, n * whole)  # what all other values have too much of, in sum
    half = {
        Distance.EQUAL: Fraction(1, 2),
        Distance.HIERARCHICAL: Fraction(1, 2),
        # Up to the middle the class is ahead by j / m, from there on it falls back to 0 by the same steps.
        Distance.ORDERED: Fraction(sum(range(1, m // 2)) * 2 + m // 2, m) / (m - 1),
    }[distance]
    assert missing > 0
    nearly_all = {
        Distance.EQUAL: rest,
        Distance.HIERARCHICAL: (rest + Fraction(m - 100, 1) * each * Fraction(1, n * whole)) / 2,
        Distance.ORDERED: Fraction(sum(range(1, m)) * each, n * whole) / (m - 1),
    }[distance]
    assert exactly(mover, compared) == [half, nearly_all]
    assert mover.within(compared, half).tolist() == [True, True]
    assert mover.within(compared, half - Fraction(1, 10**18)).tolist() == [False, True]
    assert mover.within(compared, nearly_all).tolist() == [False, True]
    assert mover.within(compared, nearly_all - Fraction(1, 10**22)).tolist() == [False, False]
