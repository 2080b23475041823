"""The facts about a column that guesses start from."""

from dataclasses import dataclass

from tableveil.hierarchy import ValueKind
from tableveil.risk.recurring import PairsAlike

PARTIAL_DATES, PARTIAL_DATES_BACKWARDS = "2014-03", "03.2014"
"""In place of a format: dates, or times, of which some lack the day, or the month as well, by where the year stands."""

PERIODS, PERIODS_BACKWARDS = "2014-W05", "Q1 2014"
"""Likewise: weeks, quarters or halves of years, or months before a slash."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column of a table, without its values apart from the ends of its range.

    Attributes:
        name: The column's name.
        type: Its type as the database spells it.
        kind: None if the type cannot be released.
        rows: Rows of the table.
        nulls: Rows that have no value.
        distinct: Different values without NULL, estimated unless `exact`.
        exact: Whether the values were counted.
        shortest: Length in characters of the shortest value as text; None if there is no value.
        longest: Length of the longest.
        minimum: The least value of numbers, dates and timestamps as text; None for other kinds, or without a value.
        maximum: The greatest.
        low: The value that about a hundredth of them does not exceed, as text, if it was looked for.
        high: The value that about a hundredth of them exceeds.
        digits: Whether all values are text of the digits 0 to 9.
        codes: The code that all values of text are written in, `ICD` or `ATC`; else empty.
        date_format: The format of all values if they are dates written as text, for `strptime`, or that of partial
            ones; else empty.
        agreeing: The columns in which rows with equal values agree as rows of one person do, and how far: then the
            column numbers people of whom some have several rows. Else empty.
    """

    name: str
    type: str
    kind: ValueKind | None
    rows: int
    nulls: int
    distinct: int
    exact: bool = True
    shortest: int | None = None
    longest: int | None = None
    minimum: str | None = None
    maximum: str | None = None
    low: str | None = None
    high: str | None = None
    digits: bool = False
    codes: str = ""
    date_format: str = ""
    agreeing: tuple[tuple[str, PairsAlike], ...] = ()

    @property
    def present(self) -> int:
        """Rows that have a value."""
        return self.rows - self.nulls

    @property
    def constancy(self) -> float:
        """How far rows with equal values agree, on average over the columns in which they do; 0 if there is none."""
        return sum(one.constancy for _, one in self.agreeing) / max(1, len(self.agreeing))

    @property
    def counted(self) -> str:
        """Its different values among the rows, and the rows without one, as a clause says it."""
        about = "" if self.exact else "about "
        missing = f", and none in {self.nulls:,} of them" if self.nulls else ""
        return f"has {about}{self.distinct:,} different values in {self.rows:,} rows{missing}"

    @property
    def constant(self) -> bool:
        """Whether there are rows and all of them have one value, or none."""
        return self.rows > 1 and self.distinct + (self.nulls > 0) == 1

    @property
    def telling(self) -> float:
        """Distinct values divided by rows that have a value: 1 if no two rows share a value, 0 if no row has one."""
        return self.distinct / self.present if self.present else 0.0
