"""A server as a process of its own, and clients of it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tableveil.client import Client
from tableveil.identity.secret import token_file

SECONDS_TO_STOP = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    pid: int
    address: str
    token_file: Path

    def connect(self) -> Client:
        """A client who may do everything."""
        return Client(self.address, token_file=self.token_file)


@contextmanager
def served(database: Path, *options: str) -> Iterator[Served]:
    """A server on the database, which is stopped in the end."""
    command = [sys.executable, "-m", "tableveil.cli", "serve", "--database", str(database), "--address", "127.0.0.1:0"]
    # Clients measure how long calls take, not how many they may make.
    command += ["--calls-per-principal", "1000000"]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().rpartition(" on ")[2].strip()
            yield Served(process.pid, address, token_file(database))
        finally:
            process.terminate()
            process.wait(SECONDS_TO_STOP)
