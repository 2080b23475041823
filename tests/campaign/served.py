"""A server as a process of its own, with its log in a file, and the memory of the process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tableveil.identity.secret import token_file

SECONDS_TO_START = 60.0
SECONDS_TO_STOP = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    address: str
    log: Path
    token_file: Path

    def status(self, name: str) -> int:
        """A figure of the process as Linux has it, such as VmRSS and VmHWM in bytes."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        figure = dict(line.split(":", 1) for line in lines)[name].split()
        return int(figure[0]) * (2**10 if figure[1:] == ["kB"] else 1)

    def errors(self) -> list[str]:
        """Lines of the log that report a defect."""
        return [line for line in self.log.read_text().splitlines() if "ERROR" in line or "Traceback" in line]

    def stop(self) -> int:
        """Asks the server to end, and returns its exit code."""
        self.process.terminate()
        return self.process.wait(SECONDS_TO_STOP)


@contextmanager
def serving(database: Path, *options: str) -> Iterator[Served]:
    """A server on the database, which is killed in the end if it still runs."""
    log = database.with_suffix(".log")
    usual = ("--database", str(database), "--address", "127.0.0.1:0", "--threads", "2")
    command = [sys.executable, "-m", "tableveil.cli", "serve", *usual, *options]
    with log.open("a") as file:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert " on " in line, log.read_text()
        yield Served(process, line.rpartition(" on ")[2].strip(), log, token_file(database))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(SECONDS_TO_STOP)
        process.stdout.close()
