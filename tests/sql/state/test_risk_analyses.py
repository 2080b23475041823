"""The store of risk analyses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tableveil.backend import Session
from tableveil.errors import TableveilError
from tableveil.state import risk_analyses
from tableveil.state.risk_analyses import SubsetRisk
from tests.service.risk_samples import risk_analysis


def test_an_analysis_comes_back_as_it_was(session: Session) -> None:
    first, second = (risk_analysis(risk_analyses.next_number(session), job) for job in (7, 8))
    second = replace(second, population_size=None, subsets=(), measures=(), warnings=(), compared=())
    with session.transaction():
        risk_analyses.insert(session, first)
        risk_analyses.insert(session, second)
    assert risk_analyses.find(session, first.number) == first
    assert risk_analyses.find(session, second.number) == second
    assert risk_analyses.find(session, 10_000) is None


def test_a_job_has_one_analysis(session: Session) -> None:
    risk_analyses.insert(session, risk_analysis(risk_analyses.next_number(session), 9))
    with pytest.raises(TableveilError):
        risk_analyses.insert(session, risk_analysis(risk_analyses.next_number(session), 9))


def test_as_many_subsets_as_there_may_be(session: Session) -> None:
    subsets = tuple(SubsetRisk((f"q{i}", "q"), i / 2000, 1 - i / 2000, i, 0, i % 3 == 0) for i in range(2000))
    stored = replace(risk_analysis(), subsets=subsets)
    risk_analyses.insert(session, stored)
    assert risk_analyses.find(session, stored.number) == stored


def test_the_most_telling_proposals_come_first() -> None:
    assert [subset.columns for subset in risk_analysis().proposals] == [("age", 'z"ip'), ("age",)]
