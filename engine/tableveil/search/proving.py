"""The exact strategy, and the loop of every search by intervals: turns until the best is proven, or time is over."""

from collections.abc import Callable

from tableveil.control import Control, Progress, Stopped
from tableveil.search.findings import Findings
from tableveil.search.intervals import IntervalSearch
from tableveil.search.outcome import Problem, SearchOutcome

Turn = Callable[[], None]


def prove(
    strategy: str,
    turns: Callable[[Findings, IntervalSearch], Turn],
    problem: Problem,
    control: Control,
    time_limit: float | None,
    report: Callable[[Progress], None],
) -> SearchOutcome:
    """Takes turns, which work on the intervals sooner or later, until no open interval can hold anything better.

    The most general transformation is checked first, whatever the time, so that there is something to return.

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
    turn = turns(findings, intervals)
    complete = True
    try:
        with control.searching(None if time_limit is None else findings.started + time_limit):
            while not intervals.exhausted():
                findings.report_now_and_then(intervals.bound)
                control.raise_if_stopped()
                turn()
    except Stopped:
        control.raise_if_cancelled()
        complete = False
    return findings.outcome(strategy, intervals.bound(), complete)


def exact(
    problem: Problem,
    control: Control,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    """The valid transformation with the least key: score, then sum of levels, then lexicographic order.

    `time_limit` is in seconds; when it is over, the best found so far is returned with its gap. The most general
    transformation is checked first, whatever the time, so that there is something to return.

    Raises:
        CancelledError: `control` was cancelled.
    """
    return prove("exact", lambda findings, intervals: intervals.step, problem, control, time_limit, report)
