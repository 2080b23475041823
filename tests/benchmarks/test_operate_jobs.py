"""The sections on jobs that share memory, on watchers, and on memory after many jobs, of a small table."""

from pathlib import Path

import pytest

from benchmarks import discharges
from benchmarks.operate import memory, soak, watchers

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (discharges, memory, watchers):
        monkeypatch.setattr(module, "CACHE", tmp_path)


def test_jobs_share_memory() -> None:
    section = memory.memory(rows=1_000, jobs=2, concurrent_jobs=2, memory_limit="250MiB")
    assert section.sound, section
    assert "shared by a budget" in str(section)


def test_calls_are_made_beside_watchers() -> None:
    section = watchers.watchers(rows=1_000, watching=2, calls=20)
    assert section.sound, section
    assert "with a job and 2 watchers" in str(section)


def test_memory_is_told_after_the_first_jobs_and_after_all() -> None:
    section = soak.growth(jobs=6, warm=3)
    assert section.sound, section
    assert "6 dry runs of 60 people" in str(section)
    assert "MiB after 3 to " in str(section)
