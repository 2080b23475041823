"""The numbers of analysts' answers, at a small size."""

from pathlib import Path

import pytest

from benchmarks import discharges
from benchmarks.answers.estimates import estimates

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discharges, "CACHE", tmp_path / "cache")


def test_estimates_are_measured_without_tables_beside_the_project(tmp_path: Path) -> None:
    section = str(estimates(tmp_path, {"demo, local": 1_000}))
    assert "| counts inside the spread |" in section
    assert "| weekend share |" in section
    assert "Off by more than 15%:" in section
