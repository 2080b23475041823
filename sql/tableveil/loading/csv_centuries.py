"""The century of years that are written with two digits: a stated or guessed pivot for each column, the last such year.

The database reads such years as 1969 to 2068. A pivot of 1999 makes 1900 to 1999 of them.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, expression, number, text
from tableveil.errors import Fault, InvalidError, NearestNames, TableveilError, shortened
from tableveil.loading.model import CsvFormat

_FIRST_PIVOT, _LAST_PIVOT = 1000, 9999
_AHEAD = 10
"""Years from now that dates other than births may lie ahead: of plans and contracts."""


def check_pivots(how: CsvFormat, names: Sequence[str]) -> None:
    """Raises `InvalidError` for pivots of columns that are not there, or that are no years."""
    hint = NearestNames(names)
    faults = [
        Fault("century_pivots", shortened(name), "a column of the file", hint(name))
        for name in how.century_pivots
        if name not in names
    ]
    faults += [
        Fault("century_pivots", f"{year} for column {shortened(name)}", "the last year that two digits mean, as 2024")
        for name, year in how.century_pivots.items()
        if not _FIRST_PIVOT <= year <= _LAST_PIVOT
    ]
    if faults:
        raise InvalidError.about("CSV_CENTURY", "some pivots of centuries are invalid", faults)


def short_years(how: CsvFormat, types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The columns, of these types, whose years have two digits, each with its format."""
    formats = {"DATE": how.date_format, "TIMESTAMP": how.timestamp_format}
    for name, type_ in types.items():
        wanted = formats.get(type_.upper(), "")
        if "%y" in wanted:
            yield name, wanted


def leap_years(how: CsvFormat, types: Mapping[str, str]) -> dict[str, str]:
    """The columns in which the year 00 is none in which 29 February is a day, each with its format.

    Raises:
        InvalidError: a column whose years have two digits has no pivot.
    """
    formats = dict(short_years(how, types))
    if untold := [name for name in formats if name not in how.century_pivots]:
        raise _untold(untold)
    # 2000 was a leap year, and 1900 was none.
    return {name: wanted for name, wanted in formats.items() if _in_century(2000, how.century_pivots[name]) % 400}


def check_leap_days(session: Session, rows: exp.Expr, how: CsvFormat, formats: Mapping[str, str]) -> None:
    """Raises `InvalidError` for days that the pivots put where there are none, in rows of text alone."""
    counts = [alias(_leap_days(name, wanted), f"c{i}") for i, (name, wanted) in enumerate(formats.items())]
    faults = [
        Fault(
            "century_pivots",
            f"29 February {_in_century(2000, how.century_pivots[name])} in {shortened(name)}, {count:,} times",
            "days that there are in the century up to its pivot",
            f"State another one: --century-pivot {shortened(name)}=YEAR.",
        )
        for name, count in zip(formats, session.row(exp.select(*counts).from_(rows)), strict=True)
        if count
    ]
    if faults:
        raise InvalidError.about("CSV_CENTURY", "some days are in no such century", faults)


def _untold(names: Sequence[str]) -> TableveilError:
    faults = [
        Fault(
            "century_pivots",
            f"none for the years of two digits in {shortened(name)}",
            "the last year that they mean, so that the day of the load decides nothing",
            f"State it: --century-pivot {shortened(name)}=YEAR. With 2024, 24 is 2024, and 25 is 1925.",
        )
        for name in names
    ]
    return InvalidError.about("CSV_CENTURY", "the century of some years is not said", faults)


def _in_century(year: int, pivot: int) -> int:
    return pivot - (pivot - year) % 100


def _leap_days(name: str, wanted: str) -> exp.Expr:
    query = "count_if(CAST(try_strptime($value, $wanted) AS DATE) = DATE '2000-02-29')"
    return expression(query, value=column(name), wanted=text(wanted))


def in_century(value: exp.Expr, type_: str, pivot: int) -> exp.Expr:
    """The time, which the database read with a year of two digits, in the century that ends with the pivot."""
    # Added centuries keep the remainder from being negative.
    years = "$pivot - ($pivot + 10000 - year($value)) % 100 - year($value)"
    return cast(expression(f"$value + to_years(CAST({years} AS INTEGER))", value=value, pivot=number(pivot)), type_)


def guessed_pivot(years: Mapping[int, int], later_this_year: int, is_birth: bool, today: datetime.date) -> int:
    """The pivot for a column with these years, as the database reads them; some days may be later than today.

    Nobody is born after today. Other dates lie as near to each other as they can, and then as near to today.
    """
    if is_birth:
        return today.year - bool(later_this_year)

    def spread(pivot: int) -> tuple[int, int, int]:
        placed = [_in_century(year, pivot) for year in years]
        return max(placed) - min(placed), abs(max(placed) - today.year), abs(pivot - today.year)

    return min(range(today.year + _AHEAD - 99, today.year + _AHEAD + 1), key=spread)


def fitting_two(years: Mapping[int, int], pivot: int, later_this_year: int, today: datetime.date) -> int:
    """The records whose year fits this century up to today, and the one before: nobody can tell which one it is."""
    begin = today.year - today.year % 100
    fitting = sum(
        count for year, count in years.items() if begin + year % 100 <= today.year or _in_century(year, pivot) >= begin
    )
    return fitting - (later_this_year if pivot < today.year else 0)
