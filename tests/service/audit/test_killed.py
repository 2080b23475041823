"""A process killed while it writes the audit: each entry that it was promised is there, and the chain goes on."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tableveil.audit import AuditFile, verify
from tableveil.audit.entry import read_line

_WRITER = """
import sys, threading
from pathlib import Path
from tableveil.audit import AuditFile
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now

file = AuditFile(Path(sys.argv[1]))
def write(thread):
    for number in range(10**6):
        file.append(AuditEntry(now(), AuditEvent.CALL, f"{thread}-{number}"))
        sys.stdout.write(f"{thread}-{number}\\n")
        sys.stdout.flush()
for thread in range(4):
    threading.Thread(target=write, args=[thread]).start()
"""


@pytest.mark.long
def test_entries_that_were_promised_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with subprocess.Popen([sys.executable, "-c", _WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        promised = [writer.stdout.readline() for _ in range(200)]
        writer.kill()
        promised += writer.stdout.readlines()
    with closing(AuditFile(path)) as file:
        file.settle()
    recorded = {read_line(line).principal for line in path.read_bytes().splitlines(keepends=True)}
    # The kill may have cut the last promise.
    assert {promise.strip() for promise in promised if promise.endswith("\n")} <= recorded
    assert not verify([path]).faults
