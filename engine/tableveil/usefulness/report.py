"""A utility report: what the columns of a table told before a release, and what they tell in it."""

from __future__ import annotations

from dataclasses import dataclass

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Which quantiles a report has: the least value, the greatest, and those between."""


@dataclass(frozen=True, slots=True)
class Bin:
    """How many records have a value, or one of an interval of values; `label` None is NULL, or that nothing is told."""

    label: str | None
    records: int


@dataclass(frozen=True, slots=True)
class Spread:
    """How a column spreads over its values, before or after.

    Attributes:
        records: Of the source; or released ones, those suppressed left out.
        missing: Of these, how many have NULL, or a label that tells nothing.
        distinct: Number of different values, NULL not counted.
        mean: Of numbers, dates (days since 1970-01-01) and timestamps (seconds); labels count as the middle of their
            interval. None: it has no numbers.
        variance: The records being the whole population, as here.
        quantiles: At `QUANTILES`; empty if it has no numbers.
        bins: The histogram of numbers, in their order; of categories the most frequent ones. The last may be what is
            left; NULL comes last.
    """

    records: int
    missing: int
    distinct: int
    mean: float | None
    variance: float | None
    quantiles: tuple[float, ...]
    bins: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class ColumnUtility:
    """One released column.

    `treatment` says in words what was done to it. `loss` is that of a quasi-identifier; for aggregated columns it is
    the squared error within classes as a share of the total (SSE/SST), and `squared_error` is True.
    """

    column: str
    type: str
    role: str
    treatment: str
    loss: float | None
    squared_error: bool
    before: Spread
    after: Spread


@dataclass(frozen=True, slots=True)
class Association:
    """How strongly two columns go together: Pearson's correlation of numbers, or Cramér's V of anything.

    None: it is not defined, because one of them has a single value.
    """

    first: str
    second: str
    measure: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class UtilityReport:
    """What was found; associations are of the first columns only if there are many, and of a sample if rows are."""

    columns: tuple[ColumnUtility, ...]
    associations: tuple[Association, ...]
    notes: tuple[str, ...]
