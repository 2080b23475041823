"""Guesses of how CSV files are written: tables that are written in random ways come back as they were."""

import csv
import gzip
import io
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from tableveil.backend import Session
from tableveil.errors import Fault, InvalidError
from tableveil.loading import CsvFormat, CsvGuess, csv_rows, guess_csv
from tests.once import once

Row = tuple[str, date | None, Decimal | None, str | None]

NOTHING = ("", "n/a", "N/A", "NULL", "-", "?", "#N/A", "k.A.")
WORDS = ("Müllerstraße", "Ærø", "naïve", "Åsa", "plain", "two words")


def guessed(session: Session, file: Path, content: bytes, *kept: str, stated: CsvFormat | None = None) -> CsvGuess:
    file.write_bytes(content)
    return guess_csv(session, file, stated or CsvFormat(), kept)


def loaded(session: Session, file: Path, how: CsvFormat) -> tuple[list[str], list[tuple[object, ...]]]:
    with csv_rows(session, [file], how) as rows:
        found = session.rows(rows.query)
        rows.rejected(session)
    return [type_ for _, type_ in rows.columns], found


@pytest.mark.parametrize("seed", once(range(15), 5))
def test_tables_come_back_however_they_are_written(session: Session, file: Path, seed: int) -> None:
    chosen = random.Random(seed)
    comma = chosen.random() < 0.5
    delimiter = chosen.choice(";\t|" if comma else ",;\t|")
    encoding = chosen.choice(["utf-8", "utf-8-sig", "cp1252", "utf-16", "cp850"])
    form = chosen.choice(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%y", "%Y/%m/%d"])
    nothing = chosen.sample(NOTHING, chosen.randint(1, 3))
    rows: list[Row] = [
        (
            f"{chosen.randrange(10**5):05}",
            None if chosen.random() < 0.1 else date(1970, 1, 1) + timedelta(days=chosen.randrange(20_000)),
            None if chosen.random() < 0.1 else Decimal(chosen.randrange(10**6)) / 100,
            None if chosen.random() < 0.1 else chosen.choice(WORDS),
        )
        for _ in range(200)
    ]
    rows[0] = ("01067", date(1999, 12, 31), Decimal("0.25"), "x")
    text = io.StringIO()
    quoting = chosen.choice([csv.excel, csv.unix_dialect])
    writer = csv.writer(text, quoting, delimiter=delimiter, lineterminator=chosen.choice(["\n", "\r\n"]))
    writer.writerow(["zip", "born", "charge", "street"])
    for zip_, born, charge, street in rows:
        number = None if charge is None else f"{charge:.2f}".replace(".", "," if comma else ".")
        cells = [zip_, born and born.strftime(form), number, street]
        writer.writerow([chosen.choice(nothing) if cell is None else cell for cell in cells])
    content = text.getvalue().encode(encoding)
    guess = guessed(session, file, gzip.compress(content) if chosen.random() < 0.2 else content)
    # A century of two digits is always a guess.
    assert [("--century-pivot born=" in doubt) for doubt in guess.doubts] == [True] * ("%y" in form)
    types, found = loaded(session, file, guess.format)
    assert types == ["VARCHAR", "DATE", "DECIMAL(18,2)", "VARCHAR"]
    assert found == rows
    assert guess.columns == ("zip", "born", "charge", "street")
    assert guess.first_rows[0][1][0] == "01067"


@pytest.mark.parametrize(
    ("content", "types", "doubt"),
    [
        (
            b"a,b\n1,02/03/2024\n2,04/05/2024\n",
            ["BIGINT", "VARCHAR"],
            "'b' can be read with the day or the month first",
        ),
        (b"a;b\n1;02/03/2024\n2;04/05/2024\n", ["BIGINT", "DATE"], ""),
        (b"a,b\n01/31/2024,02/03/2024 10:30\n01/30/2024,02/03/2024 10:30\n", ["DATE", "TIMESTAMP"], ""),
        (b"a,b\n1,20240131\n2,20240201\n3,20240229\n", ["BIGINT", "DATE"], ""),
        (b"a,b\n1,20240131\n2,20240201\n3,20240230\n4,20241301\n", ["BIGINT", "BIGINT"], ""),
        (b"a,dob\n1,690131\n2,701231\n", ["BIGINT", "DATE"], "the hundred years up to"),
        (b"a,b\n1,690131\n2,701231\n", ["BIGINT", "BIGINT"], ""),
        (b"a,dob\n2024-01-31,690131\n2024-01-31,701231\n", ["DATE", "BIGINT"], "stand in 'dob'"),
        (b"a,b\n2024-01-31,31.01.2024\n2024-01-31,31.01.2024\n", ["DATE", "VARCHAR"], "another way in 'b'"),
        (b'a;b\n"1,5";1.5\n"2,5";2.5\n', ["VARCHAR", "DECIMAL(18,1)"], "with a comma in 'a', and with a point in 'b'"),
        (b'a,b\n1,"1,234.50"\n2,"12,000.00"\n', ["BIGINT", "DECIMAL(18,2)"], ""),
        (b"a;b\n1;1 234,50\n2;2,50\n", ["BIGINT", "DECIMAL(18,2)"], ""),
        (b"a;b\n1;1.234.567\n2;2.500.000\n", ["BIGINT", "VARCHAR"], "--thousands b=."),
        (b"a,b\n1,1.234\n2,1.500\n", ["BIGINT", "DECIMAL(18,3)"], "ambiguous by a factor of 1,000: each is read"),
        (b'a,b\n1,"1,234"\n2,"1,500"\n', ["BIGINT", "VARCHAR"], "ambiguous by a factor of 1,000: it stays text"),
        (b"a,b\n1,1.234\n2,0.500\n", ["BIGINT", "DECIMAL(18,3)"], ""),
        (b"a,b\n1,-001-11-30\n2,2020-01-01\n", ["BIGINT", "DATE"], "nothing in 50 % of the values of 'b'"),
        (b"a,b\n1,2014-03\n2,2014-03-12\n3,2014-03-13\n", ["BIGINT", "VARCHAR"], "without a day or month stand in 'b'"),
        (b"a,b\n1,2014\n2,2014-03-12\n3,2014-03-13\n", ["BIGINT", "VARCHAR"], "without a day or month stand in 'b'"),
        (b"a, b\n1, x\n2,  y\n", ["BIGINT", "VARCHAR"], "begin with a blank in 'b'"),
        (b"a, b\n1, x\n2,y\n", ["BIGINT", "VARCHAR"], ""),
        (b'a;b\n1;"4660,50   "\n2;"3,25      "\n', ["BIGINT", "DECIMAL(18,2)"], "Blanks fill up values in 'b'"),
        (b'a;b\n1;"12.05.2024 "\n2;13.05.2024\n', ["BIGINT", "DATE"], "Blanks fill up values in 'b'"),
        (b'a,b\n1,"SE "\n2,"SWE"\n', ["BIGINT", "VARCHAR"], "Blanks fill up values in 'b'"),
        (b'a,b\n1,"SE "\n2,"Wales"\n', ["BIGINT", "VARCHAR"], ""),
        (b"a,b\n-,NA\n+,NY\n++,CA\n", ["VARCHAR", "VARCHAR"], "Signs stand beside others in 'a'"),
        (b"a,b\nNA,1\n3,NA\n", ["BIGINT", "BIGINT"], ""),
        (b"1,2024-01-01\n2,2024-01-02\n", ["BIGINT", "DATE"], ""),
        (b"name\nann\nbob\n", ["VARCHAR"], ""),
        (b"a,b\n", ["VARCHAR", "VARCHAR"], ""),
        (b"2019;2020\nx;y\n", ["VARCHAR", "VARCHAR"], ""),
    ],
)
def test_what_is_open_is_said(session: Session, file: Path, content: bytes, types: list[str], doubt: str) -> None:
    guess = guessed(session, file, content)
    assert len(guess.doubts) == bool(doubt)
    assert all(doubt in one for one in guess.doubts)
    assert loaded(session, file, replace(guess.format, max_rejected=1))[0] == types


def test_texts_of_other_scripts(session: Session, file: Path) -> None:
    people = "имя;город\n" + "Иван;Нижний Новгород\n" * 20
    assert guessed(session, file, people.encode("cp1251")).format.encoding == "cp1251"
    # Hardly any letter is plain, but none follows another one.
    sums = "name;sum\n" + "".join(f"Ä{i};{i},5\n" for i in range(50))
    assert guessed(session, file, sums.encode("latin-1")).format.encoding == "cp1252"
    assert guessed(session, file, ("名前;番号\n" + "東京都;5\n" * 50).encode("cp932")).format.encoding == "cp932"


def test_stated_fields_stay(session: Session, file: Path) -> None:
    content = "a;b\n1,5;n/a\n2,5;ü\n".encode()
    stated = CsvFormat(delimiter=",", encoding="latin-1", null_texts=("x",))
    how = guessed(session, file, content, "encoding", "null_texts", "decimal_comma", stated=stated).format
    assert (how.delimiter, how.encoding, how.null_texts, how.decimal_comma) == (",", "latin-1", ("x",), False)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"PK\x03\x04rest"])
def test_files_that_are_no_tables(session: Session, file: Path, content: bytes) -> None:
    with pytest.raises(InvalidError):
        guessed(session, file, content)


def test_one_error_names_all_faults(session: Session, file: Path) -> None:
    lines = [f"{number},{number},ok" for number in range(60)]
    for number in range(28):
        lines[number] = f"{number},x{number},ok"
    lines[40], lines[41], lines[42] = "4", "5", "6,7,8,9"
    lines[50] = "secret,1,ok"
    file.write_text("\n".join(["a,b,c", *lines]) + "\n")
    for examples in (False, True):
        with pytest.raises(InvalidError) as raised, csv_rows(session, [file], CsvFormat(), examples=examples):
            pass
        faults = {fault.field: fault.found for fault in raised.value.faults}
        assert set(faults) == {"column 'b'", "lines", "line 44", "line 52, column 'a'"}
        assert "28 times, in lines 2, 3, 4" in faults["column 'b'"]
        assert "and 8 more" in faults["column 'b'"]
        assert "2 times, in lines 42, 43" in faults["lines"]
        assert ("secret" in faults["line 52, column 'a'"]) == examples
        assert ("such as 'x0', 'x1', 'x2'" in faults["column 'b'"]) == examples


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.csv"


COLUMNS: dict[str, Callable[[random.Random], str]] = {
    "whole": lambda chance: str(chance.randrange(10**6)),
    "decimal": lambda chance: f"{chance.gauss(0, 100):.2f}",
    "comma": lambda chance: f"{chance.randrange(9)},{chance.randrange(10**4)}",
    "money": lambda chance: f"${chance.randrange(10**6):,}",
    "power": lambda chance: f"{chance.random():.3e}",
    "date": lambda chance: f"{date(1999, 1, 1) + timedelta(days=chance.randrange(9_000))}",
    "german": lambda chance: f"{date(1999, 1, 1) + timedelta(days=chance.randrange(9_000)):%d.%m.%Y}",
    "short": lambda chance: f"{date(1999, 1, 1) + timedelta(days=chance.randrange(9_000)):%d-%b-%y}",
    "moment": lambda chance: f"2024-02-{chance.randrange(1, 29):02d} 10:{chance.randrange(60):02d}:00",
    "instant": lambda chance: f"2024-02-03T10:{chance.randrange(60):02d}:00+02:00",
    "time": lambda chance: f"{chance.randrange(24):02d}:{chance.randrange(60):02d}:00",
    "truth": lambda chance: chance.choice(["true", "FALSE"]),
}
CODES = (
    *("<0.5", ">100", "2024-02-30", "31.02.2024", "9999-99-99", "99999"),
    *("1e400", "unknown", "1.5", "1,5", "25:61:00", " 7"),
)


@pytest.mark.parametrize("seed", once(range(40), 8))
def test_a_load_takes_what_the_guess_says(session: Session, file: Path, seed: int) -> None:
    """Codes among numbers and dates make text of a column, which is said; a few mistakes are named with a way."""
    chance = random.Random(seed)
    kinds = chance.sample(sorted(COLUMNS), 5)
    shares = [chance.choice([0, 0, 0.003, 0.02, 0.11, 0.45]) for _ in kinds]
    codes = [chance.sample(CODES, 2) for _ in kinds]
    rows = [
        [
            chance.choice(coded) if chance.random() < share else COLUMNS[kind](chance)
            for kind, share, coded in zip(kinds, shares, codes, strict=True)
        ]
        for _ in range(400)
    ]
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerows([kinds, *rows])
    how = guessed(session, file, text.getvalue().encode()).format
    faults: tuple[Fault, ...] = ()
    try:
        loaded(session, file, how)
    except InvalidError as error:
        faults = error.faults
    columns = [next(kind for kind in kinds if f"'{kind}'" in fault.field) for fault in faults]
    assert all("--type COLUMN=VARCHAR" in fault.hint for fault in faults), faults
    assert all(shares[kinds.index(kind)] <= 0.02 for kind in columns), faults
    loaded(session, file, replace(how, types={**how.types, **dict.fromkeys(columns, "VARCHAR")}))


def test_codes_among_numbers_are_said(session: Session, file: Path) -> None:
    content = "value,n\n" + "".join(f"{'<0.5' if i % 9 == 0 else i / 2},{i}\n" for i in range(1, 181))
    guess = guessed(session, file, content.encode())
    assert guess.format.types == {"value": "VARCHAR"}
    assert guess.doubts == (
        "20 of 180 values of 'value' are no DECIMAL(18,1), as the others are: it stays text (--type value=VARCHAR).",
    )


@pytest.mark.parametrize("how", [CsvFormat(all_text=True), CsvFormat(types={"a": "VARCHAR", "b": "VARCHAR"})])
def test_trimmed_columns_may_all_be_text(session: Session, file: Path, how: CsvFormat) -> None:
    file.write_bytes(b"a,b\n1, 5\n2, x\n")
    assert loaded(session, file, replace(how, trimmed=("b",)))[1] == [("1", "5"), ("2", "x")]


def test_columns_with_dates_of_another_form_stay_text_as_is_said(session: Session, file: Path) -> None:
    """The database takes 24 for a year by %Y: people of 2024 were stored in the year 24."""
    file.write_text("born;seen\n" + "".join(f"{i + 1:02}.12.1980;{i + 1:02}.10.24\n" for i in range(20)))
    guess = guess_csv(session, file, CsvFormat(), ())
    assert "in another way in 'seen': such columns stay text" in " ".join(guess.doubts)
    with csv_rows(session, [file], guess.format) as rows:
        assert dict(rows.columns) == {"born": "DATE", "seen": "VARCHAR"}


@pytest.mark.parametrize("first", [True, False])
def test_lines_of_totals_are_said(session: Session, file: Path, first: bool) -> None:
    claims = [f"V{i};1.{100 + i},50;{i % 9};AOK" for i in range(40)]
    total = f"Summe;{sum(1100.5 + i for i in range(40)):.2f}".replace(".", ",")
    lines = [
        "nr;betrag;tage;kasse",
        *([f"{total};;"] if first else []),
        *claims,
        *([] if first else [f"{total};;", ";;;"]),
    ]
    doubts = " ".join(guessed(session, file, "\n".join([*lines, ""]).encode()).doubts)
    assert ("A line seems" if first else "2 lines seem") in doubts
    assert "Summe" not in doubts
    told = guessed(session, file, "\n".join(["nr;betrag;tage;kasse", *claims, ""]).encode()).doubts
    assert "totals" not in " ".join(told)


@pytest.mark.parametrize(
    ("values", "comma", "numbers"),
    [
        (["$1,234.50", "$12.00", "-$3.25"], False, [1234.5, 12.0, -3.25]),
        (["1.234,50 €", "12,00 €", "-3,25 €"], True, [1234.5, 12.0, -3.25]),
        (["12.5%", "7 %", "100%"], False, [12.5, 7.0, 100.0]),
        (["EUR 12", "EUR 7", "EUR 8"], False, [12.0, 7.0, 8.0]),
    ],
)
def test_signs_beside_numbers_are_said_with_what_makes_numbers(
    session: Session, file: Path, values: list[str], comma: bool, numbers: list[float]
) -> None:
    lines = ["name;paid;other", *(f'x;"{value}";{"1,5" if comma else "1.5"}' for value in values), ""]
    doubts = guessed(session, file, "\n".join(lines).encode()).doubts
    (told,) = [doubt for doubt in doubts if "'paid'" in doubt and "€ or %" in doubt]
    made = told.partition("makes numbers of it: ")[2].removesuffix(".")
    rows = ", ".join(f"('{value}')" for value in values)
    assert [float(one) for (one,) in session.rows(f"SELECT {made} FROM (VALUES {rows}) AS t(paid)")] == numbers


def test_a_day_of_nines_is_none(session: Session, file: Path) -> None:
    lines = ["id;died", *(f"a{i};{'9999-99-99' if i % 3 else '2020-05-12'}" for i in range(30)), ""]
    how = guessed(session, file, "\n".join(lines).encode()).format
    assert loaded(session, file, how)[0] == ["VARCHAR", "DATE"]


def test_titles_of_a_spreadsheet_are_left_out(session: Session, file: Path) -> None:
    lines = ["Survey of 2024;;;;", "as of May;;;;", ";;;;", "nr;born;job;party;votes"]
    lines += [f"{i};{1950 + i};job {i % 3};party {i % 4};{i * 7}" for i in range(40)]
    guess = guessed(session, file, "\r\n".join([*lines, ""]).encode())
    assert (guess.format.skip_lines, guess.columns) == (3, ("nr", "born", "job", "party", "votes"))
    lines = [",,Vitals,,Labs,,", "id,birth,height,weight,hb,glucose,"]
    lines += [f"{i},{1950 + i},{150 + i},{50 + i},9.{i % 10},80," for i in range(40)]
    guess = guessed(session, file, "\n".join([*lines, ""]).encode())
    assert (guess.format.skip_lines, guess.columns) == (1, ("id", "birth", "height", "weight", "hb", "glucose"))
