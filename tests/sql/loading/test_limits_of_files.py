"""Files that would take too much, or lose rows without a word: each is refused, and says by what."""

import gzip
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import pyarrow as pa
import pytest

from tableveil.backend import Session
from tableveil.errors import BusyError, InvalidError
from tableveil.loading import CsvFormat, csv_rows, guess_csv, parquet_rows
from tableveil.loading import unpacked as unpacked_module
from tests.once import once
from tests.sql.loading.csv_files import fault, read, refusal


@pytest.mark.parametrize(("name", "open_"), [("a.csv", open), ("a.csv.gz", gzip.open)])
@pytest.mark.parametrize("whole", once([True, False]))
def test_a_hole_of_zero_bytes_is_no_silence(
    session: Session, tmp_path: Path, name: str, open_: Callable[..., Any], whole: bool
) -> None:
    """DuckDB 2.0.0 drops such a line, and says nothing."""
    rows = b"".join(b"%d,x\n" % number for number in range(20_000))
    hole = b"9," * (not whole) + bytes(33_000_000) + b"\n" * whole
    file = tmp_path / name
    with open_(file, "wb") as content:
        content.write(b"a,b\n" + rows + hole + b"1,y\n")
    for how in (CsvFormat(), CsvFormat(max_rejected=9)):
        error = refusal(session, [file], how)
        assert (error.code, error.faults[0].field) == ("CSV_LINES_REJECTED", "line 20002")
        assert "zero bytes" in error.faults[0].found


def test_the_longest_lines_that_are_read_are_there(session: Session, file: Path) -> None:
    """In a file that is longer than what the database reads at once."""
    lines = [f"{number},{'y' * 1_900_000}\n" for number in range(20)]
    _, rows = read(session, file, ("a,b\n" + "".join(lines)).encode(), CsvFormat())
    assert len(rows) == 20


def test_a_hole_at_the_beginning_is_no_other_encoding(session: Session, file: Path) -> None:
    """The guess took it for UTF-16."""
    for content in (b"id,name\n1,x\n" + bytes(4096) + b"2,y\n", b"id,names\n1,x\n" + bytes(999)):
        error = fault(session, file, content)
        with pytest.raises(InvalidError) as raised:
            guess_csv(session, file, CsvFormat(), ())
        for refused in (error, raised.value):
            assert (refused.code, refused.faults[0].field) == ("CSV_NUL", "line 3")
            assert "crash" in refused.faults[0].found


def test_a_quoted_text_that_is_longer_than_a_line_may_be_is_refused(session: Session, file: Path) -> None:
    """None of its own lines is long, and each looks like a row."""
    text = ("y" * 49 + "," + "z" * 49 + "\n") * 330_000
    error = fault(session, file, f'a,b\nx,y\nq,"{text}"\nx,y\n'.encode(), CsvFormat(max_rejected=9))
    assert (error.code, error.faults[0].field) == ("CSV_LINES_REJECTED", "line 3, column 'b'")


def test_headers_of_too_many_columns_are_refused(session: Session, file: Path) -> None:
    file.write_text(",".join(f"c{number}" for number in range(200_000)) + "\n")
    for how in (CsvFormat(), CsvFormat(header=False)):
        error = refusal(session, [file], how)
        assert error.code == "COLUMNS_TOO_MANY"
        assert "200,000 columns" in error.faults[0].found
    file.write_text("a,b\n1,2\n")
    with pytest.raises(InvalidError, match="at most 1"), csv_rows(session, [file], CsvFormat(), most_columns=1):
        pass


def test_a_format_is_not_sniffed_for_too_many_columns(session: Session, file: Path) -> None:
    """The sniffer takes 2 GB for them."""
    file.write_text(";".join(f"c{number}" for number in range(50_000)) + "\n")
    watched = Mock(wraps=session)
    with pytest.raises(InvalidError, match="50,000 columns"):
        guess_csv(watched, file, CsvFormat(), ())
    watched.row.assert_not_called()


def test_a_copy_takes_half_of_the_free_space(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked_module, "disk_usage", lambda _: Mock(free=2_000_000))
    file = tmp_path / "a.csv.gz"
    for size, fits in ((900_000, True), (50_000_000, False)):
        file.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (size // 4)))
        refused = nullcontext() if fits else pytest.raises(BusyError, match="half of the free space")
        with refused, csv_rows(session, [file], CsvFormat(), tmp_path):
            pass
        assert list(tmp_path.iterdir()) == [file]


def test_rows_that_a_parquet_file_announces_are_counted(session: Session, tmp_path: Path) -> None:
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for file in files:
        duckdb.from_arrow(pa.table({"a": range(7)})).write_parquet(str(file))
    rows = parquet_rows(session, files)
    rows.check_count(14)
    with pytest.raises(InvalidError, match="13 rows that could be read; expected the 14"):
        rows.check_count(13)
    with pytest.raises(InvalidError, match="at most 0"):
        parquet_rows(session, files, most_columns=0)
