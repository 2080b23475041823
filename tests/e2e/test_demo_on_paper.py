"""The demo as people read it: the account on two screens, and a report whose first sheet decides."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

weasyprint = pytest.importorskip("weasyprint")

pytestmark = pytest.mark.long

ROWS = 100_000
"""As many as the demo has by default: its warnings are those that a newcomer reads."""

SCREEN, COLUMNS = 50, 80


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that the demo leaves, and what it prints."""
    directory = tmp_path_factory.mktemp("demo") / "demo"
    command = [sys.executable, "-m", "tableveil.cli", "demo", "--rows", str(ROWS), "--directory", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return directory, done.stdout


def test_the_account_fits_two_screens(demo: tuple[Path, str]) -> None:
    _, printed = demo
    lines = printed.partition("\nreleases/1")[2].partition("\n4. The analysts' file.")[0].splitlines()
    # Piped lines are longer than a screen's: each takes as many as it needs there.
    assert sum(max(1, math.ceil(len(line.rstrip()) / COLUMNS)) for line in lines) <= 2 * SCREEN
    ranks = ("must be decided: ", "should be looked at: ", "note: ")
    warnings = [line for line in lines if line.strip().startswith(ranks)]
    assert 1 <= len(warnings) <= 3
    assert "effective k" not in warnings[0]


def test_the_report_decides_on_one_sheet_and_has_seven(demo: tuple[Path, str]) -> None:
    directory, _ = demo
    sheets = weasyprint.HTML(string=(directory / "report.html").read_text()).render().pages
    assert len(sheets) <= 7
    on = {anchor: number for number, sheet in enumerate(sheets, start=1) for anchor in sheet.anchors}
    assert [on[name] for name in ("purpose", "risks", "decide", "rows", "sign", "limits")] == [1, 1, 1, 1, 1, 2]
