"""The section on time limits, of a small table."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import discharges
from benchmarks.operate import limits

pytestmark = pytest.mark.long


def test_a_limit_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (discharges, limits):
        monkeypatch.setattr(module, "CACHE", tmp_path)
    monkeypatch.setattr(limits, "_in_lake", lambda *_: ([], " Spark was not measured."))
    section = limits.limits(rows=1_000, seconds=(2,))
    assert section.sound, section
    assert "local recoding, limit 2 s" in str(section)
