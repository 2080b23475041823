"""The store of risk analyses."""

from dataclasses import replace

import pytest

from tableveil.backend import Ledger
from tableveil.errors import TableveilError
from tableveil.state.risk_analyses import RISK_ANALYSES, SubsetRisk
from tests.service.risk_samples import risk_analysis


def test_an_analysis_comes_back_as_it_was(ledger: Ledger) -> None:
    first, second = (risk_analysis(RISK_ANALYSES.next_number(ledger), job) for job in (7, 8))
    second = replace(second, population_size=None, subsets=(), measures=(), warnings=(), compared=())
    with ledger.transaction():
        RISK_ANALYSES.insert(ledger, [first])
        RISK_ANALYSES.insert(ledger, [second])
    assert RISK_ANALYSES.find(ledger, first.number) == first
    assert RISK_ANALYSES.find(ledger, second.number) == second
    assert RISK_ANALYSES.find(ledger, 10_000) is None


def test_a_job_has_one_analysis(ledger: Ledger) -> None:
    RISK_ANALYSES.insert(ledger, [risk_analysis(RISK_ANALYSES.next_number(ledger), 9)])
    with pytest.raises(TableveilError):
        RISK_ANALYSES.insert(ledger, [risk_analysis(RISK_ANALYSES.next_number(ledger), 9)])


def test_as_many_subsets_as_there_may_be(ledger: Ledger) -> None:
    subsets = tuple(SubsetRisk((f"q{i}", "q"), i / 2000, 1 - i / 2000, i, 0, i % 3 == 0) for i in range(2000))
    stored = replace(risk_analysis(), subsets=subsets)
    RISK_ANALYSES.insert(ledger, [stored])
    assert RISK_ANALYSES.find(ledger, stored.number) == stored


def test_the_most_telling_proposals_come_first() -> None:
    assert [subset.columns for subset in risk_analysis().proposals] == [("age", 'z"ip'), ("age",)]
