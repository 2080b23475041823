"""Tries a statement of a user in a process that can be killed, before the server binds it.

Binding may take time and memory that grow exponentially with a statement's length: columns, types and aliases double
from step to step, and constants are computed. DuckDB 2.0.0 does not end it when it is interrupted, and does not count
its memory.
"""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tableveil.backend.trial_process import TOO_MUCH_MEMORY
from tableveil.control import Control, Stopped
from tableveil.errors import BusyError, InternalError

CPU_SECONDS = 2
"""CPU seconds that binding and planning a statement may take; ordinary ones take milliseconds."""

SECONDS_FOR_A_PLACE = 3.0
"""Wall-clock seconds that a statement waits for a place: with its trial, a call takes 5 seconds at most, then."""

MOST_SECONDS = 30.0
"""Wall-clock seconds after which a trial is ended, even if it had little CPU time."""

MOST_BYTES = 512 * 2**20

LARGEST_PLAN = 8 * 2**20
"""The most characters of a bound plan that the server looks through."""

AT_ONCE = 2

_SCRIPT = Path(__file__).with_name("trial_process.py")
_SECONDS_BETWEEN_LOOKS = 0.05
_MOST_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A statement that exceeds a limit when it is bound, and the limit."""

    found: str


class Trials:
    """Runs up to `AT_ONCE` trials at a time, and remembers which statements passed. May be used from any thread."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._passed: set[bytes] = set()

    def run(self, statement: str, definitions: Sequence[str], control: Control) -> Exceeded | dict[str, Any] | None:
        """Binds a statement on tables made by the definitions: None if it binds, or DuckDB's error as an object.

        Raises:
            Stopped: `control` says so; the process was killed.
            BusyError: other trials took too long.
        """
        asked = {"statement": statement, "definitions": definitions, "bytes": MOST_BYTES, "seconds": CPU_SECONDS}
        request = json.dumps(asked).encode()
        digest = hashlib.sha256(request).digest()
        if digest in self._passed:
            return None
        deadline = time.monotonic() + SECONDS_FOR_A_PLACE
        while not self._free.acquire(timeout=_SECONDS_BETWEEN_LOOKS):
            control.raise_if_stopped()
            if time.monotonic() > deadline:
                actual = f"{AT_ONCE} statements that are being looked at, as many as the server takes"
                raise BusyError.of("TOO_MANY_CALLS", "source_query", actual, "a free place", "Try again in a moment.")
        try:
            answer = _answer(request, control)
        finally:
            self._free.release()
        if not isinstance(answer, dict):
            return answer
        if "error" in answer:
            error: dict[str, Any] = answer["error"]
            return error
        if answer["plan_size"] > LARGEST_PLAN:
            return Exceeded("columns, types or expressions that grow from step to step")
        if len(self._passed) >= _MOST_REMEMBERED:
            self._passed = set()
        self._passed.add(digest)
        return None


def _answer(request: bytes, control: Control) -> dict[str, Any] | Exceeded:
    # Without Python's site start-up, and with the modules found where this process finds them.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-S", "-P", str(_SCRIPT)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            output = _communicated(process, request, control)
        finally:
            process.kill()
    if process.returncode == TOO_MUCH_MEMORY:
        return _exceeded(f"{MOST_BYTES // 2**20} MiB")
    # The kernel ended it for its time, or it ran out of its stack.
    if output is None or process.returncode < 0:
        return _exceeded(f"{CPU_SECONDS} seconds")
    try:
        answer: dict[str, Any] = json.loads(output)
    except ValueError:
        raise InternalError("TRIAL_FAILED", "the process that tries statements failed") from None
    return answer


def _communicated(process: subprocess.Popen[bytes], request: bytes, control: Control) -> bytes | None:
    """The process's output; None if it writes nothing in time."""
    deadline = time.monotonic() + MOST_SECONDS
    data: bytes | None = request
    while time.monotonic() < deadline:
        try:
            return process.communicate(data, _SECONDS_BETWEEN_LOOKS)[0]
        except subprocess.TimeoutExpired:
            data = None
        if control.must_stop:
            raise Stopped
    return None


def _exceeded(amount: str) -> Exceeded:
    return Exceeded(f"a query that takes more than {amount} to be understood")
