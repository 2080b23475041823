"""DataFly: generalizes the attribute with most distinct values, one level at a time, until the result is valid."""

from benchmarks.comparators.looking import Found, Looking
from tableveil.control import Control
from tableveil.search import Problem


def datafly(problem: Problem, control: Control, time_limit: float | None = None) -> Found:
    """The first valid transformation on the way up.

    Source: Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression, section 4. It
    suppresses up to k records; here it suppresses as many as the problem allows, as in Prasser et al. 2016 (Lightning),
    who compare with it. Values are counted over the whole column, not over the kept records. If several attributes have
    equally many values, the first is generalized; linked attributes count as the one with most values.
    """
    looking = Looking(problem, control)
    lattice, levels = problem.lattice, problem.counter.levels

    def walk() -> None:
        x = lattice.bottom
        while not looking.check(x).valid and x != lattice.top:
            lower = [axis for axis in lattice.axes if x[axis[0]] < lattice.top[axis[0]]]
            axis = max(lower, key=lambda axis: max(len(levels[j].leaves[x[j]]) for j in axis))
            x = lattice.moved(x, axis, x[axis[0]] + 1)

    return looking.run(walk, time_limit)
