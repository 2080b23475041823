"""The store of classifier assessments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tableveil.backend import Session
from tableveil.classification.model import Assessment, Measures
from tableveil.errors import TableveilError
from tableveil.state import classifications
from tests.service.classification_samples import classification


def test_an_assessment_comes_back_as_it_was(session: Session) -> None:
    first, second = (classification(classifications.next_number(session), job) for job in (7, 8))
    second = replace(second, assessments=(), warnings=(), published="x_classification")
    with session.transaction():
        classifications.insert(session, first)
        classifications.insert(session, second)
    assert classifications.find(session, first.number) == first
    assert classifications.find(session, second.number) == second
    assert classifications.find(session, 10_000) is None


def test_lists_are_without_curves(session: Session) -> None:
    stored = [classification(classifications.next_number(session), job) for job in (7, 8, 9)]
    for found in stored:
        classifications.insert(session, found)
    [newest, middle] = classifications.page(session, None, 2)
    assert (newest.number, middle.number) == (stored[2].number, stored[1].number)
    assert newest == replace(stored[2], assessments=tuple(map(_without_curves, stored[2].assessments)))
    assert [found.number for found in classifications.page(session, middle.number, 2)] == [stored[0].number]


def _without_curves(assessment: Assessment) -> Assessment:
    def flat(measures: Measures) -> Measures:
        return replace(measures, classes=tuple(replace(one, roc=()) for one in measures.classes))

    comparisons = tuple(
        replace(found, original=flat(found.original), anonymized=flat(found.anonymized))
        for found in assessment.comparisons
    )
    return replace(assessment, baseline=flat(assessment.baseline), comparisons=comparisons)


def test_a_job_has_one_assessment(session: Session) -> None:
    classifications.insert(session, classification(classifications.next_number(session), 9))
    with pytest.raises(TableveilError):
        classifications.insert(session, classification(classifications.next_number(session), 9))
