"""Exhaustive search: checks every transformation."""

from benchmarks.comparators.looking import Found, Looking
from tableveil.control import Control
from tableveil.search import Problem


def exhaustive(problem: Problem, control: Control, time_limit: float | None = None) -> Found:
    """The optimum, if time allows: the least score, then the least sum of levels, then the first by its levels."""
    looking = Looking(problem, control)

    def walk() -> None:
        for x in problem.lattice:
            looking.check(x)

    return looking.run(walk, time_limit)
