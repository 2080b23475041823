"""The two sides of a utility report: the rows of a source and its released rows, column by column."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column, expression, is_finite
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.levels import middle_reader
from tableveil.policy import TableReference
from tableveil.source import Source

MOST_ROWS = 1_000_000
"""With more rows a sample is taken."""

BYTES_PER_VALUE = 32
"""A number or a short text."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A released column of the source; `kind` is that of its values in the source, `released` its type after.

    `generalized` says that the release may have the label `*`, which says nothing.
    """

    name: str
    kind: ValueKind
    released: str
    generalized: bool

    @property
    def has_numbers(self) -> bool:
        """Whether the source has numbers, dates or timestamps."""
        return middle_reader(self.kind) is not None

    @property
    def labelled(self) -> bool:
        """Whether the release has text where the source has numbers."""
        return self.has_numbers and self.released == "VARCHAR"

    def number(self, of: str) -> exp.Expr:
        """The value as a floating-point number in the table `of`; NULL for NaN, infinities and numbers beyond float64.

        Dates and timestamps are days since 1970-01-01.
        """
        days = {
            ValueKind.DATE: "CAST(date_diff('day', CAST('1970-01-01' AS DATE), $value) AS DOUBLE)",
            ValueKind.TIMESTAMP: "epoch(CAST($value AS TIMESTAMP)) / CAST(86400 AS DOUBLE)",
        }.get(self.kind, "TRY_CAST($value AS DOUBLE)")
        value = column(self.name, of)
        number_ = expression(days, value=value)
        is_number = is_finite(value if self.kind in (ValueKind.DATE, ValueKind.TIMESTAMP) else number_.copy())
        return expression("CASE WHEN $finite THEN $number END", finite=is_number, number=number_)


@dataclass(frozen=True, slots=True)
class Sides:
    """The records of the source, and the released ones: the rows of a table in which a `marker` column is not true."""

    source: Source
    released: TableReference
    marker: str = ""

    def before(self) -> exp.Expr:
        """The source's records in a FROM clause, as `rows`."""
        return self.source.table("rows")

    def after(self) -> exp.Expr:
        """The released records in a FROM clause, as `rows`."""
        return Source(self.released, (), marker=self.marker).table("rows")


def collected_sides(
    session: WarehouseSession, sides: Sides, names: Sequence[str], person: str | None
) -> tuple[Sides, int]:
    """Both sides with these columns, in temporary tables of the embedded session, and the most records of a side.

    About so many are drawn by chance if there are more. The source has the column of people as well.

    Raises:
        InvalidError: their values take too much to collect.
    """
    most = MOST_ROWS
    if session.most_collected is not None:
        most = max(1, min(most, session.most_collected // (2 * BYTES_PER_VALUE * max(1, len(names)))))
    for of, rows in (("before", sides.before()), ("after", sides.after())):
        records: int = session.value(exp.select(exp.Count(this=exp.Star())).from_(rows))
        wanted = [*names, person] if person and person not in names and of == "before" else names
        sample = exp.select(*(alias(column(name, "rows"), name) for name in wanted)).from_(rows.copy())
        if records > most:
            share = exp.Literal.number(f"{most / records:.12f}")
            sample = sample.where(exp.LT(this=exp.Rand(), expression=share))
        session.collect(f"utility_{of}", sample)
    before, after = (TableReference("temp", "main", f"utility_{of}") for of in ("before", "after"))
    return Sides(replace(sides.source, reference=before, subset="", query=None), after), most
