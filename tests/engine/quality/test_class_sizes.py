"""Discernibility and average class size by hand, and how sharp their bounds are."""

import math

import pytest

from tableveil.classes import Check
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AverageClassSizeModel, DiscernibilityModel, QualityModel
from tableveil.quality import quality_of
from tests.engine.random_tables import Attribute, Table
from tests.engine.rules import k_anonymity

HIERARCHY = InlineLevels(
    (("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "z", "*"), ("f", "z", "*"))
)


def table(column: str, k: int = 1, suppressible: int | None = None) -> Table:
    """Records of one attribute; `-` is a NULL that is withheld."""
    records = tuple((None if value == "-" else value,) for value in column)
    attribute = Attribute(HIERARCHY, tuple("abcdef"), withholds_null=True)
    return Table((attribute,), records, k, len(records) if suppressible is None else suppressible, (1.0,))


def score(of: Table, level: int, model: QualityModel) -> float:
    counter = of.counter()
    classes = counter.classes((level,))
    quality = quality_of(model, counter, of.weights, of.suppressible)
    assessment = quality.assess((level,), classes, k_anonymity(of.k).releasable(classes))
    assert assessment.values == ()
    return quality.reported(assessment.score)


def bounds(of: Table, lo: int, hi: int, model: QualityModel) -> tuple[float, float]:
    """From hi alone, and from both."""
    counter = of.counter()
    quality = quality_of(model, counter, of.weights, of.suppressible)
    below, above = Check(counter, (lo,), of.k), Check(counter, (hi,), of.k)
    assert quality.bounds_by_classes
    return quality.evidence(above).bound((lo,))[0], quality.bound_between(below, (hi,))[0]


def test_discernibility_squares_classes_and_charges_the_table_for_suppressed_records() -> None:
    assert score(table("aabbb"), 0, DiscernibilityModel()) == 4 + 9
    assert score(table("aabbb"), 1, DiscernibilityModel()) == 25
    assert score(table("aabbb", k=3), 0, DiscernibilityModel()) == 2 * 5 + 9
    assert score(table("aabbb", k=3), 0, DiscernibilityModel(monotone=True)) == 4 + 9
    assert score(table("aa--"), 0, DiscernibilityModel()) == 4 + 2 * 4
    assert score(table("aa--"), 0, DiscernibilityModel(monotone=True)) == 4 + 2 * 4


def test_discernibility_is_bounded_by_what_small_classes_cannot_avoid() -> None:
    """One c and two d's must be together or suppressed; so must a, but with others only, or suppressed."""
    of = table("abbbcdd" + "e" * 9, k=3)
    # N = 16. b: 9, e: 81. Remnants: a alone adds at least 2k, c and d are 3 * k together.
    assert bounds(of, 0, 2, DiscernibilityModel())[1] == 9 + 81 + 4 // 3 * 9 + 1 * 6
    assert bounds(of, 0, 1, DiscernibilityModel())[1] == 9 + 81 + 9 + 6
    assert score(of, 1, DiscernibilityModel()) == 16 + 9 + 81


def test_discernibility_from_hi_alone_charges_the_table_for_what_is_suppressed_there() -> None:
    of = table("acd" + "e" * 7, k=2)
    # a is suppressed at level 1, 9 others are in no more classes than there are groups.
    assert bounds(of, 1, 1, DiscernibilityModel()) == (10 + max(2 * 9, 81 // 3), 10 + 4 + 49)
    assert bounds(of, 0, 1, DiscernibilityModel())[0] == 10 + max(2 * 9, 81 // 4)


def test_average_class_size_counts_all_suppressed_records_as_one_class() -> None:
    assert score(table("aabbb"), 0, AverageClassSizeModel()) == 2.5
    assert score(table("aabbb", k=3), 0, AverageClassSizeModel()) == 2.5
    assert score(table("aabbb", k=3), 1, AverageClassSizeModel()) == 5
    assert score(table("abcccc", k=4), 0, AverageClassSizeModel(monotone=True)) == 2
    assert score(table("aabbb---"), 0, AverageClassSizeModel(monotone=True)) == 8 / 3


@pytest.mark.parametrize(("factor", "expected"), [(0.0, 6.0), (0.25, 6 / 1.5), (0.5, 3.0), (0.75, 6 / 1.5), (1.0, 6.0)])
def test_the_factors_of_average_class_size_are_swapped_as_in_arx(factor: float, expected: float) -> None:
    """One kept class counts by what suppression counts by, the suppressed records by what generalization does."""
    assert score(table("abcccc", k=4), 0, AverageClassSizeModel(factor=factor)) == expected


def test_average_class_size_without_any_class_that_counts_is_infinite() -> None:
    assert score(table("aabb"), 0, AverageClassSizeModel(factor=0.0)) == math.inf
    assert score(table("abcd", k=5), 0, AverageClassSizeModel(factor=1.0)) == math.inf
    assert bounds(table("aabb", suppressible=0), 0, 0, AverageClassSizeModel(factor=0.0)) == (math.inf, math.inf)


def test_average_class_size_is_bounded_by_what_small_classes_can_become() -> None:
    """Both b and e are large; of a, c, d only c and d can become a class: three are kept, and the suppressed are one.

    From hi alone it is known that each of the 16 records is in a class of 3 or more.
    """
    column = "abbbcdd" + "e" * 9
    assert bounds(table(column, k=3), 0, 1, AverageClassSizeModel()) == (16 / (5 + 1), 16 / (3 + 1))
    assert bounds(table(column, k=3, suppressible=0), 0, 1, AverageClassSizeModel())[1] == 16 / 3


def test_bounds_of_a_single_transformation_are_its_score() -> None:
    of = table("aabbbccccee", k=2)
    for model in (DiscernibilityModel(), DiscernibilityModel(monotone=True), AverageClassSizeModel(monotone=True)):
        assert bounds(of, 0, 0, model)[1] == score(of, 0, model)
