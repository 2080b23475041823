"""The document of numbers: every section is there at a small size, and a failed job is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import discharges, large, overhead
from benchmarks.__main__ import main


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (discharges, large):
        monkeypatch.setattr(module, "CACHE", tmp_path / "cache")


def test_a_large_table_is_measured_by_phase(tmp_path: Path) -> None:
    document = tmp_path / "numbers.md"
    code = main(["--only", "large", "--rows", "3000", "--runs", "1", "--output", str(document)])
    text = document.read_text()
    assert "Failed" not in text
    for phase in ["reading", "counting", "searching", "writing", "verifying", "outside the phases"]:
        assert f"\n| {phase} | " in text
    assert "\n| 3,000 | " in text
    assert "\n| 300 | " in text
    # Three times the rows have the same combinations and take the same checks.
    _, _, repeated = text.partition("| rows | combinations | checks | search s | ratio |")
    lines = [[cell.strip() for cell in line.split("|")[1:4]] for line in repeated.splitlines()[2:6]]
    assert [line[0] for line in lines] == ["300", "900", "3,000", "9,000"]
    assert lines[0][1:] == lines[1][1:]
    assert lines[2][1:] == lines[3][1:]
    assert code == 0


def test_a_failed_job_fails_the_document(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "MEMORY_LIMIT", "2 bottles")
    assert main(["--only", "large", "--rows", "300", "--runs", "1"]) == 1
    assert "Failed: beside on copy.duckdb: " in capsys.readouterr().out


def test_overhead_is_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "RUNS", 2)
    assert main(["--only", "overhead"]) == 0
    text = capsys.readouterr().out
    assert "\n| outside the phases | " in text
    assert "medians of 2" in text


def test_missing_reference_cases_are_said_to_be_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "reference", "--shared", str(tmp_path)]) == 0
    assert "Skipped: there is no `" in capsys.readouterr().out
