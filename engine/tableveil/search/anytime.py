"""The anytime strategy: good transformations early by local search, and intervals that prove how good they are."""

from __future__ import annotations

from collections.abc import Callable

from tableveil.control import Control, Progress
from tableveil.search.findings import Findings
from tableveil.search.intervals import IntervalSearch
from tableveil.search.local import LocalSearch
from tableveil.search.outcome import SearchOutcome
from tableveil.search.problem import Problem
from tableveil.search.proving import prove

HOPEFUL = 100
"""As many steps per axis after the last improvement, every second step is local search's: a local optimum has about so
many neighbours for each axis there is, so that several walks end without finding better before it is given up."""

RARELY = 20
"""After that, one step in so many: the proof needs the time more, but what is never tried is never found."""


def anytime(
    problem: Problem,
    control: Control,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    seed: int = 0,
) -> SearchOutcome:
    """The best valid transformation found in `time_limit` seconds, with the proven gap; without a limit, the optimum.

    Local search and branch and bound take turns by numbers of steps, so that what is tried, and in what order, follows
    from the problem and the seed alone; the time only decides how much of it. What local search finds narrows the
    intervals, so that both together prove more than branch and bound alone.

    Raises:
        CancelledError: `control` was cancelled.
    """
    return prove(
        "anytime",
        lambda findings, intervals: _Turns(findings, intervals, seed).take,
        problem,
        control,
        time_limit,
        report,
    )


class _Turns:
    def __init__(self, findings: Findings, intervals: IntervalSearch, seed: int) -> None:
        self._quality = findings.problem.quality
        self._intervals = intervals
        self._local = LocalSearch(findings, seed)
        self._hopeful = HOPEFUL * len(findings.problem.lattice.axes)
        self._steps = self._improved = 0

    def take(self) -> None:
        self._steps += 1
        if self._steps % (2 if self._steps - self._improved < self._hopeful else RARELY):
            self._intervals.step()
            return
        check = self._local.step()
        if check is not None:
            self._improved = self._steps
            self._intervals.found_elsewhere(self._quality.evidence(check), check.at)
