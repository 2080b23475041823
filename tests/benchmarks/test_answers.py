"""The numbers of analysts' answers, at a small size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import discharges
from benchmarks.answers.estimates import estimates
from benchmarks.answers.first_tries import QUESTIONS, first_tries
from benchmarks.answers.intervals import intervals
from benchmarks.answers.metadata import metadata
from benchmarks.answers.speed import speed

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discharges, "CACHE", tmp_path / "cache")


def test_estimates_are_measured_without_tables_beside_the_project(tmp_path: Path) -> None:
    section = str(estimates(tmp_path, {"demo, local": 1_000}))
    assert "| counts inside the spread |" in section
    assert "| weekend share |" in section
    assert "Off by more than 15%:" in section


def test_first_tries_are_right_or_have_a_right_hint() -> None:
    section = first_tries(2_000)
    assert section.sound, section
    assert len(QUESTIONS) == 10


def test_intervals_hold_the_truth() -> None:
    section = intervals(60, 2, 1_000)
    assert section.sound, section
    assert "60 of 60 intervals" in str(section)


def test_means_are_timed() -> None:
    assert "goal: at most 3.0 x" in str(speed(1_000, 1))


def test_finding_tables_is_timed() -> None:
    assert "goal: at most" in str(metadata(3, 1))
