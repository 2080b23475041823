"""Verifying an audit: changed, missing, inserted and cut entries are found."""

import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tableveil.audit import AuditFile, verify
from tableveil.cli.main import cli
from tableveil.errors import InvalidError
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now

Lines = list[bytes]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    with closing(AuditFile(path)) as file:
        for number in range(6):
            file.append(AuditEntry(now(), AuditEvent.CALL, f"p{number}"))
    return path


def without(*positions: int) -> Callable[[Lines], Lines]:
    return lambda lines: [line for position, line in enumerate(lines) if position not in positions]


def changed(position: int) -> Callable[[Lines], Lines]:
    return lambda lines: [line.replace(b':"p', b':"q') if at == position else line for at, line in enumerate(lines)]


@pytest.mark.parametrize(
    ("tamper", "fault"),
    [
        (changed(2), "entry 3 was changed, or entry 4 was"),
        (changed(0), "entry 1 was changed"),
        (without(2, 3), "2 entries are missing between entries 2 and 5"),
        (without(0), "begins with entry 2"),
        (lambda lines: [*lines[:3], lines[1], *lines[3:]], "entry 2 follows entry 3"),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "entry 3 follows entry 4"),
        (lambda lines: [*lines[:2], b"\n", *lines[2:]], "the line after entry 2 is no entry"),
        (lambda lines: [*lines[:5], lines[5][:-20]], "no whole entry"),
        (lambda lines: lines[::-1], "begins with entry 6"),
    ],
)
def test_what_was_done_to_a_file_is_found_without_a_head(
    path: Path, tamper: Callable[[Lines], Lines], fault: str
) -> None:
    assert not verify([path]).faults
    path.write_bytes(b"".join(tamper(path.read_bytes().splitlines(keepends=True))))
    assert fault in "; ".join(verify([path]).faults)


@pytest.mark.parametrize("tamper", [without(4, 5), without(5), changed(5), without(*range(6))])
def test_the_end_is_proven_by_a_head_that_was_kept_elsewhere(path: Path, tamper: Callable[[Lines], Lines]) -> None:
    head = verify([path]).head
    path.write_bytes(b"".join(tamper(path.read_bytes().splitlines(keepends=True))))
    assert not verify([path]).faults
    assert "no entry has the hash of the known head" in "; ".join(verify([path], head=head).faults)


def test_an_earlier_head_proves_everything_up_to_it(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    assert not verify([path], head=hashlib.sha256(lines[2]).hexdigest()).faults
    assert verify([path], head="f" * 64).faults


@pytest.mark.parametrize("option", ["head", "after"])
def test_a_hash_that_is_none_is_refused(path: Path, option: str) -> None:
    with pytest.raises(InvalidError, match=f"{option}: found 'F00'"):
        verify([path], **{option: "F00"})  # type: ignore[arg-type]


def test_the_command_ends_with_1_if_the_chain_is_broken(path: Path) -> None:
    def run(*options: str) -> Result:
        return CliRunner().invoke(cli, ["audit", "verify", *options, str(path)])

    whole = run("--json")
    found = json.loads(whole.stdout)
    assert (whole.exit_code, found["entries"], found["faults"]) == (0, 6, [])
    assert run("--head", found["head"]).exit_code == 0
    assert run("--head", "nothing").exit_code == 2
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    broken = run()
    assert broken.exit_code == 1
    assert "begins with entry 2" in broken.stdout


def test_the_count_and_the_head_are_those_of_standard_tools(path: Path) -> None:
    found = verify([path])
    assert found.entries == 6
    assert found.head == hashlib.sha256(path.read_bytes().splitlines(keepends=True)[-1]).hexdigest()
