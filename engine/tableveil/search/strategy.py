"""Chooses how a lattice is searched."""

from collections.abc import Callable
from dataclasses import replace

from tableveil.control import Control, Progress
from tableveil.policy import SearchOptions, Strategy
from tableveil.search.anytime import anytime
from tableveil.search.best_first import best_first
from tableveil.search.outcome import Problem, SearchOutcome
from tableveil.search.proving import exact

LARGEST_EXACT = 2_000_000
"""Up to this number of transformations, `AUTO` searches exactly: a million, with twelve columns, took ten seconds.

Local search would cost small lattices more checks than it saves; in large ones it finds good transformations early.
"""


def search(
    problem: Problem,
    options: SearchOptions,
    control: Control,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    """The best valid transformation, by the strategy that the options name; the outcome says what `AUTO` chose.

    Raises:
        CancelledError: `control` was cancelled.
    """
    limit = options.seconds
    match options.strategy:
        case Strategy.EXACT:
            return exact(problem, control, limit, report)
        case Strategy.BEST_FIRST:
            return best_first(problem, control, limit, report)
        case Strategy.ANYTIME:
            return anytime(problem, control, limit, report, options.seed)
        case Strategy.AUTO:
            size = problem.lattice.size
            if size <= LARGEST_EXACT:
                outcome = exact(problem, control, limit, report)
                why = f"chosen for a lattice of at most {LARGEST_EXACT:,} transformations"
            else:
                outcome = anytime(problem, control, limit, report, options.seed)
                why = f"chosen for a lattice of more than {LARGEST_EXACT:,} transformations"
            return replace(outcome, strategy=f"{outcome.strategy}, {why}")
