"""A little of the campaign about columns that several quasi-identifiers give together."""

import pytest

from tests.campaign.unchanged import DERIVED, judge_unchanged


@pytest.mark.long
def test_formulas_are_found_and_independent_columns_pass() -> None:
    report = judge_unchanged(seed=5, seconds=600.0, tables=len(DERIVED))
    assert report.broken == []
    assert report.tables == len(DERIVED)
    assert sum(report.due.values()) > len(DERIVED) // 2
    assert report.refused <= 1
