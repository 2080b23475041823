"""Precision and height by hand, and the bound of precision where suppression is cheaper than generalization."""

import pytest

from tableveil.classes import Check
from tableveil.hierarchy import InlineLevels
from tableveil.policy import Aggregate, HeightModel, PrecisionModel, QualityModel
from tableveil.quality import AssessedTransformation, quality_of
from tests.engine.random_tables import Attribute, Table
from tests.engine.rules import k_anonymity

SEX = Attribute(InlineLevels((("f", "*"), ("m", "*"))), ("f", "m"), False)
AGE = Attribute(InlineLevels((("1", "x", "*"), ("2", "x", "*"), ("3", "y", "*"))), ("1", "2", "3"), False)


def table(*records: str, k: int = 1, weights: tuple[float, ...] = (1.0, 1.0)) -> Table:
    """Each record is the texts of its sex and age; all may be suppressed."""
    return Table((SEX, AGE), tuple((r[0], r[1]) for r in records), k, len(records), weights)


def assessed(of: Table, at: tuple[int, ...], model: QualityModel) -> AssessedTransformation:
    counter = of.counter()
    classes = counter.classes(at)
    quality = quality_of(model, counter, of.weights, of.suppressible)
    return quality.assess(at, classes, k_anonymity(of.k).releasable(classes))


def test_precision_is_the_share_of_the_hierarchy_climbed() -> None:
    of = table("f1", "f2", "m3", "m3")
    assert assessed(of, (0, 1), PrecisionModel()).values == (0, 0.5)
    assert assessed(of, (1, 2), PrecisionModel()).values == (1, 1)


def test_precision_takes_suppressed_records_for_climbed_to_the_top() -> None:
    # f1 and f2 are alone.
    of = table("f1", "f2", "m3", "m3", k=2)
    assert assessed(of, (0, 0), PrecisionModel()).values == (0.5, 0.5)
    assert assessed(of, (0, 0), PrecisionModel(monotone=True)).values == (0, 0)


@pytest.mark.parametrize(("factor", "expected"), [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 0.625), (1.0, 0.5)])
def test_the_factor_weighs_generalization_against_suppression(factor: float, expected: float) -> None:
    """Half of the records are halfway up, the others are suppressed."""
    of = table("f1", "m1", "m3", "m3", k=2)
    assert assessed(of, (0, 1), PrecisionModel(factor=factor)).values[1] == expected


def test_the_bound_of_precision_counts_on_as_much_suppression_as_may_be() -> None:
    """Nothing is suppressed at hi, half of the records at lo: that is cheaper where sex is `*` in both."""
    of = table("f1", "f2", "m3", "m3", k=2, weights=(1.0, 0.0))
    counter, model = of.counter(), PrecisionModel(factor=0.25)
    quality = quality_of(model, counter, of.weights, of.suppressible)
    assert (assessed(of, (1, 1), model).values[0], assessed(of, (1, 0), model).values[0]) == (1, 0.75)
    assert quality.evidence(Check(counter, (1, 1), 2)).bound((1, 0)) <= assessed(of, (1, 0), model).score
    # Only one may be: then it is no less than that.
    strict = quality_of(model, counter, of.weights, 1)
    assert strict.evidence(Check(counter, (1, 1), 2)).bound((1, 0)) == (0.75 + 0.25 * 0.5,)


def test_the_bound_of_precision_is_not_above_it_by_rounding() -> None:
    """Where all is suppressed, precision is the same at every level, but for the last digit."""
    of = table(*["f1"] * 7, k=8)
    counter, model = of.counter(), PrecisionModel(factor=0.3)
    assert assessed(of, (0, 0), model).values[1] > assessed(of, (0, 2), model).values[1]
    bound = quality_of(model, counter, of.weights, of.suppressible).evidence(Check(counter, (0, 2), 8)).bound((0, 0))
    assert bound <= assessed(of, (0, 2), model).score


def test_height_is_the_level_whatever_is_suppressed() -> None:
    of = table("f1", "f2", "m3", "m3", k=2)
    assert assessed(of, (1, 2), HeightModel()).values == (1, 2)
    assert assessed(of, (0, 2), HeightModel()).score == (2,)
    assert assessed(of, (1, 2), HeightModel(Aggregate.MAXIMUM)).score == (2,)
    assert assessed(table("f1", k=2, weights=(3.0, 0.5)), (1, 2), HeightModel()).score == (4,)
