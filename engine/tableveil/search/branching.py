"""Where to split an interval: learned from how much earlier splits raised the bounds of their lower parts."""

from typing import NamedTuple

from tableveil.lattice import Axis, Lattice, Transformation
from tableveil.quality import BoundEvidence


class Split(NamedTuple):
    """The lower part goes up to `level` of the axis; `cost` is the guide's cost of lo before."""

    axis: Axis
    level: int
    cost: float


LEARNED = 1 / 3
"""Weight of the expected gain of the lower part, against the known gain of the upper part."""


class Branching:
    """Prefers the place where both parts of a split come closest to being excluded.

    The gain of the upper part is known: the guide gives the cost of its higher lowest level. Half of the gain counts
    from the level just below, so that an axis is split where its cost jumps, and half from the interval's lowest level.
    The gain of the lower part is known only after its check, so the expectation is its average at that place before.
    Both are shares of the missing score until the interval is excluded, and are added: these are the pseudo-costs of
    mixed-integer programming (Benichou et al. 1971). docs/explanations/search.md has the cost of other rules.
    """

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._seen: dict[tuple[Axis, int], tuple[float, int]] = {}
        # Before anything is known, a lower part is expected to come half of the way.
        self._all = (0.5, 1)
        self._best_cost: float | None = None

    def found_best(self, evidence: BoundEvidence, at: Transformation) -> None:
        """The best transformation so far is at the end of the evidence's intervals."""
        self._best_cost = _cost(_rows(evidence), at)

    def split(self, evidence: BoundEvidence, lo: Transformation, hi: Transformation) -> Split:
        """The place at which to split [lo, hi], which the evidence is about; the first of equally good places."""
        rows = _rows(evidence)
        cost = _cost(rows, lo)
        missing = self._missing(cost)
        mean = self._all[0] / self._all[1]
        best, best_split = -1.0, Split(self._lattice.axes[0], 0, cost)
        for axis in self._lattice.axes:
            low = lo[axis[0]]
            at_low = sum(rows[j][low] for j in axis)
            for level in range(low, hi[axis[0]]):
                above = sum(rows[j][level + 1] for j in axis)
                just_below = sum(rows[j][level] for j in axis)
                total, times = self._seen.get((axis, level), (mean, 1))
                gained = (_share(above - just_below, missing) + _share(above - at_low, missing)) / 2
                gained += LEARNED * total / times
                if gained > best:
                    best, best_split = gained, Split(axis, level, cost)
        return best_split

    def learn(self, split: Split, lo: Transformation, evidence: BoundEvidence | None) -> None:
        """Learns from checking the lower part of a split: its evidence, or None if it was excluded."""
        share = 1.0
        if evidence is not None:
            share = _share(_cost(_rows(evidence), lo) - split.cost, self._missing(split.cost))
        total, times = self._seen.get((split.axis, split.level), (0.0, 0))
        self._seen[split.axis, split.level] = (total + share, times + 1)
        self._all = (self._all[0] + share, self._all[1] + 1)

    def _missing(self, cost: float) -> float:
        return 1.0 if self._best_cost is None else self._best_cost - cost


def _rows(evidence: BoundEvidence) -> list[list[float]]:
    return [column.tolist() for column in evidence.guide]


def _cost(rows: list[list[float]], at: Transformation) -> float:
    return sum(row[level] for row, level in zip(rows, at, strict=True))


def _share(gained: float, missing: float) -> float:
    """From 0 to 1; 1 if nothing is missing."""
    return max(0.0, min(1.0, gained / missing)) if missing > 0 else float(gained > 0)
