"""The reports of a running job."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tableveil.control import Progress
from tableveil.state.jobs import JobPhase


@dataclass(slots=True)
class JobReport:
    """Reports each phase as it begins, and the progress of the search; measures the phases."""

    on_phase: Callable[[JobPhase], None] = lambda phase: None
    on_progress: Callable[[Progress], None] = lambda progress: None
    started: float = field(default_factory=time.monotonic)
    _began: list[tuple[JobPhase, float]] = field(default_factory=list)

    def phase(self, phase: JobPhase) -> None:
        """Reports that a phase begins."""
        self._began.append((phase, time.monotonic()))
        self.on_phase(phase)

    def elapsed(self) -> float:
        """Seconds since the job started."""
        return time.monotonic() - self.started

    def seconds(self) -> dict[str, float]:
        """Seconds of each phase; the last one's up to now. A job that ends before the first has none."""
        ends = [*(began for _, began in self._began[1:]), time.monotonic()]
        return {phase.value.lower(): end - began for (phase, began), end in zip(self._began, ends, strict=False)}
