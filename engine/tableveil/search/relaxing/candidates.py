"""Goes through a lattice, interval by interval, and skips transformations that a check above excludes."""

import heapq
from dataclasses import dataclass

from tableveil.classes import Check
from tableveil.control import Control
from tableveil.lattice import Lattice, Transformation
from tableveil.search.outcome import Problem


@dataclass(frozen=True, slots=True, order=True)
class _Interval:
    """Transformations that are not excluded yet; `lost` records were lost at a transformation above all of them."""

    lost: int
    number: int
    lo: Transformation
    hi: Transformation
    checked: bool


class Candidates:
    """The transformations of a lattice that may be valid, the promising ones first.

    They are asked for one by one, each time for a problem that may be stricter than before: a transformation excluded
    for one problem is excluded for a stricter one.
    """

    def __init__(self, lattice: Lattice, control: Control) -> None:
        self._lattice = lattice
        self._control = control
        self._heap = [_Interval(0, 0, lattice.bottom, lattice.top, False)]
        self._number = 0

    def next(self, problem: Problem) -> Check | None:
        """The next transformation, counted; None if there are no more.

        Raises:
            Stopped: `control` says so.
        """
        while self._heap:
            self._control.raise_if_stopped()
            interval = heapq.heappop(self._heap)
            privacy = problem.privacy
            check = Check(
                problem.counter, interval.hi, privacy.minimum_class_size, privacy if privacy.knows_lost else None
            )
            if excluded(problem, check):
                continue
            self._split(interval, check.below)
            if not interval.checked:
                return check
        return None

    def _split(self, interval: _Interval, lost: int) -> None:
        """Halves an interval on its longest axis; its hi was checked."""
        lo, hi = interval.lo, interval.hi
        axis = max(self._lattice.axes, key=lambda axis: hi[axis[0]] - lo[axis[0]], default=())
        if not axis or lo == hi:
            return
        middle = (lo[axis[0]] + hi[axis[0]]) // 2
        self._push(lost, lo, self._lattice.moved(hi, axis, middle), checked=False)
        self._push(lost, self._lattice.moved(lo, axis, middle + 1), hi, checked=True)

    def _push(self, lost: int, lo: Transformation, hi: Transformation, checked: bool) -> None:
        self._number += 1
        heapq.heappush(self._heap, _Interval(lost, self._number, lo, hi, checked))


def excluded(problem: Problem, check: Check) -> bool:
    """Whether nothing at or below a checked transformation is valid."""
    if check.too_small > problem.suppressible or problem.privacy.vetoes(check.classes):
        return True
    if check.below > problem.suppressible:
        return True
    nothing_suppressible = problem.suppressible == problem.counter.withheld
    return nothing_suppressible and problem.privacy.refuses_all_below(check.classes)
