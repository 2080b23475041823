"""The numbers of statements are compared with the file."""

import json
from pathlib import Path

import pytest

from benchmarks.everyday import statements
from benchmarks.everyday.jobs import EverydayJob, generated
from benchmarks.everyday.run import run


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "statements.json"
    file.write_text(json.dumps({"a job": {"reading": 7}, "a removed job": {"reading": 1}}))
    monkeypatch.setattr(statements, "FILE", file)
    return file


@pytest.mark.parametrize("number", [6, 8])
def test_more_or_fewer_statements_fail(
    file: Path, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(statements, "counted", lambda: {"a job": {"reading": number}})
    assert statements.main([]) == 1
    told = capsys.readouterr().err
    assert f"a job, reading: {number} statements, where the file has 7" in told
    assert "a removed job, reading: None statements, where the file has 1" in told
    assert statements.COMMAND in told


def test_written_numbers_agree(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "counted", lambda: {"a job": {"reading": 8}})
    assert statements.main(["--write"]) == 0
    assert statements.main([]) == 0


@pytest.mark.long
def test_a_job_takes_the_same_statements_each_time() -> None:
    job = EverydayJob("small", lambda: generated(200, 3))
    first, second = run(job).statements, run(job).statements
    assert first == second
    assert min(first.values()) > 0
