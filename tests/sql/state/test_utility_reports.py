"""The store of utility reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tableveil.backend import Session
from tableveil.errors import TableveilError
from tableveil.state import utility_reports
from tableveil.usefulness import UtilityReport
from tests.service.utility_samples import utility_report


def test_a_report_comes_back_as_it_was(session: Session) -> None:
    first, second = (utility_report(utility_reports.next_number(session), job) for job in (7, 8))
    second = replace(second, report=UtilityReport((), (), ()))
    with session.transaction():
        utility_reports.insert(session, first)
        utility_reports.insert(session, second)
    assert utility_reports.find(session, first.number) == first
    assert utility_reports.find(session, second.number) == second
    assert utility_reports.find(session, 10_000) is None


def test_a_job_has_one_report(session: Session) -> None:
    utility_reports.insert(session, utility_report(utility_reports.next_number(session), 9))
    with pytest.raises(TableveilError):
        utility_reports.insert(session, utility_report(utility_reports.next_number(session), 9))
