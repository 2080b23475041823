"""Headers that name columns twice or not at all, stand below titles or above units, and last lines that break off."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.backend import Session
from tableveil.loading import CsvFormat, csv_rows, guess_csv
from tests.sql.loading.csv_files import fault, read

PLAIN = CsvFormat()
ROWS = "".join(f"{i},n{i},{i * 3}\n" for i in range(20))


def columns(session: Session, file: Path, content: str, how: CsvFormat = PLAIN) -> tuple[list[str], str]:
    """The names of the columns as guessed, which the load reads as well, and what is said."""
    file.write_text(content)
    guess = guess_csv(session, file, how, ())
    with csv_rows(session, [file], guess.format) as rows:
        assert session.value(f"SELECT count(*) FROM ({rows.query.sql('duckdb')})") > 0
        assert rows.rejected(session) == ()
    assert [name for name, _ in rows.columns] == list(guess.columns)
    assert all(len(cells) == len(guess.columns) for _, cells in guess.first_rows)
    return list(guess.columns), " ".join(guess.doubts)


@pytest.mark.parametrize(
    ("header", "renames", "hint"),
    [
        ("id,score,note,score", {}, "--rename 4=NAME"),
        ("id,score,Score,SCORE", {"4": "third"}, "--rename 3=NAME"),
        ("id,score,score,score", {"score": "first"}, "--rename 4=NAME"),
        ("id,score,score,score", {"4": "third", "3": "second"}, ""),
        ("id,score,note,score", {"4": "again", "id": "person"}, ""),
        ("id,a,b,c", {"d": "e"}, "the name of one column"),
        ("id,a,b,c", {"5": "e"}, "the name of one column"),
        ("4,a,b,c", {"4": "id"}, ""),
    ],
)
def test_columns_are_renamed(session: Session, file: Path, header: str, renames: dict[str, str], hint: str) -> None:
    content = f"{header}\n1,2,3,4\n".encode()
    if hint:
        error = fault(session, file, content, CsvFormat(renames=renames))
        assert (error.code, hint in str(error)) == ("COLUMNS_INVALID", True)
        return
    read(session, file, content, CsvFormat(renames=renames))
    names, _ = columns(session, file, content.decode(), CsvFormat(renames=renames))
    assert set(renames.values()) < set(names)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b,c,\n1,2,3,\n4,5,6,\n", "Column 4 "),
        ("a,b,c,\n1,2,3\n4,5,6\n", "at the end of the header"),
        ("a,b,c\n1,2,3,\n4,5,6, \n", "Column 4 "),
        ("a,,b,c,\n1,,2,3,\n", "Column 2, 5 "),
        ("a,b,c\n1,2,3\n", ""),
        (" a , b,\xa0c\n1,2,3\n", ""),
    ],
)
def test_columns_without_a_name_or_a_value(session: Session, file: Path, content: str, said: str) -> None:
    names, doubts = columns(session, file, content)
    assert names == ["a", "b", "c"]
    assert said in doubts
    assert ("--drop-unnamed" in doubts) == bool(said)


def test_a_value_is_not_dropped(session: Session, file: Path) -> None:
    content = "a,b,\n1,2,\n3,4,x\n"
    assert "--drop-unnamed" in str(fault(session, file, content.encode()))
    error = fault(session, file, content.encode(), CsvFormat(drop_unnamed=True))
    assert "column 3: found no name, but 1 values" in str(error)


@pytest.mark.parametrize("title", ["Report of 2024\n", "sep=;\n", "Report of 2024\n\n", '"Report,\n2024",,\n,,\n'])
@pytest.mark.parametrize("delimiter", ",;")
def test_titles_above_the_names(session: Session, file: Path, title: str, delimiter: str) -> None:
    content = (title + "id,name,pay\n" + ROWS).replace(",", delimiter)
    names, doubts = columns(session, file, content)
    assert names == ["id", "name", "pay"]
    assert "--skip-lines" in doubts
    assert columns(session, file, content.removeprefix(title.replace(",", delimiter)))[1] == ""


@pytest.mark.parametrize(("last", "is_total"), [("Total,45\n", True), ("SUMME:,45", True), ("Totalis,45\n", False)])
def test_a_line_of_totals_is_called_one(session: Session, file: Path, last: str, is_total: bool) -> None:
    content = "id,pay\n" + "".join(f"{number},9\n" for number in range(5_000)) + last
    assert ("a line of totals" in str(fault(session, file, content.encode()))) is is_total


def test_units_below_the_names(session: Session, file: Path) -> None:
    content = f"top\nid,name,pay\nno,text,EUR\n-,-,-\n{ROWS}x,y,1\n".encode()
    error = fault(session, file, b"id,pay\nno,EUR\n1,2\n2,3\n3,4\n")
    assert "--header-lines 2" in str(error)
    file.write_bytes(content)
    with csv_rows(session, [file], CsvFormat(skip_lines=1, header_lines=3, max_rejected=1)) as rows:
        assert len(session.rows(rows.query)) == 20
        assert [line.line for line in rows.rejected(session)] == [25]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("last", ["3,u,3", "3,u", "x,u,3", '3,u,"3"', "3,\u00fc,3,4", '3,"u\nv",x'])
@pytest.mark.parametrize("packed", [False, True])
def test_last_lines_that_break_off(session: Session, file: Path, last: str, end: str, packed: bool) -> None:
    content = (end or "\n").join(["id,name,pay", "1,a,3", "2,b,4", last]).encode() + end.encode()
    content = gzip.compress(content) if packed else content
    how, fits = CsvFormat(max_rejected=9), last in ("3,u,3", '3,u,"3"')
    file.write_bytes(content)
    if fits or end:
        with csv_rows(session, [file], how) as rows:
            assert len(session.rows(rows.query)) == 2 + fits
            assert len(rows.rejected(session)) == 1 - fits
        assert [("may be cut" in note) for note in rows.notes] == [True] * (not end)
    else:
        error = fault(session, file, content, how)
        assert (error.code, "no line end" in str(error)) == ("CSV_LINES_REJECTED", True)
    if not end:
        assert fault(session, file, content, replace(how, whole_last_line=True)).code == "CSV_CUT"


@given(
    st.lists(
        st.tuples(st.text("ab1, é\n\r", max_size=3), st.sampled_from(("\n", "\r\n", "\r"))), min_size=1, max_size=6
    ),
    st.integers(0, 2),
)
def test_lines_that_end_in_different_ways_are_all_read(
    session: Session, file: Path, lines: list[tuple[str, str]], titles: int
) -> None:
    """As exports do whose titles or footnotes another program wrote: the database lost all rows, or gave up."""
    rows = [(f"{i}", text) for i, (text, _) in enumerate(lines)]
    ends = [end for _, end in lines]
    head = "".join(f"a title{end}" for end in [*ends, "\n", "\n"][:titles]) + f"n,t{ends[-1]}"
    content = head + "".join(f'{n},"{text}"{end}' for (n, text), end in zip(rows, ends, strict=True))
    _, found = read(session, file, content.encode(), CsvFormat(skip_lines=titles, all_text=True, null_texts=("none",)))
    assert found == rows


def test_stray_quotes_hide_no_line_ends(session: Session, file: Path) -> None:
    content = b'a pipe of 5" and more\n' + b"n,t\r\n1,x\r\n2,y\r\n"
    _, found = read(session, file, content, CsvFormat(skip_lines=1, all_text=True))
    assert found == [("1", "x"), ("2", "y")]
