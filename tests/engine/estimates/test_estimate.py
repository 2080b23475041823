"""One value per generalized cell: in its label, the same for equal seeds, and related to the other columns."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.estimates import (
    ASSUMPTIONS,
    Assumption,
    Estimator,
    Levels,
    NumberLine,
    RangeLabels,
    Rows,
    Shape,
    TextLabels,
    unseen,
)

RELATED, *_ = ASSUMPTIONS
UNRELATED = Assumption(Shape.SMOOTH, related=False, exponent=0.25)
ROWS = 3_000


def random_ranges(generator: np.random.Generator, step: int) -> RangeLabels:
    """Labels that overlap, some of one value and some without one or both ends."""
    size = int(generator.integers(1, 12))
    low = generator.integers(-20, 60, size).astype(float)
    width = generator.integers(0, 30, size).astype(float)
    width[generator.random(size) < 0.3] = step
    high = np.where(width > 0, low + width, low + step)
    low[generator.random(size) < 0.15] = -np.inf
    high[generator.random(size) < 0.15] = np.inf
    return RangeLabels(low, high, np.zeros(size, np.int64), step)


def counted(ranges: RangeLabels, codes: NDArray[np.int64]) -> NumberLine:
    labels = len(ranges.low)
    counts = np.bincount(codes[codes < labels], minlength=labels)
    return NumberLine(RangeLabels(ranges.low, ranges.high, counts, ranges.step))


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
@pytest.mark.parametrize("step", [0, 1])
def test_each_number_lies_in_its_label(assumption: Assumption, step: int) -> None:
    for seed in range(6):
        generator = np.random.default_rng(seed)
        ranges = random_ranges(generator, step)
        labels = len(ranges.low)
        codes = generator.integers(0, labels + 1, 400)
        other = np.where(codes < labels, codes, np.nan) + generator.normal(size=400)
        rows = Rows({0: codes}, {}, {1: other})
        found = Estimator({0: counted(ranges, codes)}, {}, rows, assumption, 7).estimate(rows)[0]
        there = codes < labels
        assert np.isnan(found[~there]).all()
        if not (np.isfinite(ranges.low).any() or np.isfinite(ranges.high).any()):
            assert np.isnan(found).all()
            continue
        low, high = ranges.low[codes[there]], ranges.high[codes[there]]
        values = found[there]
        assert (values >= low).all()
        assert ((values < high) | ((low == high) & (values == low))).all()
        assert not step or (values == np.round(values)).all()


def test_labels_without_any_bound_are_unknown() -> None:
    codes = np.zeros(50, np.int64)
    rows = Rows({0: codes}, {}, {1: np.arange(50.0)})
    line = NumberLine(RangeLabels(np.array([-np.inf]), np.array([np.inf]), np.array([50]), 1))
    assert np.isnan(Estimator({0: line}, {}, rows, RELATED, 1).estimate(rows)[0]).all()


def test_an_open_end_below_all_bounds_is_not_negative_where_no_bound_is() -> None:
    codes = np.repeat([0, 1], [100, 300])
    line = NumberLine(RangeLabels(np.array([-np.inf, 5.0]), np.array([5.0, 20.0]), np.array([100, 300]), 1))
    rows = Rows({0: codes}, {}, {})
    found = Estimator({0: line}, {}, rows, UNRELATED, 1).estimate(rows)[0]
    assert 0 <= found[:100].min() <= found[:100].max() < 5


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_totals_by_label_do_not_depend_on_chance(assumption: Assumption) -> None:
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 4, ROWS)
    ranges = RangeLabels(np.array([0.0, 10, 0, 40]), np.array([10.0, 40, 40, np.inf]), np.bincount(codes), 1)
    rows = Rows({0: codes}, {}, {1: generator.normal(size=ROWS)})
    drawn = [Estimator({0: NumberLine(ranges)}, {}, rows, assumption, seed).estimate(rows)[0] for seed in (1, 2)]
    for label in range(4):
        one, other = (np.sort(values[codes == label]) for values in drawn)
        assert (one == other).all()


def test_equal_seeds_draw_equal_values_and_others_do_not() -> None:
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 2, ROWS)
    ranges = RangeLabels(np.array([0.0, 50]), np.array([50.0, 100]), np.bincount(codes), 1)
    rows = Rows({0: codes}, {}, {1: generator.normal(size=ROWS)})
    one, again, other = (Estimator({0: NumberLine(ranges)}, {}, rows, RELATED, s).estimate(rows)[0] for s in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_blocks_come_to_the_values_of_one_fit() -> None:
    generator = np.random.default_rng(4)
    codes = np.sort(generator.integers(0, 2, ROWS))
    ranges = RangeLabels(np.array([0.0, 50]), np.array([50.0, 100]), np.bincount(codes), 1)
    rows = Rows({0: codes}, {}, {1: codes + generator.normal(size=ROWS)})
    whole, parts = (Estimator({0: NumberLine(ranges)}, {}, rows, RELATED, 5) for _ in range(2))
    halves = [rows.at(half) for half in np.array_split(np.arange(ROWS), 2)]
    in_blocks = np.concatenate([parts.estimate(half)[0] for half in halves])
    assert abs(whole.estimate(rows)[0].mean() - in_blocks.mean()) < 0.5


def test_a_number_keeps_its_relation_to_others_where_chance_loses_it() -> None:
    generator = np.random.default_rng(5)
    truth = np.floor(np.clip(generator.normal(50, 15, 20_000), 0, 99))
    cost = truth + generator.normal(0, 12, len(truth))
    bounds = np.array([0.0, 30, 60, 100])
    codes = np.searchsorted(bounds, truth, side="right") - 1
    line = NumberLine(RangeLabels(bounds[:-1], bounds[1:], np.bincount(codes, minlength=3), 1))
    rows = Rows({0: codes}, {}, {1: cost})
    true = np.corrcoef(truth, cost)[0, 1]
    related, unrelated = (
        np.corrcoef(Estimator({0: line}, {}, rows, assumption, 7).estimate(rows)[0], cost)[0, 1]
        for assumption in (RELATED, UNRELATED)
    )
    assert abs(related - true) < 0.03
    assert true - unrelated > 0.05


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_texts_become_leaves_that_lie_under_their_labels(assumption: Assumption) -> None:
    # Labels 0 to 2 are leaves, 3 is over the first two, 4 over all, and 5 has nothing below it.
    under = np.zeros((6, 4), np.bool_)
    under[[0, 1, 2, 5], [0, 1, 2, 3]] = under[3, :2] = under[4, :] = True
    generator = np.random.default_rng(6)
    codes = generator.choice(7, ROWS, p=[0.3, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1])
    of = TextLabels(under, np.array([0, 1, 2, 5]), np.bincount(codes, minlength=7)[:6])
    rows = Rows({0: codes}, {1: Levels(generator.integers(0, 3, ROWS), 3)}, {})
    found = Estimator({}, {0: of}, rows, assumption, 7).estimate(rows)[0].astype(int)
    assert (found[codes == 6] == -1).all()
    place = {label: at for at, label in enumerate(of.leaves)}
    assert all(under[code, place[leaf]] for code, leaf in zip(codes[codes < 6], found[codes < 6], strict=True))
    kept = np.isin(codes, of.leaves)
    assert (found[kept] == codes[kept]).all()


def test_a_share_of_a_label_is_unknown_where_leaves_may_be_unseen() -> None:
    under = np.array([[True, False], [False, True], [True, True]])
    codes = np.repeat([0, 1, 2], [100, 100, 1_000])
    rows = Rows({0: codes}, {}, {})
    shares = []
    for number in (0.0, 1.0, 4.0):
        of = TextLabels(under, np.array([0, 1]), np.bincount(codes), number)
        found = Estimator({}, {0: of}, rows, RELATED, 7).estimate(rows)[0].astype(int)
        assert (found[:200] == codes[:200]).all()
        shares.append(np.mean(found[200:] == -1))
    # An unseen leaf weighs 0.5 ** 0.25, each other one 100.5 ** 0.25.
    one = 0.5**0.25 / (2 * 100.5**0.25)
    assert np.allclose(shares, [0, one / (1 + one), 4 * one / (1 + 4 * one)], atol=0.002)


def test_leaves_that_few_classes_show_tell_how_many_none_does() -> None:
    assert unseen(np.array([7, 9, 30])) == 0
    assert unseen(np.array([1, 1, 1, 2, 9])) == 1.5
    generator = np.random.default_rng(5)
    for mean in (1.0, 2.0):
        # Leaves of equally many classes in expectation, of which some have none.
        classes = generator.poisson(mean, 10_000)
        assert unseen(classes[classes > 0]) == pytest.approx((classes == 0).sum(), rel=0.1)


def test_no_rows_and_one_row() -> None:
    line = NumberLine(RangeLabels(np.array([0.0]), np.array([10.0]), np.array([1]), 1))
    for size in (0, 1):
        rows = Rows({0: np.zeros(size, np.int64)}, {1: Levels(np.zeros(size, np.int64), 1)}, {2: np.ones(size)})
        for assumption in ASSUMPTIONS:
            assert len(Estimator({0: line}, {}, rows, assumption, 1).estimate(rows)[0]) == size
