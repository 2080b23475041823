"""The sections on recognizing people again, with few draws and a small table."""

from pathlib import Path

import pytest

from benchmarks.operate import same_people
from benchmarks.people import together

pytestmark = pytest.mark.long


def test_the_same_are_known_and_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_people, "CACHE", tmp_path)
    monkeypatch.setattr(same_people, "REGISTERED", 4_000)
    section = same_people.known_again(tmp_path, 1)
    assert "Misses: 0 of 8. False alarms: 0 of 3." in str(section)


def test_the_cost_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_people, "CACHE", tmp_path)
    assert "of the scan" in str(same_people.cost((1_000,)))


def test_the_ledger_of_people_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "CACHE", tmp_path)
    assert "of a plain scan" in str(together.digests(1_000))
    assert "REPORT" in str(together.together(1_000))
