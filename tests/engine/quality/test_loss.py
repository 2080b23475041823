"""Loss by hand, and that the table of bounds is exact at its own level and never above the truth below."""

import math

import numpy as np
import pytest

from tableveil.classes import Marginals, NumpyCounter
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.policy import Aggregate, LossModel
from tableveil.quality import Loss
from tests.engine.rules import k_anonymity

# Unbalanced: x has three of five leaves, and e occurs in no record.
ROWS = (("a", "x", "*"), ("b", "x", "*"), ("c", "x", "*"), ("d", "y", "*"), ("e", "y", "*"))


def listed(values: str, has_null: bool = False, null_counts: bool = True) -> AttributeLevels:
    labelled = label_values(InlineLevels(ROWS), ValueKind.TEXT, list(values), list(values))
    return attribute_levels(labelled, has_null, null_counts)


def counter(levels: AttributeLevels, counts: list[int], withheld: int = 0) -> NumpyCounter:
    return NumpyCounter([levels], [np.arange(len(counts), dtype=np.int32)], np.array(counts), withheld)


def loss_of(found: NumpyCounter) -> Loss:
    model = LossModel(Aggregate.GEOMETRIC_MEAN)
    return Loss(model, found.levels, [1.0] * len(found.levels), found.marginals(), found.withheld)


def value_at(found: NumpyCounter, level: int, k: int = 1) -> float:
    classes = found.classes((level,))
    kept = k_anonymity(k).releasable(classes)
    (value,) = loss_of(found).values((level,), classes, kept)
    return value


def test_counts_all_leaves_of_the_hierarchy_not_those_present() -> None:
    found = counter(listed("abcd"), [1, 1, 1, 1])
    assert value_at(found, 0) == 0
    # x: (3 - 1)/(5 - 1) for three records; y: (2 - 1)/(5 - 1) for one.
    assert value_at(found, 1) == (3 * 2 / 4 + 1 / 4) / 4
    assert value_at(found, 2) == 1


def test_suppressed_records_cost_1_and_count_in_n() -> None:
    found = counter(listed("abcd"), [2, 2, 2, 2])
    # At level 1 with k = 3, the 2 records of y are suppressed, the 6 of x cost 1/2 each.
    assert value_at(found, 1, k=3) == (6 * 0.5 + 2) / 8
    assert value_at(found, 2, k=9) == 1


def test_withheld_records_cost_1_everywhere() -> None:
    found = counter(listed("abcd", has_null=True, null_counts=False), [1, 1, 1, 1, 0], withheld=4)
    assert value_at(found, 0) == 0.5
    assert value_at(found, 1) == (3 * 2 / 4 + 1 / 4 + 4) / 8


def test_null_is_one_more_leaf_and_costs_nothing_below_the_top() -> None:
    found = counter(listed("abcd", has_null=True), [1, 1, 1, 1, 1])
    # |H| = 6: x costs 2/5, y 1/5, NULL 0.
    assert value_at(found, 1) == pytest.approx((3 * 2 / 5 + 1 / 5 + 0) / 5, rel=1e-15)
    assert value_at(found, 2) == 1


def test_null_that_is_withheld_is_no_leaf() -> None:
    assert listed("abcd", has_null=True).domain_size == 6
    assert listed("abcd", has_null=True, null_counts=False).domain_size == 5


def test_a_domain_of_one_value_costs_nothing_but_suppression() -> None:
    labelled = label_values(SuppressionOnly(), ValueKind.TEXT, ["a"], ["a"])
    found = counter(attribute_levels(labelled, has_null=False), [4])
    assert value_at(found, 0) == value_at(found, 1) == 0
    assert value_at(found, 1, k=5) == 1


@pytest.mark.parametrize("model", [LossModel(factor=0.3), LossModel(), LossModel(factor=0.8)])
def test_a_column_in_which_all_is_withheld_has_no_domain(model: LossModel) -> None:
    labelled = label_values(SuppressionOnly(), ValueKind.TEXT, [], [])
    levels = attribute_levels(labelled, has_null=True, null_counts=False)
    found = NumpyCounter([levels], [np.zeros(0, np.int32)], np.zeros(0, np.int64), withheld=3)
    loss = Loss(model, found.levels, [1.0], found.marginals(), found.withheld)
    classes = found.classes((1,))
    assert loss.values((1,), classes, classes.counts > 0) == (min(1.0, 2 * model.factor),)


@pytest.mark.parametrize(
    ("factor", "kept", "suppressed"),
    [(0.0, 0.5, 0.5), (0.25, 0.5, 0.75), (0.5, 0.5, 1), (0.75, 0.5 * 2 / 4.5, 1), (1, 0, 1)],
)
def test_the_factor_weighs_generalization_against_suppression(factor: float, kept: float, suppressed: float) -> None:
    """The label x has 3 of 5 leaves: kept 2/4, or g * 2/(5 - g); suppressed that, and a share of the rest."""
    found = counter(listed("abc"), [1, 1, 1])
    loss = Loss(LossModel(factor=factor), found.levels, [1.0], found.marginals(), 0)
    classes = found.classes((1,))
    assert loss.values((1,), classes, np.array([True])) == pytest.approx((kept,), rel=1e-11)
    assert loss.values((1,), classes, np.array([False])) == pytest.approx((suppressed,), rel=1e-11)


def test_monotone_counts_no_suppression() -> None:
    found = counter(listed("abc"), [1, 1, 1])
    loss = Loss(LossModel(monotone=True), found.levels, [1.0], found.marginals(), 0)
    assert loss.values((1,), found.classes((1,)), np.array([False])) == (0.5,)


def test_continuous_domains_are_measured_by_width() -> None:
    labelled = label_values(Intervals("0", "100", ("20",)), ValueKind.DECIMAL, [5.0, 15.0, 90.0], ["5", "15", "90"])
    found = counter(attribute_levels(labelled, has_null=False), [1, 1, 2])
    assert value_at(found, 0) == 0
    assert value_at(found, 1) == 0.2
    assert value_at(found, 2) == 1


def test_table_is_the_loss_itself_from_the_checked_level_on() -> None:
    found = counter(listed("abcd"), [2, 2, 2, 2])
    (table,) = loss_of(found).table(found.records_in((1,), found.classes((1,)).counts < 3))
    # The 2 records of y are suppressed at level 1; if exactly they were at other levels:
    assert table.tolist() == [2 / 8, (6 * 0.5 + 2) / 8, 1]


def test_table_of_coarse_groups_is_not_above_the_truth() -> None:
    """Only the groups of the suppressed records at level 2 are known: what they save below it is bounded."""
    rows = (
        ("a", "x", "z", "*"),
        ("b", "x", "z", "*"),
        ("c", "x", "z", "*"),
        ("d", "y", "z", "*"),
        ("e", "w", "w", "*"),
    )
    labelled = label_values(InlineLevels(rows), ValueKind.TEXT, list("abcde"), list("abcde"))
    found = counter(attribute_levels(labelled, has_null=False), [1, 2, 4, 8, 16])
    loss = loss_of(found)
    groups = found.levels[0].groups[2]
    gone = np.zeros(2, np.int64)
    gone[groups[0]] = 4
    (bound,) = loss.table(Marginals((2,), (gone,)))
    exact = [loss.table(Marginals((0,), (np.array(finer),)))[0] for finer in ([0, 0, 4, 0, 0], [0, 0, 0, 4, 0])]
    # Records of x save more than one of y at level 1: the bound takes all to be of x.
    assert bound[1] == exact[0][1] < exact[1][1]
    for truth in exact:
        assert (bound <= truth).all()
        assert bound[2:].tolist() == truth[2:].tolist()


def test_score_and_report_follow_the_aggregate() -> None:
    found = counter(listed("abcd"), [1, 1, 1, 1])
    loss = Loss(LossModel(Aggregate.GEOMETRIC_MEAN), found.levels, [2.0], found.marginals(), 0)
    assert loss.reported(loss.aggregation.score([0.5])) == pytest.approx(math.pow(2.0, 1.0) - 1)
