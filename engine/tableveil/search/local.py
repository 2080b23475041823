"""Iterated local search: good transformations early, in lattices of any size. It proves nothing."""

import itertools
import math
from collections.abc import Generator, Iterator
from random import Random

from tableveil.classes import Check
from tableveil.lattice import Axis, Transformation
from tableveil.search.findings import Findings
from tableveil.search.outcome import Key

KICKED = 3
"""Axes that a kick moves: enough to leave a local optimum, few enough to keep most of its quality."""

REMEMBERED = 100_000
"""Transformations whose keys are remembered, so that walks that meet are not counted twice."""

Known = tuple[Key, Transformation]

Move = tuple[tuple[Axis, int], ...]
"""Axes, each with the number of levels that it moves."""


class LocalSearch:
    """Descends from the top to the first better neighbour; at each optimum it kicks itself out, and descends again.

    Neighbours have one axis a level up or down, or one a level down and another a level up: they trade one attribute's
    detail for another's, which single moves cannot do where the suppression limit binds. A neighbour that would be no
    better if it suppressed nothing is not counted. Transformations that are not valid are compared by the number of
    records they suppress, so that a walk that starts at one comes back.
    """

    def __init__(self, findings: Findings, seed: int) -> None:
        self._findings = findings
        self._lattice = findings.problem.lattice
        self._random = Random(seed)
        self._keys: dict[Transformation, Key] = {}
        self._walk = self._walking()
        self._improved: Check | None = None

    def step(self) -> Check | None:
        """Counts one transformation at most; returns its check if it is the best so far.

        Raises:
            Stopped: `control` says so while classes are counted; this search cannot go on then.
        """
        self._improved = None
        next(self._walk)
        return self._improved

    def _walking(self) -> Iterator[None]:
        # Nothing suppresses fewer records than the top: its evidence bounds the score of every transformation.
        self._free = self._findings.problem.quality.evidence(self._findings.look(self._lattice.top))
        yield
        best = yield from self._descent(self._lattice.top)
        while True:
            # If everything is known already, only the kick remains.
            yield
            reached = yield from self._descent(self._kicked(best[1]))
            best = min(best, reached)

    def _descent(self, start: Transformation) -> Generator[None, None, Known]:
        at = yield from self._rated(start)
        better: Known | None = at
        while better is not None:
            at, better = better, None
            for neighbour in self._neighbours(at[1]):
                if (self._free.bound(neighbour), sum(neighbour), neighbour) >= at[0]:
                    continue
                rated = yield from self._rated(neighbour)
                if rated < at:
                    better = rated
                    break
        return at

    def _rated(self, at: Transformation) -> Generator[None, None, Known]:
        if at not in self._keys:
            if len(self._keys) >= REMEMBERED:
                self._keys.clear()
            check = self._findings.look(at)
            candidate = self._findings.candidate(check)
            if candidate is not None and self._findings.keep(candidate):
                self._improved = check
            self._keys[at] = (
                ((math.inf, float(self._findings.suppressed(check))), 0, at) if candidate is None else candidate.key
            )
            yield
        return self._keys[at], at

    def _kicked(self, at: Transformation) -> Transformation:
        axes = self._lattice.axes
        for axis in self._random.sample(axes, min(KICKED, len(axes))):
            low, high = self._limits(axis)
            at = self._lattice.moved(at, axis, self._random.randint(low, high))
        return at

    def _neighbours(self, at: Transformation) -> Iterator[Transformation]:
        """In random order, but single moves first: there are fewer of them, and they gain more."""
        down = [axis for axis in self._lattice.axes if at[axis[0]] > self._limits(axis)[0]]
        up = [axis for axis in self._lattice.axes if at[axis[0]] < self._limits(axis)[1]]
        moves: list[Move] = [((a, -1),) for a in down]
        moves += [((a, 1),) for a in up]
        self._random.shuffle(moves)
        trades = [((a, -1), (b, 1)) for a, b in itertools.product(down, up) if a != b]
        self._random.shuffle(trades)
        for move in (*moves, *trades):
            neighbour = at
            for axis, change in move:
                neighbour = self._lattice.moved(neighbour, axis, at[axis[0]] + change)
            yield neighbour

    def _limits(self, axis: Axis) -> tuple[int, int]:
        return self._lattice.bottom[axis[0]], self._lattice.top[axis[0]]
