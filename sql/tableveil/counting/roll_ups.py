"""The histograms that are kept to count from, within a budget of memory."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tableveil.classes import NumpyCounter
from tableveil.lattice import Transformation

REGION = 4
"""A roll-up is considered for so many transformations that were counted one after another.

In the recorded checks of searches on adult, fars, mach2019 and 10 million discharges, 3 and 4 read the fewest rows.
"""


@dataclass(slots=True, eq=False)
class RollUp:
    """A histogram at `at`: a table with columns `c<j>` (groups) and `n`, or arrays; the base may be both.

    `size` is in bytes, of the arrays if there are any. `used` is the number of the check that last counted from it.

    The transformations counted from it decide whether another roll-up is made of it: `since` counts those since a
    roll-up was last considered, `recent` are the last ones with their numbers of classes. At `refused` a roll-up would
    not have been much smaller. `regret` is how many seconds arrays would have saved so far.
    """

    at: Transformation
    rows: int
    size: int
    table_name: str | None = None
    arrays: NumpyCounter | None = None
    used: int = 0
    since: float = 0.0
    recent: dict[Transformation, int] = field(default_factory=dict)
    refused: list[Transformation] = field(default_factory=list)
    regret: float = 0.0

    def counted(self, transformation: Transformation, classes: int, share: float = 1.0) -> None:
        """Notes that so many classes were counted from it, or a share of them."""
        self.since += share
        self.recent[transformation] = classes
        if len(self.recent) > REGION:
            del self.recent[next(iter(self.recent))]

    def serves(self, transformation: Transformation) -> bool:
        """Whether it is fine enough to count the transformation from."""
        return all(low <= high for low, high in zip(self.at, transformation, strict=True))

    @property
    def in_arrays(self) -> bool:
        """Whether it counts against the budget for arrays; else it counts against that for tables."""
        return self.arrays is not None


class RollUps:
    """The base, which is never dropped, and the roll-ups made from it: arrays up to one budget, tables up to another.

    Over a budget, the least useful roll-up is dropped: the one that saves the fewest rows, compared with the next best
    source for its transformations, divided by the number of checks since it was last used.
    """

    def __init__(self, base: RollUp, budget_for_arrays: int, budget_for_tables: int) -> None:
        """Budgets are in bytes. The base's table is needed anyway and counts against no budget."""
        self.base = base
        self.kept: list[RollUp] = []
        self.made = 0
        self._budget = {True: budget_for_arrays, False: budget_for_tables}

    def finer(self, transformation: Transformation) -> list[RollUp]:
        """All histograms from which the transformation can be counted."""
        return [self.base, *(roll_up for roll_up in self.kept if roll_up.serves(transformation))]

    def fits(self, size: int, in_arrays: bool) -> bool:
        """Whether so many bytes fit into the budget beside the base."""
        return size + self._of_base(in_arrays) <= self._budget[in_arrays]

    def held(self, in_arrays: bool) -> int:
        """Bytes that arrays, or tables, take of their budget."""
        kept = sum(roll_up.size for roll_up in self.kept if roll_up.in_arrays == in_arrays)
        return kept + self._of_base(in_arrays)

    def keep(self, made: RollUp, now: int) -> list[RollUp]:
        """Keeps a new roll-up that fits; returns those that are dropped for it."""
        made.used = now
        self.kept.append(made)
        self.made += 1
        return self.drop(now, spared=made)

    def drop(self, now: int, spared: RollUp) -> list[RollUp]:
        """Keeps to the budget of the spared one's kind; returns the dropped ones."""
        others = [r for r in self.kept if r.in_arrays == spared.in_arrays and r is not spared]
        dropped: list[RollUp] = []
        while others and self.held(spared.in_arrays) > self._budget[spared.in_arrays]:
            least = min(others, key=self._worth(now))
            others.remove(least)
            self.kept.remove(least)
            dropped.append(least)
        return dropped

    def _of_base(self, in_arrays: bool) -> int:
        return self.base.size if in_arrays and self.base.in_arrays else 0

    def _worth(self, now: int) -> Callable[[RollUp], float]:
        def worth(roll_up: RollUp) -> float:
            instead = min(other.rows for other in self.finer(roll_up.at) if other is not roll_up)
            return (instead - roll_up.rows) / (now - roll_up.used + 1)

        return worth
