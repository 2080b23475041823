"""CSV files: what is in them arrives, with the types it has; whatever is wrong with them is said by its place."""

import csv
import gzip
import io
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.backend import Session
from tableveil.loading import CsvFormat, RejectedLine, csv_rows, unpacked
from tests.once import once
from tests.sql.loading.csv_files import fault, read

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=4)


@pytest.mark.long
@settings(max_examples=25)
@given(st.lists(st.tuples(TEXTS, st.none() | st.integers(-(10**17), 10**17)), min_size=1), st.sampled_from(",;\t|~"))
def test_texts_and_integers_arrive(
    session: Session, file: Path, rows: list[tuple[str, int | None]], delimiter: str
) -> None:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(["a text", "n"])
    for text, value in rows:
        # An empty value without quotes is NULL, one in quotes is a text.
        writer.writerow([text, value if value is not None else 7])
    how = CsvFormat(delimiter=delimiter, types={"a text": "VARCHAR"})
    types, found = read(session, file, written.getvalue().encode(), how)
    assert types == ["VARCHAR", "BIGINT"]
    assert sorted(found) == sorted((text, 7 if value is None else value) for text, value in rows)


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["1", "-20", "+3", ""], "BIGINT"),
        (["1", "2.5", "-0.25", "5.", ".5"], "DECIMAL(18,2)"),
        (["9" * 17, "2.55"], "DECIMAL(38,2)"),
        (["0." + "0" * 37 + "1"], "DECIMAL(38,38)"),
        (["0." + "1" * 39], "VARCHAR"),
        (["0.1" + "0" * 40, "2.5"], "DOUBLE"),
        (["1", "2.5", "1e3"], "DOUBLE"),
        (["0.30000000000000004", "1e-300"], "DOUBLE"),
        (["0.12345678901234567890", "1e3"], "VARCHAR"),
        (["9007199254740993", "1e3"], "VARCHAR"),
        (["1e-400", "1.5"], "VARCHAR"),
        (["1e999", "1.5"], "VARCHAR"),
        (["01234", "90210"], "VARCHAR"),
        (["01.5", "12.5"], "VARCHAR"),
        (["1", "2", "3", " 1.5"], "VARCHAR"),
        (["1", "2", "3", "1_000"], "VARCHAR"),
        (["1234567890123456789", "1"], "VARCHAR"),
        (["2020-02-29", "0001-01-01"], "DATE"),
        (["2020-02-30", "2020-02-31"], "VARCHAR"),
        (["2020-02-29", "2020-01-01 10:00:00.5"], "TIMESTAMP"),
        (["2020-01-01T10:00:00Z", "2020-01-01 10:00:00+02"], "TIMESTAMP WITH TIME ZONE"),
        (["10:00:00", "23:59:59.999"], "TIME"),
        (["true", "FALSE"], "BOOLEAN"),
        (["t", "f"], "VARCHAR"),
        (["", ""], "VARCHAR"),
        (["a", "1", "b"], "VARCHAR"),
    ],
)
def test_types_are_those_of_all_values(session: Session, file: Path, values: list[str], type_: str) -> None:
    content = "c,d\n" + "".join(f"{value},x\n" for value in values)
    types, rows = read(session, file, content.encode(), CsvFormat())
    assert types == [type_, "VARCHAR"]
    assert len(rows) == len(values)


NUMBERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**20), max_value=10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?(0|[1-9][0-9]{0,25})(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)


@pytest.mark.long
@settings(max_examples=20)
@given(st.lists(NUMBERS, min_size=1, max_size=4))
def test_numbers_arrive_as_they_were(session: Session, file: Path, values: list[str]) -> None:
    [type_, _], rows = read(session, file, ("c,d\n" + "".join(f"{v},x\n" for v in values)).encode(), CsvFormat())
    if type_ == "VARCHAR":
        assert sorted(str(value) for value, _ in rows) == sorted(values)
    else:
        # A float stands for the number that it is written as.
        assert sorted(Decimal(str(value)) for value, _ in rows) == sorted(map(Decimal, values))


def test_null_and_empty_text_differ(session: Session, file: Path) -> None:
    content = b'a,b\n,""\nNA,"NA"\n'
    assert read(session, file, content, CsvFormat())[1] == [(None, ""), ("NA", "NA")]
    assert read(session, file, content, CsvFormat(null_texts=("NA",)))[1] == [("", ""), (None, "NA")]
    assert read(session, file, content, CsvFormat(null_texts=("NA",), quoted_nulls=True))[1] == [("", ""), (None, None)]


@pytest.mark.parametrize("packed", once([False, True]))
@pytest.mark.parametrize(
    ("codec", "encoding"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "UTF8"),
        ("latin-1", "latin-1"),
        ("cp1252", "cp1252"),
        ("cp850", "cp850"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-32", "utf_32"),
    ],
)
def test_encodings(session: Session, file: Path, codec: str, encoding: str, packed: bool) -> None:
    content = "é,b\nÄ,1\n".encode(codec)
    how = CsvFormat(encoding=encoding)
    rows = read(session, file, gzip.compress(content) if packed else content, how)
    assert rows == (["VARCHAR", "BIGINT"], [("Ä", 1)])
    with csv_rows(session, [file], how) as opened:
        assert opened.columns[0][0] == "é"


def test_a_character_on_the_border_of_two_pieces(session: Session, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "größe\n" + "€\n" * 50
    for size in range(1, 8):
        monkeypatch.setattr(unpacked, "_PIECE", size)
        read_back = read(session, file, content.encode("utf-16"), CsvFormat(encoding="utf-16"))
        assert read_back == (["VARCHAR"], [("€",)] * 50)


def test_a_copy_is_private_and_gone_at_the_end(session: Session, file: Path, tmp_path: Path) -> None:
    file.write_bytes(gzip.compress(b"a\n1\n"))
    with csv_rows(session, [file], CsvFormat(), tmp_path) as rows:
        [copy] = tmp_path.iterdir()
        assert copy.stat().st_mode & 0o777 == 0o600
        assert session.rows(rows.query) == [(1,)]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "encoding", "words"),
    [
        ("preis €,b\n1,2\n".encode("cp1252"), "utf-8", "bytes that are not utf-8;.*--encoding cp1252"),
        ("preis €,b\n1,2\n".encode("cp1252"), "latin-1", "control characters.*in line 1;.*--encoding cp1252"),
        ("a,b\n1,ж\n".encode("koi8-r"), "ascii", "bytes that are not ascii, in line 2;"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-8", "the byte order mark of utf-16;"),
        ("a,b\n1,2\n".encode("utf-32"), "cp1252", "the byte order mark of utf-32;"),
        (b"a,b\n", "utf-16", "does not begin as utf-16 does"),
        (b"a,b\n", "no-such", "'no-such'; expected an encoding that Python knows"),
        (b"a,b\n", "base64", "'base64'; expected an encoding that Python knows"),
        (b"\0" * 8 + b"DUCK" + b"\0" * 90, "utf-8", "a DuckDB database"),
        (b"PAR1" + b"\0" * 90, "utf-8", "a Parquet file"),
        (b"PK\x03\x04" + b"\0" * 90, "cp1252", "a zip archive"),
        (gzip.compress(b"\0" * 8 + b"DUCK", mtime=0), "utf-8", "a DuckDB database"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "utf-8", "gzip that is damaged"),
        (b"\x1f\x8bno gzip at all", "utf-8", "gzip that is damaged"),
    ],
)
def test_what_was_found_in_place_of_the_encoding(
    session: Session, file: Path, content: bytes, encoding: str, words: str
) -> None:
    assert re.search(words, str(fault(session, file, content, CsvFormat(encoding=encoding))))


def test_one_value_of_another_type_is_named_by_its_line(session: Session, file: Path) -> None:
    content = b"a,b\n1,x\n2,y\nsecret,z\n4,w\n"
    error = fault(session, file, content)
    assert error.code == "CSV_LINES_REJECTED"
    assert [found.field for found in error.faults] == ["line 4, column 'a'"]
    assert "BIGINT" in error.faults[0].found
    assert "secret" not in str(error.faults)
    as_text = CsvFormat(types={"a": "VARCHAR"})
    assert read(session, file, content, as_text)[1][2] == ("secret", "z")
    assert read(session, file, content, CsvFormat(all_text=True))[0] == ["VARCHAR", "VARCHAR"]


def test_lines_are_left_out_up_to_the_number_stated(session: Session, file: Path) -> None:
    content = b'a,b\n1,"two\nlines"\n2\nx,y\n3,4,5\n6,z\n'
    file.write_bytes(content)
    # A line break within quotes begins no line.
    with csv_rows(session, [file], CsvFormat(max_rejected=3)) as rows:
        assert session.rows(rows.query) == [(1, "two\nlines"), (6, "z")]
        assert rows.rejected(session) == (
            RejectedLine(3, "b", "fewer columns than there are"),
            RejectedLine(4, "a", "a value that is no BIGINT"),
            RejectedLine(5, "", "more columns than there are"),
        )
    assert len(fault(session, file, content, CsvFormat(max_rejected=2)).faults) == 3


@pytest.mark.parametrize(
    ("content", "code", "field"),
    [
        (b"a;b\n1;2\n", "CSV_DELIMITER", "delimiter"),
        (b"", "CSV_EMPTY", "file"),
        (b"\n\n", "CSV_EMPTY", "file"),
        (b"a,b,A\n1,2,3\n", "COLUMNS_INVALID", "columns"),
        (b"a,,b\n1,2,3\n", "COLUMNS_INVALID", "column 2"),
        (b"a,b\n1,\xff\n", "CSV_ENCODING", "file"),
        ("a,b\n1,2\n".encode("utf-16"), "CSV_ENCODING", "file"),
        (b"a,b\n1,x\0\n", "CSV_ENCODING", "file"),
        (b"a,b\n" + b"1,x\n" * 20_000 + b"1,x\0y\n", "CSV_NUL", "'b'"),
        (b'a,b\n1,"open\n2,x\n', "CSV_LINES_REJECTED", "line 2, column 'b'"),
        (b'a,b\n1,"x"y\n2,x\n', "CSV_LINES_REJECTED", "line 2, column 'b'"),
        (b'"a,b\n1,2\n', "CSV_INVALID", "line 1"),
        (b"a,b\n1," + b"x" * 2_000_001 + b"\n", "CSV_LINES_REJECTED", "line 2"),
    ],
)
def test_broken_files(session: Session, file: Path, content: bytes, code: str, field: str) -> None:
    error = fault(session, file, content)
    assert (error.code, error.faults[0].field) == (code, field)


def test_what_a_broken_quote_swallowed_is_never_left_out(session: Session, file: Path) -> None:
    content = b'a,b\n1,"open\n2,x\n3,y\n'
    assert fault(session, file, content, CsvFormat(max_rejected=9)).code == "CSV_LINES_REJECTED"


@pytest.mark.parametrize(
    ("how", "code"),
    [
        (CsvFormat(delimiter="||"), "CSV_FORMAT"),
        (CsvFormat(max_rejected=-1), "CSV_FORMAT"),
        (CsvFormat(types={"c": "BIGINT"}), "CSV_TYPES"),
        (CsvFormat(types={"a": "DECIMAL(99, 1)"}), "CSV_TYPES"),
        (CsvFormat(types={"a": "VARCHAR COLLATE nocase"}), "CSV_TYPES"),
        (CsvFormat(types={"a": "NUMBERS"}), "CSV_TYPES"),
        (CsvFormat(types={"a": "BIGINT[]"}), "TYPES_INVALID"),
    ],
)
def test_broken_requests(session: Session, file: Path, how: CsvFormat, code: str) -> None:
    assert fault(session, file, b"a,b\n1,2\n", how).code == code


@pytest.mark.parametrize(
    ("type_", "values", "rounded"),
    [
        ("BIGINT", ["1", "2.0", "-3", ""], 0),
        ("INT", ["1.5", "2.01", "7"], 2),
        ("DECIMAL(6, 2)", ["1.50", "1.500", "22", "-.25", "1e1"], 0),
        ("DECIMAL(6, 2)", ["1.505", "1e-3", "22"], 2),
        ("DOUBLE", ["1.505", "1e-3"], 0),
    ],
)
def test_stated_types_round_nothing(session: Session, file: Path, type_: str, values: list[str], rounded: int) -> None:
    how = CsvFormat(types={"a": type_}, max_rejected=1)
    content = "a,b\n" + "".join(f"{value},0\n" for value in values)
    if not rounded:
        assert read(session, file, content.encode(), how)[0][1] == "BIGINT"
        return
    failed = fault(session, file, content.encode(), how)
    assert failed.code == "CSV_ROUNDED"
    assert f"would round {rounded} of its values" in failed.faults[0].found


def test_without_a_header_and_without_rows(session: Session, file: Path) -> None:
    file.write_bytes(b"1,x\n")
    with csv_rows(session, [file], CsvFormat(header=False)) as rows:
        assert rows.columns == (("column1", "BIGINT"), ("column2", "VARCHAR"))
    assert read(session, file, b"a,b\n", CsvFormat()) == (["VARCHAR", "VARCHAR"], [])


def test_many_columns(session: Session, file: Path) -> None:
    names = [f"c{i}" for i in range(1000)]
    content = "\n".join([",".join(names), ",".join(map(str, range(1000)))])
    types, rows = read(session, file, content.encode(), CsvFormat())
    assert types == ["BIGINT"] * 1000
    assert rows == [tuple(range(1000))]
