"""The section on loading, of a small file."""

from pathlib import Path

import pytest

from benchmarks.operate import load

pytestmark = pytest.mark.long


def test_the_same_rows_arrive_each_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "CACHE", tmp_path)
    section = load.load(rows=1_000)
    assert section.sound, section
    assert "sent by a client" in str(section)
