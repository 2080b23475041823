"""The cost of counting: its memory, and its time, learnt while it is done, which decide on counter and histogram."""

from dataclasses import dataclass, field
from functools import partial

from tableveil.backend import Session

PRIOR = 0.05
"""The initial figures weigh as much as a measurement of so many seconds."""


@dataclass(slots=True)
class Cost:
    """Seconds for a histogram of so many rows: `fixed` + `per_row` * rows, times the slowdown measured here.

    Measurements are weighted by their expected time: a slow tiny one says little about large ones.
    """

    fixed: float
    per_row: float
    _expected: float = PRIOR
    _measured: float = PRIOR

    def seconds(self, rows: int) -> float:
        """The expected time for so many rows."""
        return (self.fixed + self.per_row * rows) * self._measured / self._expected

    def observe(self, rows: int, seconds: float) -> None:
        """Notes the time that so many rows took."""
        self._expected += self.fixed + self.per_row * rows
        self._measured += seconds


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of all ways of counting.

    They start from measurements with DuckDB 2.0.0 and numpy 2 on two cores, for histograms of 0.1 to 10 million rows
    and 8 quasi-identifiers.
    """

    count_in_table: Cost = field(default_factory=partial(Cost, fixed=2e-3, per_row=30e-9))
    count_in_arrays: Cost = field(default_factory=partial(Cost, fixed=1e-4, per_row=12e-9))
    roll_up_table: Cost = field(default_factory=partial(Cost, fixed=4e-3, per_row=80e-9))
    roll_up_arrays: Cost = field(default_factory=partial(Cost, fixed=3e-4, per_row=60e-9))
    hand_over: Cost = field(default_factory=partial(Cost, fixed=2e-3, per_row=50e-9))
    """Turning a table into arrays."""


UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
"""The units in which DuckDB shows its settings."""


def memory_limit(session: Session) -> int:
    """The session's share in bytes, or the instance's `memory_limit` as DuckDB rounds it: to a tenth of its unit."""
    if session.memory is not None:
        return session.memory
    amount, _, unit = str(session.value("SELECT current_setting('memory_limit')")).partition(" ")
    return int(float(amount) * UNITS[unit])
