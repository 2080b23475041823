"""The section on risk analyses, of a small table."""

from pathlib import Path

import pytest

from benchmarks import discharges
from benchmarks.game import risk

pytestmark = pytest.mark.long


def test_a_risk_analysis_is_measured_by_phase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (discharges, risk):
        monkeypatch.setattr(module, "CACHE", tmp_path)
    section = risk.risk(500)
    assert section.sound, section
    for part in ("GROUP BY", "reading", "counting", "searching", "writing", "of up to 3 columns"):
        assert part in str(section)


def test_a_failure_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discharges, "CACHE", tmp_path)
    monkeypatch.setattr(risk, "CACHE", tmp_path)
    discharges.discharges(10).write_bytes(b"no database")
    section = risk.risk(10)
    assert not section.sound
    assert "Failed" in str(section)
