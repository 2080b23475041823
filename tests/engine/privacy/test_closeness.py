"""t-closeness: what it releases, what it declares, and the examples of the paper that introduced it."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, KeyLayout, SensitiveColumn
from tableveil.policy import Distance, TCloseness
from tableveil.privacy import Facts
from tableveil.privacy.closeness import TClosenessRule
from tests.engine.privacy.monotonicity import COLUMN, SmallTable, check_declared, small_tables
from tests.engine.privacy.test_distances import EVERY, Sample, defined, hierarchy, samples, sparse

THRESHOLDS = ["0", "0.1", "0.2", "0.25", "0.3", "0.5", "0.75", "1"]


class Known:
    """Classes with known values, and the column; it counts nothing."""

    nbytes = 0

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.sensitive = (sample.column,)

    def values(self, attribute: int) -> ClassValues:
        return sparse(self.sample.classes)

    @property
    def classes(self) -> EquivalenceClasses:
        number = len(self.sample.classes)
        keys = np.arange(number, dtype=np.int64)
        return EquivalenceClasses(KeyLayout.of([number]), (keys,), self.sample.sizes, (0,), self)  # type: ignore[arg-type]


def rule_of(sample: Sample, t: str | Decimal, distance: Distance) -> tuple[TClosenessRule, EquivalenceClasses]:
    known = Known(sample)
    model = TCloseness(sample.column.column, Decimal(t), distance)
    return TClosenessRule(model, Facts(known)), known.classes  # type: ignore[arg-type]


def distances(classes: Sequence[Sequence[int]], whole: Sequence[int], distance: Distance) -> NDArray[np.float64]:
    sample = Sample(SensitiveColumn("salary", np.array(whole, np.int64)), tuple(tuple(c) for c in classes))
    rule, known = rule_of(sample, "1", distance)
    return rule.distances(known)


def of_salaries(*salaries: int, smallest: int = 2, largest: int = 10) -> tuple[int, ...]:
    """Per thousand the records that have it."""
    return tuple(salaries.count(thousand) for thousand in range(smallest, largest + 1))


NINE = of_salaries(*range(2, 11))


def test_the_paper_s_example_of_two_classes_of_salaries() -> None:
    """Li et al. 2007, section 5.1: nine salaries from 3k to 11k, {3k, 4k, 5k} and {6k, 8k, 11k}."""
    classes = [of_salaries(3, 4, 5, smallest=3, largest=11), of_salaries(6, 8, 11, smallest=3, largest=11)]

    assert distances(classes, NINE, Distance.ORDERED) == pytest.approx([0.375, 1 / 6])
    assert round(float(distances(classes, NINE, Distance.ORDERED)[1]), 3) == 0.167


def test_the_copied_example_with_salaries_from_2k() -> None:
    """{2k, 3k, 4k} is as far away, {5k, 7k, 10k} too: they have the ranks of the paper's classes."""
    classes = [of_salaries(2, 3, 4), of_salaries(5, 7, 10)]

    assert distances(classes, NINE, Distance.ORDERED) == pytest.approx([3 / 8, 1 / 6])


def test_a_table_that_was_called_0157_close_is_not() -> None:
    """ZIP 3567*: 2k, 4k, 7k; 3590*: 5k, 6k, 10k; 3560*: 3k, 8k, 9k. The last but one is 0.2083 away."""
    classes = (of_salaries(2, 4, 7), of_salaries(5, 6, 10), of_salaries(3, 8, 9))
    sample = Sample(SensitiveColumn("salary", np.array(NINE, np.int64)), classes)

    found = distances(classes, NINE, Distance.ORDERED)

    assert found == pytest.approx([float(defined(sample, Distance.ORDERED, c, NINE)) for c in classes])
    assert found.max() == pytest.approx(5 / 24)
    assert round(float(found.max()), 4) == 0.2083
    rule, known = rule_of(sample, "0.157", Distance.ORDERED)
    assert not rule.releasable(known).all()
    assert rule.nearest(known, 0) == "t = 0.2084"


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples(), data=st.data())
def test_classes_within_t_are_released(distance: Distance, sample: Sample, data: st.DataObject) -> None:
    expected = [defined(sample, distance, counts, sample.whole) for counts in sample.classes]
    finite = [str(Decimal(d.numerator) / d.denominator) for d in expected if 10**9 % d.denominator == 0]
    t = data.draw(st.sampled_from([*THRESHOLDS, *finite]))

    rule, classes = rule_of(sample, t, distance)

    assert rule.releasable(classes).tolist() == [d <= Fraction(t) for d in expected]


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples())
def test_t_of_1_is_nothing(distance: Distance, sample: Sample) -> None:
    rule, classes = rule_of(sample, "1", distance)

    assert rule.releasable(classes).all()
    assert rule.minimum_class_size == 1


@pytest.mark.parametrize("distance", EVERY)
def test_a_column_of_one_value_is_at_no_distance(distance: Distance) -> None:
    sample = Sample(
        SensitiveColumn("salary", np.array([7], np.int64), levels=hierarchy(["v"], False, [])), ((2,), (5,))
    )
    rule, classes = rule_of(sample, "0", distance)

    assert rule.distances(classes).tolist() == [0, 0]
    assert rule.releasable(classes).all()


@pytest.mark.parametrize("distance", EVERY)
@given(sample=samples(), suppressible=st.integers(0, 20))
def test_the_nearest_t_holds_and_no_smaller_one_does(distance: Distance, sample: Sample, suppressible: int) -> None:
    rule, classes = rule_of(sample, "0", distance)

    nearest = rule.nearest(classes, suppressible)

    if nearest is None:
        assert _suppressed(sample, "0.9999", distance) > suppressible or sample.sizes.sum() <= suppressible
        return
    t = Decimal(nearest.removeprefix("t = "))
    assert _suppressed(sample, t, distance) <= suppressible
    assert t == Decimal("0.0001") or _suppressed(sample, t - Decimal("0.0001"), distance) > suppressible


@given(sample=samples(), data=st.data())
def test_names_of_values_mean_nothing_to_equal_distance(sample: Sample, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(sample.whole))))
    other = Sample(
        SensitiveColumn("salary", sample.column.counts[order]),
        tuple(tuple(c[v] for v in order) for c in sample.classes),
    )

    rule, classes = rule_of(sample, "0.3", Distance.EQUAL)
    renamed, same = rule_of(other, "0.3", Distance.EQUAL)

    assert rule.releasable(classes).tolist() == renamed.releasable(same).tolist()
    assert rule.minimum_class_size == renamed.minimum_class_size


@given(sample=samples())
def test_an_order_may_be_read_from_either_end(sample: Sample) -> None:
    column = sample.column
    reverse = Sample(
        SensitiveColumn("salary", column.counts[::-1].copy()), tuple(counts[::-1] for counts in sample.classes)
    )
    if column.null_code is None:
        rule, classes = rule_of(sample, "0.3", Distance.ORDERED)
        reversed_rule, same = rule_of(reverse, "0.3", Distance.ORDERED)
        assert rule.releasable(classes).tolist() == reversed_rule.releasable(same).tolist()
        assert rule.minimum_class_size == reversed_rule.minimum_class_size


@pytest.mark.parametrize("distance", [Distance.EQUAL, Distance.ORDERED])
@given(table=small_tables(), t=st.sampled_from(THRESHOLDS))
def test_what_is_declared_is_true(distance: Distance, table: SmallTable, t: str) -> None:
    check_declared(table, lambda facts: TClosenessRule(TCloseness(COLUMN, Decimal(t), distance), facts))


def _suppressed(sample: Sample, t: str | Decimal, distance: Distance) -> int:
    rule, classes = rule_of(sample, t, distance)
    return int(sample.sizes[~rule.releasable(classes)].sum())
