"""Counts the statements of one job and its CPU seconds, by phase."""

import math
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from tableveil.backend import Session
from tableveil.pipelines.work import JobReport
from tableveil.runtime import recorder
from tableveil.state.jobs import JobPhase

SUBMISSION, AFTERWARDS = "submission", "afterwards"
PHASES = (SUBMISSION, *("reading", "counting", "searching", "writing", "verifying"), AFTERWARDS)
"""Verifying includes the record of the outcome. Afterwards checksums are made and releases compared."""

_WORKERS = "tableveil-worker"


@dataclass(slots=True)
class Measured:
    """The statements and CPU seconds of a job, per phase."""

    statements: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))


class Meter:
    """Measures one job at a time: enter `job`, call `submitted`, wait for the job, and call `ended`.

    A job gives equal numbers of statements however busy the machine is: a worker waits for the end of the submission,
    and no progress is stored, since a clock decides how often.
    """

    def __init__(self) -> None:
        self._submitted = threading.Event()
        self._counted: set[str] = set()
        self._phase = SUBMISSION
        self._began = 0.0
        self._measured = Measured()

    @contextmanager
    def job(self) -> Iterator[Measured]:
        """Counts in the block what this thread submits and a worker runs."""
        self._measured, self._counted = Measured(), {threading.current_thread().name}
        self._submitted.clear()
        meter, opened, phase_of = self, Session.__init__, JobReport.phase

        def open_counted(session: Session, cursor: Any, *given: Any, **named: Any) -> None:
            opened(session, _Counted(cursor, meter), *given, **named)  # type: ignore[arg-type]

        def phase(report: JobReport, begun: JobPhase) -> None:
            meter._enter(begun.value.lower())
            phase_of(report, begun)

        with (
            patch.object(Session, "__init__", open_counted),
            patch.object(JobReport, "phase", phase),
            patch.object(recorder, "SECONDS_BETWEEN_STORED_PROGRESS", math.inf),
        ):
            self._phase, self._began = SUBMISSION, time.process_time()
            try:
                yield self._measured
            finally:
                self._submitted.set()

    def submitted(self) -> None:
        """The job is queued; a worker may begin."""
        self._counted = set()
        self._submitted.set()

    def ended(self) -> None:
        """The job has ended: this thread does what follows releases."""
        self._enter(AFTERWARDS)
        self._counted = {threading.current_thread().name}

    def finished(self) -> None:
        """Nothing is left to do."""
        self._enter(AFTERWARDS)

    def count(self) -> None:
        """A statement is about to run in this thread."""
        name = threading.current_thread().name
        if name.startswith(_WORKERS):
            self._submitted.wait()
        elif name not in self._counted:
            return
        self._measured.statements[self._phase] += 1

    def _enter(self, phase: str) -> None:
        now = time.process_time()
        self._measured.seconds[self._phase] += now - self._began
        self._phase, self._began = phase, now


class _Counted:
    """A cursor whose statements are counted."""

    def __init__(self, cursor: Any, meter: Meter) -> None:
        self._cursor, self._meter = cursor, meter

    def execute(self, text: object, *given: Any) -> Any:
        self._meter.count()
        return self._cursor.execute(text, *given)

    def sql(self, text: object, *given: Any) -> Any:
        self._meter.count()
        return self._cursor.sql(text, *given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)
