"""Chooses how a lattice is searched."""

from __future__ import annotations

from collections.abc import Callable

from tableveil.policy import SearchOptions
from tableveil.search.control import Control
from tableveil.search.exact import exact
from tableveil.search.outcome import Progress, SearchOutcome
from tableveil.search.problem import Problem


def search(
    problem: Problem,
    options: SearchOptions,
    control: Control,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    """The best valid transformation, by the strategy that the options name.

    Raises:
        CancelledError: `control` was cancelled.
    """
    limit = options.time_limit_seconds
    return exact(problem, control, None if limit is None else float(limit), report)
