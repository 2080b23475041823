"""Numbers and dates in the spelling of another country."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tableveil.backend import Session
from tableveil.loading import CsvFormat
from tests.sql.loading.csv_files import fault, read

GERMAN = CsvFormat(
    delimiter=";", decimal_comma=True, date_format="%d.%m.%Y", timestamp_format="%d.%m.%Y %H:%M", encoding="utf-8"
)


def test_a_german_file(session: Session, file: Path) -> None:
    content = (
        "id;price;far;born;seen;zip;version\n"
        "1;1,50;1,5e3;31.12.1980;29.02.2024 10:30;01067;1.5\n"
        "2;-,25;2e-1;1.2.2003;1.3.2024 00:00;80331;2.75\n"
        ";;;;;;\n"
    )
    types, rows = read(session, file, content.encode(), GERMAN)
    assert types == ["BIGINT", "DECIMAL(18,2)", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR", "VARCHAR"]
    assert rows == [
        (1, Decimal("1.50"), 1500.0, date(1980, 12, 31), datetime(2024, 2, 29, 10, 30), "01067", "1.5"),
        (2, Decimal("-0.25"), 0.2, date(2003, 2, 1), datetime(2024, 3, 1), "80331", "2.75"),
        (None,) * 7,
    ]


def test_dates_of_digits(session: Session, file: Path) -> None:
    types, rows = read(session, file, b"day,n\n20240229,20240231\n20231231,1\n", CsvFormat(date_format="%Y%m%d"))
    assert types == ["DATE", "BIGINT"]
    assert rows[0] == (date(2024, 2, 29), 20240231)


def test_a_comma_does_not_hide_digits(session: Session, file: Path) -> None:
    for type_, value in (("DECIMAL(9,2)", "1,555"), ("BIGINT", "1,5"), ("BIGINT", "1.5")):
        how = CsvFormat(delimiter=";", decimal_comma=True, types={"a": type_})
        assert fault(session, file, f"a\n{value}\n".encode(), how).code in ("CSV_ROUNDED", "CSV_LINES_REJECTED")


@pytest.mark.parametrize("value", ["1.234,5", "1,234,5", "1.5"])
def test_values_that_are_no_numbers_then(session: Session, file: Path, value: str) -> None:
    types, rows = read(session, file, f"a\n{value}\n".encode(), CsvFormat(delimiter=";", decimal_comma=True))
    assert (types, rows) == (["VARCHAR"], [(value,)])
    content = f"a\n1,5\n2,5\n{value}\n".encode()
    assert "line 4" in str(fault(session, file, content, CsvFormat(delimiter=";", decimal_comma=True)))


def test_a_date_that_is_none(session: Session, file: Path) -> None:
    error = fault(session, file, b"born\n31.12.1980\n1.2.2003\n30.02.2001\n", CsvFormat(date_format="%d.%m.%Y"))
    assert "line 4" in str(error)
    assert "30.02" not in str(error)


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        *(("date_format", each) for each in ("%Q", "%", "dd.mm.yyyy", "%d.%m", "%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y%z")),
        *(("timestamp_format", each) for each in ("%d.%m.%Y", "%d.%m.%Y %H", "%H:%M", "%d.%m.%Y %H:%M %Z", "\0")),
    ],
)
def test_formats_that_lose_something(session: Session, file: Path, field: str, wanted: str) -> None:
    error = fault(session, file, b"a\n1\n", CsvFormat(**{field: wanted}))  # type: ignore[arg-type]
    assert (error.code, [each.field for each in error.faults]) == ("CSV_FORMAT", [field])


@pytest.mark.parametrize("wanted", ["%d.%m.%Y", "%m/%d/%y", "%Y%m%d", "%d %B %Y", "%Y-%j", "it's %d.%m.%Y"])
def test_formats_of_dates(session: Session, file: Path, wanted: str) -> None:
    (written,) = session.row("SELECT strftime(DATE '2024-02-29', ?)", [wanted])
    types, rows = read(
        session, file, f"a\n{written}\n".encode(), CsvFormat(date_format=wanted, century_pivots={"a": 2024})
    )
    assert (types, rows) == (["DATE"], [(date(2024, 2, 29),)])
