"""The anytime strategy: local search finds good transformations early, and intervals prove how good they are."""

from collections.abc import Callable

from tableveil.control import Control, Progress
from tableveil.search.findings import Findings
from tableveil.search.intervals import IntervalSearch
from tableveil.search.local import LocalSearch
from tableveil.search.outcome import Problem, SearchOutcome
from tableveil.search.proving import prove

HOPEFUL = 100
"""Steps per axis after the last improvement in which every second step is local search's.

A local optimum has about so many neighbours per axis, so that several walks end in vain before it is given up.
"""

RARELY = 20
"""After that, one step in so many: the proof needs the time more, but untried transformations are never found."""


def anytime(
    problem: Problem,
    control: Control,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    seed: int = 0,
) -> SearchOutcome:
    """The best valid transformation found in `time_limit` seconds, with the proven gap; without a limit, the optimum.

    Local search and branch and bound take turns by numbers of steps. So the problem and the seed alone decide which
    transformations are tried in which order; the time only decides how many. The findings of local search narrow the
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
