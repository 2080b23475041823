"""A utility report: the distributions and associations of a table's columns before a release, and in it."""

from dataclasses import dataclass

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""The quantiles in a report: the least value, the greatest, and those between."""


@dataclass(frozen=True, slots=True)
class Bin:
    """How many records have a value, or one in an interval; `label` is None for NULL, or if labels say nothing."""

    label: str | None
    records: int


@dataclass(frozen=True, slots=True)
class ColumnSpread:
    """How a column spreads over its values, before or after.

    Attributes:
        records: Records of the source, or released ones without the suppressed.
        missing: How many of these have NULL, or a label that says nothing.
        distinct: Number of different values, NULL not counted.
        mean: For numbers, dates (days since 1970-01-01) and timestamps (seconds); labels count as the middle of their
            interval. None if the column has no numbers.
        variance: Computed as for a whole population.
        quantiles: At `QUANTILES`; empty if the column has no numbers.
        bins: The histogram: for numbers in their order, for categories the most frequent ones. The last bin may hold
            the rest; NULL comes last.
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

    `treatment` says in words how it was released. `loss` is the loss of a quasi-identifier; for aggregated columns it
    is the squared error within classes as a share of the total (SSE/SST), and `squared_error` is True.
    """

    column: str
    type: str
    role: str
    treatment: str
    loss: float | None
    squared_error: bool
    before: ColumnSpread
    after: ColumnSpread


@dataclass(frozen=True, slots=True)
class Association:
    """How strongly two columns are associated: Pearson's correlation for numbers, or Cramér's V for anything.

    None: it is not defined, because one of them has a single value.
    """

    first: str
    second: str
    measure: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class MovedRate:
    """The records with a label of a column, and those of them that have a value of another, before and after.

    None stands for a label or a value that is NULL.
    """

    column: str
    label: str | None
    of: str
    value: str | None
    records_before: int
    having_before: int
    records_after: int
    having_after: int


@dataclass(frozen=True, slots=True)
class UtilityReport:
    """The findings; with many columns, associations and rates cover only the first, and with many rows, a sample.

    `rates` are those that moved most.
    """

    columns: tuple[ColumnUtility, ...]
    associations: tuple[Association, ...]
    rates: tuple[MovedRate, ...]
    notes: tuple[str, ...]
