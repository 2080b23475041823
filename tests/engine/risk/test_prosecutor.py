"""Prosecutor risk by hand, and that thresholds are compared exactly, however they are written."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.risk import ClassSizes, prosecutor_risk


def sizes(*counts: int) -> ClassSizes:
    return ClassSizes.of(np.array(counts, np.int64))


def test_histogram_of_class_sizes() -> None:
    found = sizes(5, 1, 5, 2, 1)
    assert found.sizes.tolist() == [1, 2, 5]
    assert found.classes.tolist() == [2, 1, 2]


@given(st.lists(st.integers(1, 5) | st.integers(2**16 - 2, 2**16 + 2) | st.just(2**31 - 1)))
def test_histogram_of_large_classes_too(counts: list[int]) -> None:
    found = sizes(*counts)
    assert dict(zip(found.sizes.tolist(), found.classes.tolist(), strict=True)) == Counter(counts)
    assert found.sizes.tolist() == sorted(set(counts))


def test_risks_by_hand() -> None:
    risk = prosecutor_risk(sizes(1, 1, 2, 4), [Decimal("0.3"), Decimal("0.25")])
    assert (risk.records, risk.classes, risk.unique_records) == (8, 4, 2)
    assert (risk.highest, risk.average, risk.lowest) == (1.0, 0.5, 0.25)
    assert risk.records_at_risk == ((Decimal("0.3"), 4), (Decimal("0.25"), 4))


def test_no_records() -> None:
    risk = prosecutor_risk(sizes(), [Decimal("0.2")])
    assert (risk.records, risk.classes, risk.unique_records) == (0, 0, 0)
    assert (risk.highest, risk.average, risk.lowest) == (0.0, 0.0, 0.0)
    assert risk.records_at_risk == ((Decimal("0.2"), 0),)


@pytest.mark.parametrize(
    ("threshold", "size", "above"),
    [
        # 1/5 is not above 0.2, though the float 0.2 is above the decimal.
        ("0.2", 5, False),
        ("0.2", 4, True),
        ("0.1", 10, False),
        ("0.1", 9, True),
        ("0.3", 4, False),
        ("0.3", 3, True),
        ("0.3333333333333333333333333333", 3, True),
        ("0.3333333333333333333333333334", 3, False),
        ("0.9999999999999999999999999999", 1, True),
        # More digits than a float or a 64-bit integer has.
        ("0." + "0" * 400 + "1", 2**31, True),
        ("0." + "9" * 400, 1, True),
        ("0." + "9" * 400, 2, False),
    ],
)
def test_thresholds_are_exact(threshold: str, size: int, above: bool) -> None:
    risk = prosecutor_risk(sizes(size), [Decimal(threshold)])
    assert risk.records_at_risk == ((Decimal(threshold), size if above else 0),)


@given(
    counts=st.lists(st.integers(1, 50), min_size=1, max_size=20),
    thresholds=st.lists(st.decimals("0.001", "0.999", places=3), max_size=4, unique=True),
)
def test_agrees_with_record_by_record(counts: list[int], thresholds: list[Decimal]) -> None:
    risk = prosecutor_risk(ClassSizes.of(np.array(counts, np.int64)), thresholds)
    per_record = [Fraction(1, count) for count in counts for _ in range(count)]
    assert risk.highest == float(max(per_record))
    assert risk.lowest == float(min(per_record))
    assert risk.average == pytest.approx(float(sum(per_record) / len(per_record)), rel=1e-15)
    assert risk.unique_records == sum(count == 1 for count in counts)
    expected = tuple((t, sum(r > Fraction(t) for r in per_record)) for t in thresholds)
    assert risk.records_at_risk == expected
