"""`tableveil serve` as an operator runs it: a process of its own on a database file."""

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tests.e2e.forked import Command

SECONDS_TO_STOP = 30


class NotServingError(Exception):
    """A server did not start; the text is its log."""


class ServerProcess:
    """A running server. Its log goes to a file beside the database."""

    def __init__(self, database: Path, *options: str) -> None:
        """Returns once the server accepts calls."""
        self.database = database
        self.log_file = database.with_suffix(".log")
        usual = ("--database", str(database), "--address", "127.0.0.1:0", "--threads", "2")
        self.process = Command("serve", *usual, *options, log=self.log_file)
        line = self.process.stdout.readline()
        if " on " not in line:
            self.process.wait(SECONDS_TO_STOP)
            raise NotServingError(self.log_file.read_text())
        self.address = line.rpartition(" on ")[2].strip()

    @property
    def spill_directory(self) -> Path:
        """The directory for raw data that does not fit into memory."""
        return self.database.with_name(f".{self.database.name}.spill")

    def terminate(self) -> int:
        """Asks the server to stop, as an init system would, and returns the exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kills the server without warning."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Waits until it has ended, and returns the exit code."""
        return self.process.wait(SECONDS_TO_STOP)


Serve = Callable[..., ServerProcess]
"""`serve(database, *options)`."""


@contextmanager
def durable(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The state of the file and its log after a crash now; the files themselves stay unchanged.

    No other process may be about to write them.
    """
    with TemporaryDirectory(dir=database.parent) as directory:
        copy = Path(directory) / database.name
        shutil.copyfile(database, copy)
        log = database.with_name(f"{database.name}.wal")
        if log.exists():
            shutil.copyfile(log, copy.with_name(log.name))
        with duckdb.connect(copy) as connection:
            yield connection
