"""Entropy by hand, and the bound where suppression counts more than generalization."""

import pytest

from tableveil.classes import Check
from tableveil.hierarchy import InlineLevels
from tableveil.policy import EntropyModel
from tableveil.quality import quality_of
from tests.engine.random_tables import Attribute, Table
from tests.engine.rules import k_anonymity

# a, b under x; c under y.
HIERARCHY = InlineLevels((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")))


def table(column: str, k: int = 1, withholds_null: bool = False) -> Table:
    """Records of one attribute; `-` is NULL."""
    records = tuple((None if value == "-" else value,) for value in column)
    attribute = Attribute(HIERARCHY, ("a", "b", "c"), withholds_null)
    return Table((attribute,), records, k, len(records), (1.0,))


PLAIN = EntropyModel()


def value_at(of: Table, level: int, model: EntropyModel = PLAIN) -> float:
    counter = of.counter()
    classes = counter.classes((level,))
    quality = quality_of(model, counter, of.weights, of.suppressible)
    (value,) = quality.assess((level,), classes, k_anonymity(of.k).releasable(classes)).values
    return value


def test_counts_the_bits_that_tell_the_values_of_a_label_apart() -> None:
    """Among the 4 records of x, 2 are a and 2 are b: one bit each."""
    of = table("aabbcccc")
    assert value_at(of, 0) == 0
    assert value_at(of, 1) == 4 * 1
    # Under *, a quarter are a, a quarter b, half c.
    assert value_at(of, 2) == 4 * 2 + 4 * 1


def test_suppressed_records_lose_what_tells_them_apart_among_themselves() -> None:
    """They still count among all others: a suppressed record does not change what a label says about the rest."""
    of = table("aabbcccc", k=4)
    assert value_at(of, 0) == 4 * 1
    # x and y are large enough.
    assert value_at(of, 1) == 4 * 1
    assert value_at(table("aabbcccc", k=5), 1) == 4 * 1 + 8 * 1


def test_withheld_records_are_suppressed_and_have_one_more_value() -> None:
    of = table("aa--", withholds_null=True)
    assert value_at(of, 0) == value_at(of, 2) == 0
    # All four are suppressed, in halves.
    assert value_at(table("aa--", k=3, withholds_null=True), 0) == 4


@pytest.mark.parametrize(("factor", "expected"), [(0.0, 4.0), (0.25, 8.0), (0.5, 12.0), (0.75, 10.0), (1.0, 8.0)])
def test_the_factor_weighs_generalization_against_suppression(factor: float, expected: float) -> None:
    """4 bits for generalization, 8 for suppression; up to a half suppression counts by 2 * factor, then the other."""
    assert value_at(table("aabbcccc", k=5), 1, EntropyModel(factor=factor)) == expected


def test_monotone_counts_no_suppression() -> None:
    assert value_at(table("aabbcccc", k=5), 1, EntropyModel(monotone=True)) == 4


def test_normalized_is_a_share_of_the_bits_there_were() -> None:
    normalized = EntropyModel(normalized=True)
    assert value_at(table("aabbcccc"), 1, normalized) == pytest.approx(4 / 12, rel=1e-11)
    assert value_at(table("aabbcccc"), 2, normalized) == 1
    assert value_at(table("aaaa", k=5), 2, normalized) == 0


@pytest.mark.parametrize("factor", [0.6, 0.75, 1.0])
def test_the_bound_holds_where_entropy_falls_with_the_level(factor: float) -> None:
    """A and b are suppressed at level 0 and 1; together as x they are not told apart there any more.

    Then generalizing what is suppressed makes it cheaper: the table of level 0 alone does not bound level 1.
    """
    of = table("abccc", k=3)
    counter = of.counter()
    model = EntropyModel(factor=factor)
    quality = quality_of(model, counter, of.weights, of.suppressible)
    at_0, at_1 = value_at(of, 0, model), value_at(of, 1, model)
    assert at_1 < at_0
    assert quality.evidence(Check(counter, (1,), 3)).bound((0,)) <= (at_1,)
