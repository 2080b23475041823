"""What counting costs, learnt while it is done: who counts, and from what, is chosen by that."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

PRIOR = 0.05
"""The first figures weigh as much as a measurement of so many seconds."""


@dataclass(slots=True)
class Cost:
    """Seconds for a histogram of so many rows: `fixed` + `per_row` * rows, times how much slower it has been here.

    Measurements weigh by what they were expected to take: a slow tiny one tells little about large ones.
    """

    fixed: float
    per_row: float
    _expected: float = PRIOR
    _measured: float = PRIOR

    def seconds(self, rows: int) -> float:
        """What so many rows are expected to take."""
        return (self.fixed + self.per_row * rows) * self._measured / self._expected

    def observe(self, rows: int, seconds: float) -> None:
        """So many rows took so long."""
        self._expected += self.fixed + self.per_row * rows
        self._measured += seconds


@dataclass(frozen=True, slots=True)
class Costs:
    """Of all there is to choose from.

    They start from what was measured with DuckDB 2.0.0 and numpy 2 on two cores, histograms of 0.1 to 10 million rows
    and 8 quasi-identifiers.
    """

    count_in_table: Cost = field(default_factory=partial(Cost, fixed=2e-3, per_row=30e-9))
    count_in_arrays: Cost = field(default_factory=partial(Cost, fixed=1e-4, per_row=12e-9))
    roll_up_table: Cost = field(default_factory=partial(Cost, fixed=4e-3, per_row=80e-9))
    roll_up_arrays: Cost = field(default_factory=partial(Cost, fixed=3e-4, per_row=60e-9))
    hand_over: Cost = field(default_factory=partial(Cost, fixed=2e-3, per_row=50e-9))
    """Making arrays of a table."""
