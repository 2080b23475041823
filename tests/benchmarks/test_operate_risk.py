"""The section on the risk of a small table without named columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import discharges
from benchmarks.game import risk as processes
from benchmarks.operate import risk

pytestmark = pytest.mark.long


def test_everything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (discharges, processes):
        monkeypatch.setattr(module, "CACHE", tmp_path)
    section = risk.risk(500)
    assert section.sound, section
    for part in ("GROUP BY", "guessed columns", "guessing", "policy draft", "age"):
        assert part in str(section)
