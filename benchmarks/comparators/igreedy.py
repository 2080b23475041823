"""IGreedy, the improved greedy heuristic: goes where the smallest class becomes largest."""

from benchmarks.comparators.looking import Found, Looking
from tableveil.control import Control
from tableveil.lattice import Transformation
from tableveil.search import Problem


def igreedy(problem: Problem, control: Control, time_limit: float | None = None) -> Found:
    """The best valid transformation seen on the way up, which ends at the first step that has one.

    Source: Babu, Reddy, Kumar, Elliot and Jena 2013, Achieving k-anonymity using improved greedy heuristics for very
    large relational databases, Transactions on Data Privacy 6, as read by Prasser et al. 2016, Lightning:
    utility-driven anonymization of high-dimensional data, Transactions on Data Privacy 9, who compare with it. From the
    bottom, all transformations one level above are checked; the next is the one whose smallest class is largest, then
    the one whose attribute with most distinct values has fewest, then the first. Our own rule: if several of a step are
    valid, the one with the least score counts, and not the next one of the walk.
    """
    looking = Looking(problem, control)

    def smallest_class(x: Transformation) -> int:
        return int(looking.check(x).classes.counts.min(initial=problem.counter.records))

    def walk() -> None:
        x = problem.lattice.bottom
        looking.check(x)
        while looking.best is None and x != problem.lattice.top:
            x = max(looking.above(x), key=lambda y: (smallest_class(y), -looking.most_distinct(y)))

    return looking.run(walk, time_limit)
