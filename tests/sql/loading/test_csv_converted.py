"""Blanks around values, and digits in groups of three: numbers come back as they were meant, or are refused."""

import random
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from tableveil.backend import Session
from tableveil.loading import CsvFormat, guess_csv
from tests.sql.loading.csv_files import fault, read

MARKS = (",.", ".,", " ,", "\u00a0,", "\u202f,", "'.", " .", "\u2019.")


@pytest.mark.parametrize("marks", MARKS)
def test_numbers_in_groups_come_back(session: Session, file: Path, marks: str) -> None:
    mark, decimal = tuple(marks)
    draw = random.Random(marks)
    numbers = [Decimal(draw.randrange(-(10**9), 10**9)) / 100 for _ in range(50)] + [Decimal("1234.50")]
    written = [f"{number:,.2f}".translate({ord(","): mark, ord("."): decimal}) for number in numbers]
    # Whole numbers in groups are meant likewise, once another value shows both marks.
    written += [f"12{mark}345", "7", ""]
    file.write_text("id;pay\n" + "".join(f"{i};{value}\n" for i, value in enumerate(written)))
    guess = guess_csv(session, file, CsvFormat(), ())
    assert (guess.doubts, dict(guess.format.thousands)) == ((), {"pay": mark})
    types, rows = read(session, file, file.read_bytes(), guess.format)
    assert types == ["BIGINT", "DECIMAL(18,2)"]
    assert [pay for _, pay in rows] == [*numbers, Decimal(12345), Decimal(7), None]


def test_blanks_are_dropped(session: Session, file: Path) -> None:
    content = "id,\u00a0age , seen, word, zip\n1, 34, 31.12.99,\u00a0x y\u200b,\t01067\n2,  ?, 1.1.00, ?, 80331\ufeff\n"
    file.write_text(content)
    guess = guess_csv(session, file, CsvFormat(), ())
    assert guess.format.trimmed == ("age", "seen", "word", "zip")
    types, rows = read(session, file, content.encode(), guess.format)
    assert types == ["BIGINT", "BIGINT", "DATE", "VARCHAR", "VARCHAR"]
    assert rows == [(1, 34, date(1999, 12, 31), "x y", "01067"), (2, None, date(2000, 1, 1), None, "80331")]


@pytest.mark.parametrize(
    ("content", "how", "found"),
    [
        ("a,b\n1, 5\n2, 6\n3, x\n", CsvFormat(trimmed=("b",)), "1 value that is no BIGINT, in line 4;"),
        ('a,b\n"1\n", 5\n"2", x\n3, 4\n5, x\n', CsvFormat(trimmed=("b",)), "in lines 3, 5;"),
        ("a;b\n1;1.234,5\n2;6\n3;1.23,5\n", CsvFormat(";", decimal_comma=True, thousands={"b": "."}), "in line 4;"),
        ("a,b\n" + "1, y\n" * 30, CsvFormat(trimmed=("b",), types={"b": "BIGINT"}), " 20, 21 and 10 more;"),
        ("a,b\n1,5\n", CsvFormat(thousands={"c": "."}), "a column of the file"),
        ("a,b\n1,5\n", CsvFormat(thousands={"b": ".."}), "a single sign"),
        ("a,b\n1, 5.5\n", CsvFormat(trimmed=("b",), types={"b": "BIGINT"}), "would round 1"),
    ],
)
def test_values_that_do_not_fit(session: Session, file: Path, content: str, how: CsvFormat, found: str) -> None:
    assert found in str(fault(session, file, content.encode(), how))


def test_numbers_that_nobody_can_tell(session: Session, file: Path) -> None:
    content = b"a,b\n1,1.234\n2,1.500\n"
    assert read(session, file, content, CsvFormat())[1] == [(1, Decimal("1.234")), (2, Decimal("1.500"))]
    assert read(session, file, content, CsvFormat(thousands={"b": "."}))[1] == [(1, 1234), (2, 1500)]


@pytest.mark.parametrize("delimiter", ["|", ";"])
def test_blanks_around_quotes_make_no_title_of_the_names(session: Session, file: Path, delimiter: str) -> None:
    rows = [["id ", " name ", " age"], *([f"{i} ", f' "Müller {i}, A" ', f" {20 + i}"] for i in range(30))]
    file.write_text("".join(f"{delimiter.join(row)}\n" for row in rows), encoding="utf-8")
    guess = guess_csv(session, file, CsvFormat(), ())
    assert (guess.format.delimiter, guess.format.skip_lines) == (delimiter, 0)
    assert guess.columns == ("id", "name", "age")
