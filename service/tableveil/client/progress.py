"""A job's progress: bars on a terminal, plain lines anywhere else."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from tableveil import wording
from tableveil.client.watching import ENDED
from tableveil.v1 import job_service_pb2
from tableveil.wording.progress import activity, findings

SECONDS_BETWEEN_LINES = 1.0


class ProgressView(Protocol):
    """Shows a job while it changes; a context manager, so that the terminal is left as it was."""

    def __enter__(self) -> Self:
        """Begins to show."""

    def __exit__(self, *_: object) -> None:
        """Stops showing."""

    def show(self, job: job_service_pb2.Job) -> None:
        """Shows the job as it is now."""


def progress_view(console: Console) -> ProgressView:
    """Chooses the view that suits the console."""
    return Bars(console) if console.is_terminal else Lines(console)


def shown(jobs: Iterable[job_service_pb2.Job], console: Console) -> Iterator[job_service_pb2.Job]:
    """The states of a job, each shown as it comes."""
    with progress_view(console) as view:
        for job in jobs:
            view.show(job)
            yield job


class Lines:
    """A line when something changed, at most one a second; the first and the last are always printed."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._activity = ""
        self._findings = ""
        self._shown_at = -math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, job: job_service_pb2.Job) -> None:
        """Prints a line if there is something new."""
        doing, findings_line = activity(job), findings(job)
        now = self._clock()
        if (doing, findings_line) == (self._activity, self._findings):
            return
        if now - self._shown_at < SECONDS_BETWEEN_LINES and job.state not in ENDED:
            return
        # Unchanged numbers are not repeated while the job does something else.
        numbers = f": {findings_line}" if findings_line and findings_line != self._findings else ""
        self._activity, self._findings, self._shown_at = doing, findings_line, now
        self._console.print(Text(f"{job.name} {doing}{numbers}"), soft_wrap=True)


class Bars:
    """A bar that fills as the proven bound approaches the best score, with the numbers below it."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[proven]}", markup=False),
            TimeElapsedColumn(),
            console=console,
        )
        self._task = self._bar.add_task("", total=None, proven="")
        self._live = Live(console=console, refresh_per_second=10)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, job: job_service_pb2.Job) -> None:
        """Moves the bar and replaces the numbers."""
        proven = _proven(job.progress)
        succeeded = job.state == job_service_pb2.JOB_STATE_SUCCEEDED
        measured = proven is not None and job.phase == job_service_pb2.JOB_PHASE_SEARCHING
        self._bar.update(
            self._task,
            description=f"{job.name} {activity(job)}{_step(job)}",
            # Without a total the bar pulses.
            total=1.0 if succeeded or measured else None,
            completed=1.0 if succeeded else proven or 0.0,
            proven="" if proven is None else f"{wording.share(proven)} proven",
        )
        numbers = Text(f"  {findings(job)}", style="dim", overflow="ellipsis", no_wrap=True)
        self._live.update(Group(self._bar, numbers))


def _step(job: job_service_pb2.Job) -> str:
    """The running statement, in words; lines do not show it: it moves all the time."""
    if job.state != job_service_pb2.JOB_STATE_RUNNING or not job.statements:
        return ""
    return f", step {wording.count(job.statements)}: {job.statement_percent:.1f} %"


def _proven(progress: job_service_pb2.SearchProgress) -> float | None:
    """The proven share of the best score, from 0 to 1, that is unavoidable; None until both are known."""
    if not (progress.HasField("best_score") and progress.HasField("lower_bound")):
        return None
    if progress.best_score <= 0:
        return 1.0
    return min(max(progress.lower_bound / progress.best_score, 0.0), 1.0)
