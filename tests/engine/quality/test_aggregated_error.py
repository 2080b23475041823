"""Loss with aggregated columns: against its definition record by record, by hand, and as a bound for searches."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import AggregatedColumn
from tableveil.classes import EquivalenceClasses, NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.control import Control
from tableveil.hierarchy import AttributeLevels
from tableveil.policy import Aggregation, LossModel
from tableveil.privacy import Conjunction
from tableveil.quality.aggregated_error import AggregatedError
from tableveil.quality.model import Factors
from tableveil.search import Problem, exact
from tableveil.search.anytime import anytime
from tableveil.search.best_first import best_first
from tests.engine.quality.mixed_tables import Mixed, mixed
from tests.engine.quality.models import AGGREGATES, FACTORS
from tests.engine.quality.test_bounds import NotOfThree, OnlyClasses, check_bounds, scores
from tests.engine.random_tables import intervals
from tests.engine.rules import k_anonymity

LOSSES = st.builds(LossModel, AGGREGATES, FACTORS, st.booleans())


def problem_of(of: Mixed, model: LossModel, kind: type[NumpyCounter] = NumpyCounter, odd: bool = False) -> Problem:
    counter = of.counter(kind)
    rules = k_anonymity(of.table.k).rules
    return Problem(
        lattice=of.table.lattice,
        counter=counter,
        privacy=Conjunction((*rules, NotOfThree()) if odd else rules),
        quality=of.quality(model, counter),
        suppressible=of.suppressible,
    )


def classes_of(values: Sequence[float], classes: Sequence[int]) -> tuple[AggregatedColumn, EquivalenceClasses]:
    """A column with a record per value, and the classes that the records are in."""
    positions, codes, counts = np.unique(np.array(values), return_inverse=True, return_counts=True)
    spread = Counter(zip(classes, codes.tolist(), strict=True))
    entries = np.array(sorted(spread))
    known = SensitiveColumn("amount", counts, protected=False)
    rows = SensitiveRows(entries[:, 0], entries[:, 1], np.array([spread[c, v] for c, v in entries.tolist()]))
    identity = np.arange(max(classes) + 1, dtype=np.int32)
    levels = AttributeLevels((identity,), (), (np.ones(len(identity)),), float(len(identity)), False, None)
    counter = NumpyCounter((levels,), (identity,), np.bincount(classes), sensitive=[(known, rows)])
    return AggregatedColumn("amount", Aggregation(), counts, positions), counter.classes((0,))


def error_of(column: AggregatedColumn, factor: float = 0.5, set_aside: int = 0) -> AggregatedError:
    return AggregatedError(column, 0, Factors.of(factor), int(column.counts.sum()) + set_aside)


NONE, FIRST, BOTH = (np.array(mask) for mask in ([False, False], [True, False], [True, True]))


@pytest.mark.parametrize(
    ("factor", "gone", "by_hand"),
    [
        # The mean is 6: squared distances are 36, 16, 16 and 36 to it, and 1 to those of the classes.
        (0.5, NONE, 4 / 104),
        (0.5, FIRST, 54 / 104),
        (0.5, BOTH, 1.0),
        (0.75, NONE, 2 / 104),
        (0.75, FIRST, 53 / 104),
        (0.25, FIRST, (27 + 2) / 104),
        (0.0, BOTH, 4 / 104),
        (1.0, FIRST, 52 / 104),
    ],
)
def test_parts_by_hand(factor: float, gone: NDArray[np.bool_], by_hand: float) -> None:
    column, classes = classes_of([0.0, 2.0, 10.0, 12.0], [0, 0, 1, 1])
    assert error_of(column, factor).part(classes, gone) == pytest.approx(by_hand, abs=1e-9)


def test_records_set_aside_count_the_variance_of_all() -> None:
    column, classes = classes_of([0.0, 2.0, 10.0, 12.0], [0, 0, 1, 1])
    assert error_of(column, set_aside=4).part(classes, NONE) == pytest.approx((4 + 104) / 208, abs=1e-9)
    assert error_of(column, 0.25, set_aside=4).part(classes, NONE) == pytest.approx((4 + 52) / 208, abs=1e-9)


@pytest.mark.parametrize("gone", [NONE, BOTH])
def test_a_column_of_one_value_has_no_error(gone: NDArray[np.bool_]) -> None:
    column, classes = classes_of([0.1, 0.1, 0.1], [0, 0, 1])
    error = error_of(column, set_aside=3)
    assert error.part(classes, gone) == error.least_from(classes, gone) == error.least_up_to(classes, gone) == 0.0


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_no_scale_is_too_large_or_too_small(scale: float, shift: float) -> None:
    column, classes = classes_of([scale * (value + shift) for value in (0.0, 0.25, 1.0, 1.0)], [0, 0, 1, 1])
    # The mean is 9/16.
    assert error_of(column).part(classes, NONE) == pytest.approx((1 / 32) / (51 / 64), abs=1e-9)
    assert error_of(column).part(classes, BOTH) == 1.0


def test_classes_of_equal_values_have_no_error_whatever_is_far_away() -> None:
    column, classes = classes_of([0.1, 0.1, 1e9, 1e9], [0, 0, 1, 1])
    assert error_of(column).part(classes, NONE) == 0.0


def test_the_order_of_classes_does_not_change_the_number() -> None:
    random = np.random.default_rng(1)
    values, classes = random.lognormal(size=3000).round(2), random.integers(0, 200, 3000)
    parts = []
    for _ in range(5):
        column, found = classes_of(values.tolist(), random.permutation(200)[classes].tolist())
        parts.append(error_of(column).part(found, np.zeros(200, np.bool_)))
    assert len(set(parts)) == 1
    assert 0.9 < parts[0] < 1


@given(data=st.data(), of=mixed(), model=LOSSES)
def test_parts_follow_those_of_generalized_columns_and_are_as_defined(
    data: st.DataObject, of: Mixed, model: LossModel
) -> None:
    counter = of.counter()
    x = tuple(data.draw(st.integers(0, top)) for top in of.table.lattice.top)
    classes = counter.classes(x)
    values = of.quality(model, counter).values(x, classes, classes.counts >= of.table.k)
    assert values[len(x) :] == pytest.approx([of.part(c, x, model) for c in range(len(of.columns))], abs=1e-12)


@given(data=st.data(), of=mixed(), model=LOSSES, coarse=st.booleans(), odd=st.booleans())
def test_no_bound_is_above_the_least_score(
    data: st.DataObject, of: Mixed, model: LossModel, coarse: bool, odd: bool
) -> None:
    problem = problem_of(of, model, OnlyClasses if coarse else NumpyCounter, odd)
    assert problem.quality.bounds_by_classes
    check_bounds(problem, *data.draw(intervals(of.table.lattice)))


@given(of=mixed(), model=LOSSES, odd=st.booleans())
def test_searches_find_what_exhaustive_search_finds(of: Mixed, model: LossModel, odd: bool) -> None:
    problem = problem_of(of, model, odd=odd)
    best = min(scores(problem, problem.lattice), default=None)
    for outcome in (exact(problem, Control()), best_first(problem, Control()), anytime(problem, Control(), seed=1)):
        assert outcome.complete
        assert (outcome.best.key if outcome.best else None) == best
