"""The store of utility reports."""

from dataclasses import replace

import pytest

from tableveil.backend import Ledger
from tableveil.errors import TableveilError
from tableveil.state.utility_reports import UTILITY_REPORTS
from tableveil.usefulness import UtilityReport
from tests.service.utility_samples import utility_report


def test_a_report_comes_back_as_it_was(ledger: Ledger) -> None:
    first, second = (utility_report(UTILITY_REPORTS.next_number(ledger), job) for job in (7, 8))
    second = replace(second, report=UtilityReport((), (), (), ()))
    with ledger.transaction():
        UTILITY_REPORTS.insert(ledger, [first])
        UTILITY_REPORTS.insert(ledger, [second])
    assert UTILITY_REPORTS.find(ledger, first.number) == first
    assert UTILITY_REPORTS.find(ledger, second.number) == second
    assert UTILITY_REPORTS.find(ledger, 10_000) is None


def test_a_job_has_one_report(ledger: Ledger) -> None:
    UTILITY_REPORTS.insert(ledger, [utility_report(UTILITY_REPORTS.next_number(ledger), 9)])
    with pytest.raises(TableveilError):
        UTILITY_REPORTS.insert(ledger, [utility_report(UTILITY_REPORTS.next_number(ledger), 9)])
