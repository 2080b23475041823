"""Counting a histogram that is in the database: from the histogram itself, or from roll-ups kept there or in numpy."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, column, table
from tableveil.classes import EquivalenceClasses, Marginals, NumpyCounter, PartCount, count_parts
from tableveil.counting.base import Histogram
from tableveil.counting.cost import Cost, Costs
from tableveil.counting.histogram_tables import HistogramTables
from tableveil.counting.roll_ups import REGION, RollUp, RollUps
from tableveil.lattice import Transformation

WORKING_BYTES = 70
"""Bytes per row that numpy takes while it counts: places of rows, sizes of all places, classes."""

LEAST_GROUPS, MOST_VALUES = 8, 4096
"""Groups of quasi-identifiers of at least so many, and of so many values at most, make parts; statements list them."""

WORTH_PROVING = 0.02
"""Seconds of counting from which on parts are counted first."""

WORTH_MAKING = 0.5
"""A roll-up is made only if it has at most this share of its source's rows."""


class HistogramCounter:
    """Counts classes of a histogram that stays in the database, while the session lives.

    A search asks for transformations around one region of the lattice for a long time. When several were counted from
    one histogram, a roll-up is made at their meet, the most general transformation that is fine enough for all of them;
    everything above the meet can be counted from there. Roll-ups that fit may become arrays, on which numpy counts.

    Measured seconds decide on the histogram to count from, on a statement or numpy, and on when a roll-up or arrays are
    worth making: they are made once they would have saved their own cost. Only `account` shows these choices: answers,
    including their order, do not depend on earlier requests or on speed.
    """

    def __init__(
        self,
        session: Session,
        histogram: Histogram,
        budget: int,
        hand_over_rows: int | None = None,
        bottom: Transformation | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`bottom` is the least transformation that will be asked for, if it is known.

        Tables of roll-ups may take `budget` bytes, and arrays as many beside them; numpy takes as many again while it
        counts. Histograms of more than `hand_over_rows` are never handed over to numpy: 0 keeps all counting in the
        database. `clock` returns seconds.
        """
        self._levels = histogram.levels
        self._tables = HistogramTables(session, histogram.name, self._levels)
        self._hand_over_rows = hand_over_rows
        self._clock = clock
        self.costs = Costs()
        # Before there is a measurement: eight bytes for the count, and two for each group as if none were packed
        # together.
        self._bytes_per_row = 8.0 + 2.0 * len(self._levels)
        self._checks = self._in_numpy = 0
        self._marginals: dict[int, NDArray[np.int64]] = {}
        name = f"searchable_{histogram.name}"
        query = histogram.searchable().select(*map(column, histogram.columns), column("n"))
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        session.execute(exp.Create(this=table(name), kind="VIEW", expression=query, properties=temporary))
        self._budget = budget
        self.roll_ups = RollUps(RollUp((0,) * len(self._levels), histogram.rows, 0, name), budget, budget)
        if bottom is not None:
            self._rolled_up(self.roll_ups.base, bottom)

    @property
    def account(self) -> str:
        """How classes were counted so far, in one sentence."""
        made, kept = self.roll_ups.made, self.roll_ups.kept
        base = "DuckDB and numpy" if self.roll_ups.base.in_arrays else "DuckDB"
        return (
            f"{self.roll_ups.base.rows:,} combinations in {base}; roll-ups: {made} made, {len(kept)} kept, "
            f"{sum(roll_up.in_arrays for roll_up in kept)} of them in numpy; "
            f"checks: {self._in_numpy:,} of {self._checks:,} in numpy"
        )

    def marginals(self) -> Marginals:
        """All records but the withheld ones, per code."""
        return Marginals(self.roll_ups.base.at, tuple(map(self._marginal, range(len(self._levels)))))

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation, in the order of their keys."""
        source = self._source(transformation)
        if self._counts_in_numpy(source):
            classes = self._from_arrays(source, transformation)
        else:
            classes = self._from_table(source, transformation)
        self._checks += 1
        source.used = self._checks
        source.counted(transformation, len(classes.counts))
        return classes

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """Whether parts show that more than `most` records are in classes of fewer than `size`."""
        if size <= 1:
            return False
        groups = [
            len(levels.leaves[level]) if len(levels.leaves[0]) <= MOST_VALUES else 0
            for levels, level in zip(self._levels, transformation, strict=True)
        ]
        attribute = max(range(len(groups)), key=groups.__getitem__)
        if groups[attribute] < LEAST_GROUPS:
            return False
        source = self._source(transformation)
        if self._seconds(source) < WORTH_PROVING:
            return False
        in_numpy, started = self._counts_in_numpy(source), self._clock()

        def count(part: NDArray[np.bool_]) -> PartCount:
            if in_numpy:
                assert source.arrays is not None
                return source.arrays.count_part(transformation, size, (attribute, part))
            assert source.table_name is not None
            return self._tables.count_part(source.table_name, source.at, transformation, size, (attribute, part))

        parts = count_parts(self._records(attribute, transformation[attribute]), most, count)
        if parts is None:
            return False
        self._checks += 1
        self._in_numpy += in_numpy
        source.used = self._checks
        share = parts.rows / max(source.rows, 1)
        source.counted(transformation, int(parts.classes / share) if share else 0, share)
        if not in_numpy:
            self._counted_in_table(source, parts.rows, self._clock() - started)
        return True

    def _records(self, attribute: int, level: int) -> NDArray[np.int64]:
        """Records per group of a quasi-identifier."""
        at_levels = self._levels[attribute]
        return np.bincount(at_levels.groups[level], self._marginal(attribute), len(at_levels.leaves[level])).astype(
            np.int64
        )

    def _marginal(self, attribute: int) -> NDArray[np.int64]:
        """Records per code of a quasi-identifier."""
        base = self.roll_ups.base
        assert base.table_name is not None
        if attribute not in self._marginals:
            self._marginals[attribute] = self._tables.marginal(base.table_name, attribute)
        return self._marginals[attribute]

    def _source(self, transformation: Transformation) -> RollUp:
        """The cheapest histogram to count the transformation from; it is made now if that pays."""
        source = min(self.roll_ups.finer(transformation), key=self._seconds)
        if len(source.recent) < REGION:
            return source
        most = max(source.recent.values())
        # The expectation is that as many checks follow as there have been.
        saved = source.since * (self._seconds(source) - self._least_seconds(most))
        if most > WORTH_MAKING * source.rows or saved < self._cost_of_roll_up(source).seconds(source.rows):
            return source
        source.since = 0.0
        return self._rolled_up(source, tuple(map(min, transformation, *source.recent))) or source

    def _from_arrays(self, source: RollUp, transformation: Transformation) -> EquivalenceClasses:
        assert source.arrays is not None
        started = self._clock()
        classes = source.arrays.classes(transformation)
        self.costs.count_in_arrays.observe(source.rows, self._clock() - started)
        self._in_numpy += 1
        return classes

    def _from_table(self, source: RollUp, transformation: Transformation) -> EquivalenceClasses:
        assert source.table_name is not None
        started = self._clock()
        classes = self._tables.classes(source.table_name, source.at, transformation)
        self._counted_in_table(source, source.rows, self._clock() - started)
        return classes

    def _counted_in_table(self, source: RollUp, rows: int, seconds: float) -> None:
        """Learns from counting so many of its rows, and turns it into arrays if these would have saved enough."""
        assert source.table_name is not None
        self.costs.count_in_table.observe(rows, seconds)
        source.regret += seconds - self.costs.count_in_arrays.seconds(rows)
        if (
            not source.in_arrays
            and source.regret >= self.costs.hand_over.seconds(source.rows)
            and self._fits_numpy(source.rows)
        ):
            self._hand_over(source)

    def _counts_in_numpy(self, source: RollUp) -> bool:
        if source.arrays is None or source.table_name is None:
            return source.arrays is not None
        return self.costs.count_in_arrays.seconds(source.rows) <= self.costs.count_in_table.seconds(source.rows)

    def _seconds(self, source: RollUp) -> float:
        """Seconds of counting from it."""
        costs = self.costs
        return (costs.count_in_arrays if self._counts_in_numpy(source) else costs.count_in_table).seconds(source.rows)

    def _least_seconds(self, rows: int) -> float:
        """The least seconds of counting from so many rows."""
        return min(self.costs.count_in_arrays.seconds(rows), self.costs.count_in_table.seconds(rows))

    def _cost_of_roll_up(self, source: RollUp) -> Cost:
        """The cost of the faster way to make one."""
        costs = [self.costs.roll_up_table] if source.table_name is not None else []
        costs += [self.costs.roll_up_arrays] if source.arrays is not None else []
        return min(costs, key=lambda cost: cost.seconds(source.rows))

    def _fits_numpy(self, rows: int) -> bool:
        if self._hand_over_rows is not None and rows > self._hand_over_rows:
            return False
        return rows * WORKING_BYTES <= self._budget and self.roll_ups.fits(int(rows * self._bytes_per_row), True)

    def _rolled_up(self, source: RollUp, at: Transformation) -> RollUp | None:
        """Makes and keeps a roll-up at the transformation, unless it does not fit or is not much smaller."""
        # A roll-up that is finer than a refused one has more rows still.
        if at == source.at or any(all(map(int.__le__, at, refused)) for refused in source.refused):
            return None
        cost, started = self._cost_of_roll_up(source), self._clock()
        rolled_up = self._rolled_up_arrays if cost is self.costs.roll_up_arrays else self._rolled_up_table
        made = rolled_up(source, at)
        if made is None:
            source.refused.append(at)
            return None
        cost.observe(source.rows, self._clock() - started)
        self._drop(self.roll_ups.keep(made, self._checks))
        return made

    def _rolled_up_arrays(self, source: RollUp, at: Transformation) -> RollUp | None:
        assert source.arrays is not None
        classes = source.arrays.classes(at)
        rows = len(classes.counts)
        return self._as_arrays(at, classes) if rows <= WORTH_MAKING * source.rows and self._fits_numpy(rows) else None

    def _rolled_up_table(self, source: RollUp, at: Transformation) -> RollUp | None:
        assert source.table_name is not None
        rows = self._tables.estimated_rows(source.table_name, source.at, at)
        if rows > WORTH_MAKING * source.rows:
            return None
        costs = self.costs
        if costs.count_in_arrays.seconds(rows) <= costs.count_in_table.seconds(rows) and self._fits_numpy(rows):
            return self._as_arrays(at, self._tables.classes(source.table_name, source.at, at))
        if not self.roll_ups.fits(self._tables.size(at, rows), in_arrays=False):
            return None
        name, rows = self._tables.roll_up(source.table_name, source.at, at)
        return RollUp(at, rows, self._tables.size(at, rows), name)

    def _as_arrays(self, at: Transformation, classes: EquivalenceClasses) -> RollUp:
        made = RollUp(at, len(classes.counts), 0)
        self._set_arrays(made, [classes.groups(j) for j in range(len(at))], classes.counts)
        return made

    def _hand_over(self, source: RollUp) -> None:
        """Turns a table into arrays, and drops a roll-up's table."""
        assert source.table_name is not None
        started = self._clock()
        self._set_arrays(source, *self._tables.columns(source.table_name))
        self.costs.hand_over.observe(source.rows, self._clock() - started)
        if source is not self.roll_ups.base:
            name, source.table_name = source.table_name, None
            self._tables.drop(name)
        self._drop(self.roll_ups.drop(self._checks, spared=source))

    def _set_arrays(
        self, roll_up: RollUp, groups: Sequence[NDArray[np.integer[Any]]], counts: NDArray[np.int64]
    ) -> None:
        roll_up.arrays = NumpyCounter(self._levels, groups, counts, at=roll_up.at)
        roll_up.size = roll_up.arrays.nbytes
        self._bytes_per_row = roll_up.size / max(roll_up.rows, 1)

    def _drop(self, roll_ups: Sequence[RollUp]) -> None:
        for roll_up in roll_ups:
            if roll_up.table_name is not None:
                self._tables.drop(roll_up.table_name)
