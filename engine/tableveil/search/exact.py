"""The exact strategy: intervals until the best transformation is proven, or the time is over."""

from __future__ import annotations

from collections.abc import Callable

from tableveil.search.control import Control, Stopped
from tableveil.search.findings import Findings
from tableveil.search.intervals import IntervalSearch
from tableveil.search.outcome import Progress, SearchOutcome
from tableveil.search.problem import Problem


def exact(
    problem: Problem,
    control: Control,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    """The valid transformation with the least key: score, then sum of levels, then lexicographic order.

    `time_limit` is in seconds; when it is over, the best found so far is returned with its gap. The most general
    transformation is checked first and whatever the time, so that there is something to return.

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
    complete = True
    try:
        if time_limit is not None:
            control.limit(findings.started + time_limit)
        while not intervals.exhausted():
            findings.report_now_and_then(intervals.bound)
            control.raise_if_stopped()
            intervals.step()
    except Stopped:
        control.raise_if_cancelled()
        complete = False
    finally:
        control.limit(None)
    return findings.outcome("exact", intervals.bound(), complete)
