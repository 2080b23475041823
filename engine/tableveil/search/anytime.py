"""The anytime strategy: good transformations early by local search, and intervals that prove how good they are."""

from __future__ import annotations

from collections.abc import Callable

from tableveil.search.control import Control, Stopped
from tableveil.search.findings import Findings
from tableveil.search.intervals import IntervalSearch
from tableveil.search.local import LocalSearch
from tableveil.search.outcome import Progress, SearchOutcome
from tableveil.search.problem import Problem

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
    findings = Findings(problem, control, report)
    try:
        intervals = IntervalSearch(findings)
    except Stopped:
        # Only a cancel stops the first check: the time limit is not set yet.
        control.raise_if_cancelled()
        raise
    local = LocalSearch(findings, seed)
    hopeful = HOPEFUL * len(problem.lattice.axes)
    steps = improved = 0
    complete = True
    try:
        if time_limit is not None:
            control.limit(findings.started + time_limit)
        while not intervals.exhausted():
            findings.report_now_and_then(intervals.bound)
            control.raise_if_stopped()
            steps += 1
            if steps % (2 if steps - improved < hopeful else RARELY) == 0:
                check = local.step()
                if check is not None:
                    improved = steps
                    intervals.found_elsewhere(problem.quality.evidence(check), check.at)
            else:
                intervals.step()
    except Stopped:
        control.raise_if_cancelled()
        complete = False
    finally:
        control.limit(None)
    return findings.outcome("anytime", intervals.bound(), complete)
