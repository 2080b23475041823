"""The store of utility reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tableveil.backend import Session
from tableveil.errors import TableveilError
from tableveil.state.utility_reports import UTILITY_REPORTS
from tableveil.usefulness import UtilityReport
from tests.service.utility_samples import utility_report


def test_a_report_comes_back_as_it_was(session: Session) -> None:
    first, second = (utility_report(UTILITY_REPORTS.next_number(session), job) for job in (7, 8))
    second = replace(second, report=UtilityReport((), (), ()))
    with session.transaction():
        UTILITY_REPORTS.insert(session, [first])
        UTILITY_REPORTS.insert(session, [second])
    assert UTILITY_REPORTS.find(session, first.number) == first
    assert UTILITY_REPORTS.find(session, second.number) == second
    assert UTILITY_REPORTS.find(session, 10_000) is None


def test_a_job_has_one_report(session: Session) -> None:
    UTILITY_REPORTS.insert(session, [utility_report(UTILITY_REPORTS.next_number(session), 9)])
    with pytest.raises(TableveilError):
        UTILITY_REPORTS.insert(session, [utility_report(UTILITY_REPORTS.next_number(session), 9)])
