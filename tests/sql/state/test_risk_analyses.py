"""The store of risk analyses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tableveil.backend import Session
from tableveil.errors import TableveilError
from tableveil.state.risk_analyses import RISK_ANALYSES, SubsetRisk
from tests.service.risk_samples import risk_analysis


def test_an_analysis_comes_back_as_it_was(session: Session) -> None:
    first, second = (risk_analysis(RISK_ANALYSES.next_number(session), job) for job in (7, 8))
    second = replace(second, population_size=None, subsets=(), measures=(), warnings=(), compared=())
    with session.transaction():
        RISK_ANALYSES.insert(session, [first])
        RISK_ANALYSES.insert(session, [second])
    assert RISK_ANALYSES.find(session, first.number) == first
    assert RISK_ANALYSES.find(session, second.number) == second
    assert RISK_ANALYSES.find(session, 10_000) is None


def test_a_job_has_one_analysis(session: Session) -> None:
    RISK_ANALYSES.insert(session, [risk_analysis(RISK_ANALYSES.next_number(session), 9)])
    with pytest.raises(TableveilError):
        RISK_ANALYSES.insert(session, [risk_analysis(RISK_ANALYSES.next_number(session), 9)])


def test_as_many_subsets_as_there_may_be(session: Session) -> None:
    subsets = tuple(SubsetRisk((f"q{i}", "q"), i / 2000, 1 - i / 2000, i, 0, i % 3 == 0) for i in range(2000))
    stored = replace(risk_analysis(), subsets=subsets)
    RISK_ANALYSES.insert(session, [stored])
    assert RISK_ANALYSES.find(session, stored.number) == stored


def test_the_most_telling_proposals_come_first() -> None:
    assert [subset.columns for subset in risk_analysis().proposals] == [("age", 'z"ip'), ("age",)]
