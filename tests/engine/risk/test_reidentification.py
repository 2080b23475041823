"""Prosecutor, journalist and marketer risk: the reference's figures, and record by record in fractions."""

import csv
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import UniquenessEstimator
from tableveil.risk import (
    ClassSizes,
    Frequencies,
    check_people,
    population_estimates,
    prosecutor_risk,
    reidentification_risk,
)

SHARED = Path(__file__).parents[4] / "shared"


def frequencies(records: list[int], people: list[int] | None = None) -> Frequencies:
    of_population = None if people is None else np.array(people, np.int64)
    return Frequencies((), (), np.array(records, np.int64), of_population)


def test_people_of_large_and_small_classes() -> None:
    """Classes of more people than are counted without sorting, in no order, and two of the same."""
    people = [70_000, 4, 2**40, 4, 70_000, 65_535, 65_536]
    risk = reidentification_risk(frequencies([3, 1, 2, 1, 1, 5, 7], people), [Decimal("0.00001"), Decimal("0.1")])
    journalist = risk.journalist
    assert (journalist.highest, journalist.records_at_highest) == (0.25, 2)
    assert (journalist.lowest, journalist.records_at_lowest) == (2.0**-40, 2)
    assert journalist.average == pytest.approx((2 / 4 + 5 / 65_535 + 7 / 65_536 + 4 / 70_000 + 2 / 2**40) / 20)
    assert journalist.records_at_risk == ((Decimal("0.00001"), 18), (Decimal("0.1"), 2))


def reference_case() -> dict[str, Any]:
    with (SHARED / "reference" / "arx.jsonl").open() as lines:
        return next(case for line in lines if (case := json.loads(line))["id"] == "g-adult-risk-f0.1")


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the reference results are not in {SHARED}")
def test_the_reference_finds_the_same() -> None:
    case = reference_case()
    expected = case["expected"]
    with (SHARED / "data" / "adult" / "data.csv").open(newline="") as text:
        rows = list(csv.DictReader(text, delimiter=";"))
    values = np.array([[row[column] for column in case["case"]["qis"].split(",")] for row in rows])
    _, counts = np.unique(values, axis=0, return_counts=True)
    found = frequencies(counts.tolist())
    thresholds = [Decimal(text) for text in ("0.05", "0.1", "0.2", "0.5")]
    risk = reidentification_risk(found, thresholds)
    assert (risk.records, risk.classes) == (expected["num_records"], expected["num_classes"])
    sample = expected["sample_risks"]
    prosecutor = risk.prosecutor
    assert {
        "average": prosecutor.average,
        "highest": prosecutor.highest,
        "lowest": prosecutor.lowest,
        "records_highest": prosecutor.records_at_highest,
        "fraction_highest": prosecutor.records_at_highest / risk.records,
        "records_lowest": prosecutor.records_at_lowest,
        "fraction_lowest": prosecutor.records_at_lowest / risk.records,
        "est_journalist": risk.journalist.highest,
        "est_marketer": risk.marketer,
        "est_prosecutor": prosecutor.highest,
    } == pytest.approx(sample, rel=1e-9)
    uniqueness = {"num_unique": risk.unique_records, "fraction": risk.unique_records / risk.records}
    assert uniqueness == pytest.approx(expected["sample_uniqueness"], rel=1e-9)
    for i, threshold in enumerate(thresholds):
        summary = {"marketer_success": risk.marketer}
        for name, of in (("prosecutor", prosecutor), ("journalist", risk.journalist)):
            assert of.records_at_risk[i][0] == threshold
            summary[f"{name}_records_at_risk"] = of.records_at_risk[i][1] / risk.records
            summary[f"{name}_highest"] = of.highest
            summary[f"{name}_success"] = of.average
        assert summary == pytest.approx(expected[f"summary_threshold_{threshold}"], rel=1e-9)
    estimates = population_estimates(found.sizes, expected["population_size"])
    by_reference = expected["population_uniqueness"]
    for estimator in (UniquenessEstimator.PITMAN, UniquenessEstimator.ZAYATZ, UniquenessEstimator.DANKAR):
        assert estimates.uniqueness[estimator] == pytest.approx(by_reference[estimator]["fraction"], rel=1e-6)
    assert estimates.rule == by_reference["chosen"]


CLASSES = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 10**6) | st.integers(0, 3)), max_size=20)


@given(CLASSES, st.lists(st.decimals("0.001", "0.999", places=3), max_size=4, unique=True))
def test_agrees_with_record_by_record(classes: list[tuple[int, int]], thresholds: list[Decimal]) -> None:
    records = [size for size, _ in classes]
    people = [size + others for size, others in classes]
    risk = reidentification_risk(frequencies(records, people), thresholds)
    total = sum(records)
    assert (risk.records, risk.classes, risk.unique_records) == (total, len(classes), records.count(1))
    assert risk.from_population
    for found, sizes in ((risk.prosecutor, records), (risk.journalist, people)):
        per_record = [Fraction(1, size) for size, times in zip(sizes, records, strict=True) for _ in range(times)]
        highest, lowest = max(per_record, default=Fraction(0)), min(per_record, default=Fraction(0))
        assert (found.highest, found.lowest) == (float(highest), float(lowest))
        assert found.average == pytest.approx(float(sum(per_record) / total) if total else 0.0, rel=1e-14)
        assert found.records_at_highest == per_record.count(highest)
        assert found.records_at_lowest == per_record.count(lowest)
        assert found.records_at_risk == tuple((t, sum(r > Fraction(t) for r in per_record)) for t in thresholds)
    marketer = sum(Fraction(f, size) for f, size in zip(records, people, strict=True)) / max(total, 1)
    assert risk.marketer == pytest.approx(float(marketer), rel=1e-14)


@given(st.lists(st.integers(1, 10**5), max_size=20))
def test_without_population_all_are_the_prosecutors(records: list[int]) -> None:
    """And equal to the last digit to what is published with releases."""
    thresholds = [Decimal("0.05"), Decimal("0.3")]
    risk = reidentification_risk(frequencies(records), thresholds)
    published = prosecutor_risk(ClassSizes.of(np.array(records, np.int64)), thresholds)
    assert not risk.from_population
    assert risk.journalist == risk.prosecutor
    assert risk.marketer == published.average
    found = risk.prosecutor
    assert (found.highest, found.average, found.lowest) == (published.highest, published.average, published.lowest)
    assert found.records_at_risk == published.records_at_risk


def test_by_hand() -> None:
    """Three classes of 1, 1 and 3 records, of 1, 4 and 10 people."""
    risk = reidentification_risk(frequencies([1, 1, 3], [1, 4, 10]), [Decimal("0.25")])
    assert risk.prosecutor.average == 0.6
    assert risk.marketer == pytest.approx((1 + 1 / 4 + 3 / 10) / 5)
    assert (risk.journalist.highest, risk.journalist.lowest) == (1.0, 0.1)
    assert risk.journalist.records_at_risk == ((Decimal("0.25"), 1),)
    assert risk.prosecutor.records_at_risk == ((Decimal("0.25"), 5),)


def test_people_that_the_population_lacks() -> None:
    assert list(check_people(frequencies([2, 1]))) == []
    assert list(check_people(frequencies([2, 1], [2, 9]))) == []
    (fault,) = check_people(frequencies([2, 3, 1], [1, 0, 9]))
    assert fault.field == "population"
    assert fault.found.startswith("2 combinations of values, of 5 records")


def test_more_records_than_can_be_analyzed() -> None:
    with pytest.raises(ValueError, match="below"):
        frequencies([2**31])
