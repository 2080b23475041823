"""Other ways to search, for comparison only: none of them is part of the service."""

from collections.abc import Mapping
from typing import Protocol

from benchmarks.comparators.datafly import datafly
from benchmarks.comparators.exhaustive import exhaustive
from benchmarks.comparators.igreedy import igreedy
from benchmarks.comparators.looking import Found
from tableveil.control import Control
from tableveil.search import Problem


class Comparator(Protocol):
    """Searches for at most `time_limit` seconds."""

    def __call__(self, problem: Problem, control: Control, time_limit: float | None = None) -> Found:
        """The best transformation found; raises `CancelledError` if `control` was cancelled."""
        ...


COMPARATORS: Mapping[str, Comparator] = {"exhaustive": exhaustive, "datafly": datafly, "igreedy": igreedy}
