"""(n,t)-closeness against its definition: some natural superset of n records is within t."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.lattice import Transformation
from tableveil.policy import Distance, NTCloseness, TCloseness
from tableveil.privacy import Facts, n_t_closeness, suppressed_pool
from tableveil.privacy.closeness import TClosenessRule
from tableveil.privacy.n_t_closeness import NTClosenessRule
from tests.engine.privacy.monotonicity import COLUMN, SmallTable, check_declared, small_tables
from tests.engine.privacy.test_distances import EVERY, Sample, defined, hierarchy

THRESHOLDS = st.sampled_from(["0", "0.1", "0.2", "0.25", "0.5", "0.75"])


class WithHierarchy(Facts):
    """The facts, with a hierarchy for the column."""

    def sensitive(self, column: str):  # type: ignore[no-untyped-def]
        position, found = super().sensitive(column)
        values = len(found.counts) - (found.null_code is not None)
        levels = hierarchy([f"v{i}" for i in range(values)], found.null_code is not None, ["aabbcc"[:values]])
        return position, replace(found, levels=levels)


def facts_of(table: SmallTable) -> Facts:
    return WithHierarchy(table.facts.counter)


def dense(classes: EquivalenceClasses, width: int) -> NDArray[np.int64]:
    values = classes.values(0)
    spread = np.zeros((len(classes.counts), width), np.int64)
    spread[values.classes, values.values] = values.counts
    return spread


def holds_by_definition(table: SmallTable, x: Transformation, model: NTCloseness) -> list[bool]:
    """Every y >= x is looked at for every class."""
    column = facts_of(table).sensitive(COLUMN)[1]
    sample = Sample(column, ())
    classes, class_of = table.at(x)
    own = dense(classes, len(column.counts))
    held = [False] * len(classes.counts)
    for y in table.lattice:
        if all(low <= high for low, high in zip(x, y, strict=True)):
            coarser, of = table.at(y)
            supersets = dense(coarser, len(column.counts))
            for row, i in enumerate(class_of):
                superset = supersets[of[row]]
                if superset.sum() >= model.n and not held[i]:
                    distance = defined(sample, model.distance, own[i].tolist(), superset.tolist())
                    held[i] = distance <= Fraction(model.t)
    return held


@pytest.mark.parametrize("distance", EVERY)
@settings(max_examples=10)
@given(table=small_tables(), n=st.integers(1, 30), t=THRESHOLDS, data=st.data())
def test_it_is_what_it_is_defined_to_be(
    distance: Distance, table: SmallTable, n: int, t: str, data: st.DataObject
) -> None:
    model = NTCloseness(COLUMN, n, Decimal(t), distance)
    rule = NTClosenessRule(model, facts_of(table))
    # In any order, since remembered supersets must not change the answers.
    for x in data.draw(st.permutations(list(table.lattice))):
        assert rule.releasable(table.facts.counter.classes(x)).tolist() == holds_by_definition(table, x, model)


@given(table=small_tables(), n=st.integers(1, 30), t=THRESHOLDS)
def test_without_bounds_and_without_memory_it_is_the_same(table: SmallTable, n: int, t: str) -> None:
    model = NTCloseness(COLUMN, n, Decimal(t))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(n_t_closeness, "CELLS", 0)
        patch.setattr(n_t_closeness, "BUDGET", 0)
        rule = NTClosenessRule(model, facts_of(table))
        for x in table.lattice:
            assert rule.releasable(table.facts.counter.classes(x)).tolist() == holds_by_definition(table, x, model)


@given(table=small_tables(), t=THRESHOLDS)
def test_n_of_1_is_nothing(table: SmallTable, t: str) -> None:
    rule = NTClosenessRule(NTCloseness(COLUMN, 1, Decimal(t)), table.facts)

    assert all(rule.releasable(table.facts.counter.classes(x)).all() for x in table.lattice)


@pytest.mark.parametrize("distance", EVERY)
@settings(max_examples=10)
@given(table=small_tables(), t=THRESHOLDS)
def test_with_all_records_as_n_it_is_t_closeness(distance: Distance, table: SmallTable, t: str) -> None:
    facts = facts_of(table)
    if facts.counter.withheld:
        return  # withheld records are in no class, but in the whole that t-closeness is about
    rule = NTClosenessRule(NTCloseness(COLUMN, facts.counter.records, Decimal(t), distance), facts)
    same = TClosenessRule(TCloseness(COLUMN, Decimal(t), distance), facts)

    for x in table.lattice:
        classes = facts.counter.classes(x)
        assert rule.releasable(classes).tolist() == same.releasable(classes).tolist()
        pool = suppressed_pool(facts.counter, classes, np.zeros(len(classes.counts), np.bool_))
        assert rule.releasable(pool).tolist() == same.releasable(pool).tolist()


@pytest.mark.parametrize("distance", EVERY)
@settings(max_examples=10)
@given(table=small_tables(), n=st.integers(1, 30), t=THRESHOLDS)
def test_what_is_declared_is_true(distance: Distance, table: SmallTable, n: int, t: str) -> None:
    check_declared(
        replace(table, facts=facts_of(table)),
        lambda facts: NTClosenessRule(NTCloseness(COLUMN, n, Decimal(t), distance), facts),
    )


def test_it_is_not_monotone() -> None:
    """Found by brute force. All four classes are within 0.2 of one of at least 6; the union of two is not."""
    combinations = ((0, 0), (0, 1), (1, 0), (1, 1))
    counts = np.array([[1, 2], [1, 1], [2, 1], [4, 1]], np.int64)
    rows, codes = np.nonzero(counts)
    column = SensitiveColumn(COLUMN, counts.sum(axis=0))
    counter = NumpyCounter(
        [hierarchy(["a", "b"], False, []), hierarchy(["a", "b"], False, [])],
        [np.array([combination[j] for combination in combinations], np.int32) for j in range(2)],
        counts.sum(axis=1),
        sensitive=[(column, SensitiveRows(rows, codes, counts[rows, codes]))],
    )
    rule = NTClosenessRule(NTCloseness(COLUMN, 6, Decimal("0.2")), Facts(counter))

    assert rule.releasable(counter.classes((0, 0))).all()
    assert not rule.releasable(counter.classes((0, 1))).all()
    assert not rule.monotone


@settings(max_examples=10)
@given(table=small_tables(), n=st.integers(2, 30), suppressible=st.integers(0, 5))
def test_the_nearest_t_holds_and_no_smaller_one_does(table: SmallTable, n: int, suppressible: int) -> None:
    classes = table.facts.counter.classes(table.lattice.bottom)

    def suppressed(t: Decimal) -> int:
        rule = NTClosenessRule(NTCloseness(COLUMN, n, t), table.facts)
        return int(classes.counts[~rule.releasable(classes)].sum())

    nearest = NTClosenessRule(NTCloseness(COLUMN, n, Decimal("0.01")), table.facts).nearest(classes, suppressible)

    if nearest is None:
        assert suppressed(Decimal("0.9999")) > suppressible
        return
    t = Decimal(nearest.removeprefix("t = "))
    assert suppressed(t) <= suppressible
    assert t == 0 or suppressed(t - Decimal("0.0001")) > suppressible
