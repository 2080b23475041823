"""The tasks that a Spark server runs, read off its log: its pages are off, and no client is told of a lost task."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

_TASK = r"\S+ in stage \S+ \(TID (\d+)\)"
_STARTED = re.compile(f"Executor: Running task {_TASK}")
_ENDED = re.compile(f"Executor: (?:Finished task|Executor (?:interrupted and )?killed task|Exception in task) {_TASK}")
SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a server in one process, whose log is at `log`."""

    log: Path

    def running(self) -> set[str]:
        """The numbers of the tasks that started and have not ended."""
        text = self.log.read_text(errors="replace")
        return set(_STARTED.findall(text)) - set(_ENDED.findall(text))

    def wait_for_some(self, seconds: float) -> bool:
        """Waits until a task runs, and returns whether one did in that time."""
        return self._wait(seconds, some=True)

    def wait_for_none(self, seconds: float) -> bool:
        """Waits until no task runs, and returns whether none did in that time."""
        return self._wait(seconds, some=False)

    def _wait(self, seconds: float, *, some: bool) -> bool:
        until = time.monotonic() + seconds
        while bool(self.running()) is not some:
            if time.monotonic() > until:
                return False
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return True
