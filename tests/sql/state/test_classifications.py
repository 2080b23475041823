"""The store of classifier assessments."""

from dataclasses import replace

import pytest

from tableveil.backend import Ledger
from tableveil.classification.model import Assessment, Measures
from tableveil.errors import TableveilError
from tableveil.state.classifications import CLASSIFICATIONS
from tests.service.classification_samples import classification


def test_an_assessment_comes_back_as_it_was(ledger: Ledger) -> None:
    first, second = (classification(CLASSIFICATIONS.next_number(ledger), job) for job in (7, 8))
    second = replace(second, assessments=(), warnings=(), published="x_classification")
    with ledger.transaction():
        CLASSIFICATIONS.insert(ledger, [first])
        CLASSIFICATIONS.insert(ledger, [second])
    assert CLASSIFICATIONS.find(ledger, first.number) == first
    assert CLASSIFICATIONS.find(ledger, second.number) == second
    assert CLASSIFICATIONS.find(ledger, 10_000) is None


def test_lists_are_without_curves(ledger: Ledger) -> None:
    stored = [classification(CLASSIFICATIONS.next_number(ledger), job) for job in (7, 8, 9)]
    for found in stored:
        CLASSIFICATIONS.insert(ledger, [found])
    [newest, middle] = CLASSIFICATIONS.page(ledger, None, 2)
    assert (newest.number, middle.number) == (stored[2].number, stored[1].number)
    assert newest == replace(stored[2], assessments=tuple(map(_without_curves, stored[2].assessments)))
    assert [found.number for found in CLASSIFICATIONS.page(ledger, middle.number, 2)] == [stored[0].number]


def _without_curves(assessment: Assessment) -> Assessment:
    def flat(measures: Measures) -> Measures:
        return replace(measures, classes=tuple(replace(one, roc=()) for one in measures.classes))

    comparisons = tuple(
        replace(found, original=flat(found.original), anonymized=flat(found.anonymized))
        for found in assessment.comparisons
    )
    return replace(assessment, baseline=flat(assessment.baseline), comparisons=comparisons)


def test_a_job_has_one_assessment(ledger: Ledger) -> None:
    CLASSIFICATIONS.insert(ledger, [classification(CLASSIFICATIONS.next_number(ledger), 9)])
    with pytest.raises(TableveilError):
        CLASSIFICATIONS.insert(ledger, [classification(CLASSIFICATIONS.next_number(ledger), 9)])
