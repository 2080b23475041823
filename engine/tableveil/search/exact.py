"""The exact strategy: intervals until the best transformation is proven, or the time is over."""

from collections.abc import Callable

from tableveil.control import Control, Progress
from tableveil.search.outcome import SearchOutcome
from tableveil.search.problem import Problem
from tableveil.search.proving import prove


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
