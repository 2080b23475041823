"""Flash: greedy paths upwards, each searched binarily, with predictive tagging."""

from __future__ import annotations

import heapq

from benchmarks.comparators.looking import Found, Looking
from tableveil.control import Control
from tableveil.lattice import Lattice, Transformation
from tableveil.search import Problem
from tableveil.search.antichain import Antichain, Inheritance

Priority = tuple[float, Transformation]


def flash(problem: Problem, control: Control, time_limit: float | None = None) -> Found:
    """The best of all checked transformations, among them every minimal valid one.

    It is the optimum if validity and score are monotone, as they are for k-anonymity and loss if nothing may be
    suppressed. With suppression a better one may be above: the published variant for that case checks all valid ones.

    Source: Kohlmayer, Prasser, Eckert, Kemper and Kuhn 2012, Flash: efficient, stable and optimal k-anonymity,
    PASSAT. Theirs stores the lattice and tags it; here tags are antichains, and the lattice is walked rank by rank.
    Their order of transformations also looks at numbers of distinct values; here the mean share of each hierarchy's
    levels decides, then the levels.
    """
    looking = Looking(problem, control)
    invalid, valid = Antichain(Inheritance.DOWNWARDS), Antichain(Inheritance.UPWARDS)
    lattice = problem.lattice

    def tagged(x: Transformation) -> bool:
        return invalid.covers(x) or valid.covers(x)

    def priority(x: Transformation) -> Priority:
        return sum(level / top for level, top in zip(x, lattice.top, strict=True) if top), x

    def path(x: Transformation) -> list[Transformation]:
        """From x upwards for as long as there is one without a tag."""
        found = [x]
        while above := [y for y in looking.above(found[-1]) if not tagged(y)]:
            found.append(min(above, key=priority))
        return found

    def search(found: list[Transformation], waiting: list[Priority]) -> None:
        """Finds the lowest valid one on the path; invalid ones wait for their other paths."""
        low, high = 0, len(found)
        while low < high:
            middle = (low + high) // 2
            if looking.check(found[middle]).valid:
                valid.add(found[middle])
                high = middle
            else:
                invalid.add(found[middle])
                heapq.heappush(waiting, priority(found[middle]))
                low = middle + 1

    def walk() -> None:
        for start in _by_rank(lattice):
            if tagged(start):
                continue
            waiting: list[Priority] = []
            search(path(start), waiting)
            while waiting:
                _, x = heapq.heappop(waiting)
                for y in sorted(looking.above(x), key=priority):
                    if not tagged(y):
                        search(path(y), waiting)

    return looking.run(walk, time_limit)


def _by_rank(lattice: Lattice) -> list[Transformation]:
    return sorted(lattice, key=lambda x: (sum(x), x))
