"""The demo as people read it: the account on two screens, and a report whose first sheet decides."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("weasyprint")

pytestmark = pytest.mark.long


def _has_the_font() -> bool:
    """Whether the font that the report names is there: the widest substitute takes a sheet more."""
    found = shutil.which("fc-match")
    command = ["fc-match", "Liberation Sans", "family"]
    return bool(found) and "Liberation" in subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.skipif(not _has_the_font(), reason="Liberation Sans is not installed")
def test_the_account_fits_two_screens_and_the_report_decides_on_one_sheet_of_seven(tmp_path: Path) -> None:
    from benchmarks.journeys.demo import shown

    demo = shown(tmp_path)
    assert not list(demo.problems)
    assert demo.warnings
    assert "effective k" not in demo.warnings[0]
    sections = ("purpose", "risks", "decide", "rows", "sign", "limits")
    assert [demo.sheet_of[name] for name in sections] == [1, 1, 1, 1, 1, 2]
