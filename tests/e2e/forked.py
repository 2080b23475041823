"""Runs `tableveil` in processes of their own, forked from one that has imported it, as importing takes seconds."""

import atexit
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from tableveil.cli.main import main
from tests.authenticated import use_one_token

SECONDS_TO_END = 60

_CONTEXT = multiprocessing.get_context("forkserver")
# DuckDB looks for pandas, which takes a second to import, when it first gives out arrays; SQL and pages
# load the last two.
_CONTEXT.set_forkserver_preload(
    ["tableveil.cli.serve", "tableveil.server", "pandas", "sqlglot.optimizer.annotate_types", "jinja2"]
)
# Waits for it, so that its processes count among those of the tests: see `tests/conftest.py`.
atexit.register(lambda: vars(forkserver)["_forkserver"]._stop())


class Command:
    """A running command; `stdout` reads what it prints."""

    def __init__(
        self,
        *arguments: str,
        log: Path | None = None,
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts it.

        Its log, which is what people read, is appended to a file or, without one, part of what it prints. It runs in
        this directory or one of its own, with this environment or one that is changed.
        """
        self._reader, writer = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(
            target=_run, args=(arguments, writer, log, directory or Path.cwd(), dict(environment or {})), daemon=True
        )
        self._process.start()
        writer.close()
        self.stdout: IO[str] = os.fdopen(self._reader.fileno(), closefd=False, encoding="utf-8")

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    @property
    def number(self) -> int:
        """The number of its process."""
        assert self._process.pid is not None
        return self._process.pid

    def send_signal(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        os.kill(self.number, number)

    def wait(self, seconds: float = SECONDS_TO_END) -> int:
        """Waits until it has ended, and returns the exit code: less than 0 if a signal ended it."""
        self._process.join(seconds)
        code = self._process.exitcode
        assert code is not None, f"not over after {seconds} seconds"
        self._reader.close()
        return code

    def ended(self) -> tuple[int, str]:
        """The exit code, and what it printed that was not read before."""
        said = self.stdout.read()
        return self.wait(), said


def _run(
    arguments: tuple[str, ...], out: Connection, log: Path | None, directory: Path, environment: dict[str, str]
) -> None:
    os.chdir(directory)
    # As most people have it: a file that nobody thought of is for everybody to read.
    os.umask(0o022)
    use_one_token()
    os.environ.update(environment)
    os.dup2(out.fileno(), 1)
    out.close()
    if log:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
    else:
        os.dup2(1, 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False, encoding="utf-8") for number in (1, 2))
    sys.argv = ["tableveil", *arguments]
    # A shell that runs the tests in the background may have set it to be ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
