"""Years of two digits: births are never later than the load, and no stored day depends on the day of its load."""

import random
from datetime import date, timedelta
from pathlib import Path

import pytest

from tableveil.backend import Session
from tableveil.loading import CsvFormat, guess_csv
from tests.sql.loading.csv_files import fault, read

TODAY = date(2026, 11, 28)


def guessed(session: Session, file: Path, name: str, days: list[str]) -> tuple[CsvFormat, str]:
    """The format of a file with a column of these days, and what is said about it."""
    file.write_text(f"id,{name}\n" + "".join(f"{i},{day}\n" for i, day in enumerate(days)))
    guess = guess_csv(session, file, CsvFormat(), (), today=TODAY)
    return guess.format, " ".join(guess.doubts)


def stored(session: Session, file: Path, name: str, days: list[str]) -> tuple[list[object], str]:
    """The days as they are stored, and what is said about them."""
    how, said = guessed(session, file, name, days)
    return [day for _, day in read(session, file, file.read_bytes(), how)[1]], said


def test_births_are_in_the_past(session: Session, file: Path) -> None:
    days, said = stored(session, file, "born", ["01-MAR-70", "31-Dec-69", "01-jan-68", "15-JUN-25"])
    assert days == [date(1970, 3, 1), date(1969, 12, 31), date(1968, 1, 1), date(2025, 6, 15)]
    assert "--century-pivot born=2026): 1 of 4 values fits two centuries" in said
    # One is later than today, if it is not of the century before.
    days, said = stored(session, file, "geburtsdatum", ["31.12.26", "31.01.26", "30.11.61"])
    assert days == [date(1926, 12, 31), date(1926, 1, 31), date(1961, 11, 30)]
    assert "1 of 3 values fits" in said
    days, said = stored(session, file, "dob", [f"12/{year - 22}/{year}" for year in range(35, 51)])
    assert [day.year for day in days if isinstance(day, date)] == list(range(1935, 1951))
    assert "fit" not in said


@pytest.mark.parametrize(
    ("years", "first", "fitting"),
    [
        (range(35, 69), 1935, 0),
        ([98, 99, 0, 1, 2], 1998, 3),
        (range(19, 25), 2019, 6),
        (range(25, 31), 2025, 6),
        (range(100), 1927, 27),
    ],
)
def test_other_dates_lie_near_each_other(
    session: Session, file: Path, years: list[int], first: int, fitting: int
) -> None:
    days, said = stored(session, file, "signed", [f"30.06.{year:02}" for year in years])
    assert min(day.year for day in days if isinstance(day, date)) == first
    assert (f"{fitting} of {len(years)} values" in said) == bool(fitting)


@pytest.mark.parametrize("seed", range(3))
def test_any_days_of_a_century_come_back(session: Session, file: Path, seed: int) -> None:
    draw = random.Random(seed)
    pivot = draw.randrange(1950, 2090)
    days = [date(pivot - 99, 1, 1) + timedelta(days=draw.randrange(36_500)) for _ in range(300)]
    how = CsvFormat(
        date_format="%d%m%y", timestamp_format="%d%m%y %H:%M", century_pivots={"a": pivot, "b": pivot, "c": 1850}
    )
    content = "a,b,c\n" + "".join(f"{day:%d%m%y},{day:%d%m%y} 17:05,{day.replace(day=1):%d%m%y}\n" for day in days)
    types, rows = read(session, file, content.encode(), how)
    assert types == ["DATE", "TIMESTAMP", "DATE"]
    for day, (first, second, third) in zip(days, rows, strict=True):
        assert (first, str(second)) == (day, f"{day} 17:05:00")
        assert isinstance(third, date)
        assert 1751 <= third.year <= 1850
        assert third.year % 100 == day.year % 100


@pytest.mark.parametrize(
    ("shown", "type_"),
    [
        ("5 March 1968", "DATE"),
        ("5-Mar-68 3:04 PM", "TIMESTAMP"),
        ("March 5, 1968", "DATE"),
        ("05MAR1968", "DATE"),
        ("68/03/25", "DATE"),
        ("68-12-31", "DATE"),
        ("25-12-31", "VARCHAR"),
        ("12 Elm 68", "VARCHAR"),
        ("5-ENE-68", "VARCHAR"),
        ("5. März 1968", "VARCHAR"),
    ],
)
def test_orders_and_months(session: Session, file: Path, shown: str, type_: str) -> None:
    how, said = guessed(session, file, "x", [f'"{shown}"'] * 3)
    assert read(session, file, file.read_bytes(), how)[0] == ["BIGINT", type_]
    assert ("another language than English in 'x'" in said) == ("ENE" in shown or "März" in shown)
    assert ("the year first" in said) == (shown == "25-12-31")


def test_centuries_that_are_not_said(session: Session, file: Path) -> None:
    content = b"id,born,seen\n1,29.02.00,1.1.24\n"
    how = CsvFormat(date_format="%d.%m.%y", century_pivots={"seen": 2024})
    error = fault(session, file, content, how)
    assert (error.code, [each.field for each in error.faults]) == ("CSV_CENTURY", ["century_pivots"])
    assert "--century-pivot 'born'=YEAR" in str(error)
    pivots = {"seen": 2024, "born": 1950}
    error = fault(session, file, content, CsvFormat(date_format="%d.%m.%y", century_pivots=pivots))
    assert "29 February 1900 in 'born', 1 times" in str(error)
    assert "Did you mean 'born'" in str(fault(session, file, content, CsvFormat(century_pivots={"bornn": 1950})))
    # A column that holds no dates needs none.
    types, _ = read(session, file, b"id\n1\n", CsvFormat(date_format="%d.%m.%y"))
    assert types == ["BIGINT"]
