"""Several files that are loaded as one."""

import gzip
from pathlib import Path

import pytest

from tableveil.backend import Session
from tableveil.errors import InvalidError
from tableveil.loading import CsvFormat, RejectedLine, csv_rows, parquet_rows
from tests.sql.loading.csv_files import refusal


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The second is packed; the names have wildcards of the database in them."""
    found = [tmp_path / name for name in ("a [1].csv", "b*.csv", "c.csv")]
    for i, path in enumerate(found):
        content = f"id,price\n{i},{i}.{'5' * (i + 1)}\n".encode()
        path.write_bytes(gzip.compress(content) if i == 1 else content)
    return found


def test_types_hold_for_all(session: Session, files: list[Path]) -> None:
    with csv_rows(session, files, CsvFormat()) as rows:
        assert rows.columns == (("id", "BIGINT"), ("price", "DECIMAL(18,3)"))
        found = session.rows(rows.query.order_by("id"))
    assert [str(price) for _, price in found] == ["0.500", "1.550", "2.555"]


def test_lines_are_told_with_their_file(session: Session, files: list[Path]) -> None:
    for path, line in ((files[0], "x,1"), (files[2], "3")):
        path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    with csv_rows(session, files, CsvFormat(max_rejected=2)) as rows:
        assert len(session.rows(rows.query)) == 3
        assert [(one.file, one.line) for one in rows.rejected(session)] == [("a [1].csv", 3), ("c.csv", 3)]
    error = refusal(session, files, CsvFormat(max_rejected=1))
    assert [one.field for one in error.faults] == [
        "'a [1].csv', line 3, column 'id'",
        "'c.csv', line 3, column 'price'",
    ]
    with csv_rows(session, files[:1], CsvFormat(max_rejected=1)) as rows:
        session.rows(rows.query)
        assert rows.rejected(session) == (RejectedLine(3, "id", "a value that is no BIGINT"),)


def test_other_columns(session: Session, files: list[Path], tmp_path: Path) -> None:
    files[2].write_text("price,id\n1.5,2\n")
    error = refusal(session, files, CsvFormat())
    assert (error.code, [one.field for one in error.faults]) == ("COLUMNS_DIFFER", ["'c.csv'"])
    tables = [tmp_path / f"{i}.parquet" for i in range(3)]
    for path, type_ in zip(tables, ("BIGINT", "BIGINT", "VARCHAR"), strict=True):
        session.execute(f"COPY (SELECT 7::{type_} AS a) TO '{path}'")
    assert session.rows(parquet_rows(session, tables[:2]).query) == [(7,), (7,)]
    with pytest.raises(InvalidError, match=r"2\.parquet"):
        parquet_rows(session, tables)
