"""`tableveil audit show` on a file."""

import json
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tableveil.audit import AuditFile
from tableveil.cli.main import cli
from tableveil.state.audit_entries import AuditEntry, AuditEvent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    with closing(AuditFile(path)) as file:
        for day, principal, method, code in (
            (1, "anna", "SubmitJob", "OK"),
            (2, "bert", "GetJob", "NOT_FOUND"),
            (3, "anna", "GetJob", "OK"),
        ):
            at = datetime(2026, 11, day, 12)
            file.append(AuditEntry(at, AuditEvent.CALL, principal, method=f"/v1.S/{method}", code=code))
    with path.open("a") as text:
        text.write("not an entry\n")
    return path


def show(path: Path, *options: str) -> Result:
    result = CliRunner().invoke(cli, ["audit", "show", "--file", str(path), *options])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ((), ["3", "2", "1"]),
        (("--principal", "anna"), ["3", "1"]),
        (("--method", "GetJob", "--limit", "1"), ["3"]),
        (("--code", "NOT_FOUND"), ["2"]),
        (("--since", "2026-11-02"), ["3", "2"]),
        (("--since", "2026-11-02T12:00:01"), ["3"]),
    ],
)
def test_the_wanted_entries_are_shown_newest_first(path: Path, options: tuple[str, ...], numbers: list[str]) -> None:
    found = json.loads(show(path, "--json", *options).stdout)
    assert [entry["number"] for entry in found["entries"]] == numbers


def test_entries_are_lines_for_people(path: Path) -> None:
    lines = show(path).stdout.splitlines()
    assert lines[0].split()[:4] == ["number", "time", "event", "principal"]
    assert lines[2].split() == ["2", "2026-11-02", "12:00:00Z", "call", "bert", "GetJob", "NOT_FOUND"]
    assert show(path, "--principal", "nobody").stdout == "No entries.\n"
