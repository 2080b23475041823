"""The checksum of a copy of released rows, in CSV or Parquet."""

import csv
import glob
from pathlib import Path

import duckdb
from sqlglot import exp

from tableveil.backend import render, table
from tableveil.errors import InvalidError, shortened
from tableveil.release.checksum import ROWS_PER_BATCH, combined, row_digests

# Directories called `year=2020` are no columns.
_OPTIONS = {
    ".parquet": "hive_partitioning = false",
    # As DuckDB writes it. An empty text is quoted, NULL is not. No line is passed over as a comment or a preamble: to
    # other readers of the copy it is a row. Nothing is guessed: DuckDB would strip the names of columns.
    ".csv": "hive_partitioning = false, header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', "
    "nullstr = '', allow_quoted_nulls = false, comment = '', skip = 0",
}


def checksum_of_copy(path: Path) -> str:
    """The checksum that the rows in a file have.

    Raises:
        InvalidError: It is no file in CSV or Parquet that can be read.
    """
    kind = path.suffix.lower()
    if kind not in _OPTIONS or not path.is_file():
        expected = "a file that ends in .parquet or .csv"
        hint = "An export in Parquet is a directory: name the file of the rows in it."
        raise InvalidError.of("COPY_UNREADABLE", "check", shortened(str(path)), expected, hint)
    try:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"CREATE TEMPORARY VIEW copied AS {_query(path, kind)}")
            names = [name for name, *_ in connection.execute("DESCRIBE copied").fetchall()]
            query = render(row_digests(names, table("copied")))
            return combined(names, connection.sql(query).to_arrow_reader(ROWS_PER_BATCH))
    except (duckdb.Error, csv.Error, OSError, UnicodeError, StopIteration) as error:
        # The database's own text quotes values.
        actual = f"{shortened(str(path))}: {type(error).__name__}"
        raise InvalidError.of("COPY_UNREADABLE", "check", actual, "a copy of released rows that can be read") from None


def _query(path: Path, kind: str) -> str:
    """The rows of a file; its path is no pattern."""
    options = _OPTIONS[kind]
    if kind == ".csv":
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in _header(path))
        options = f"{options}, columns = {{{columns}}}"
    return f"SELECT * FROM read_{kind[1:]}({_text(glob.escape(str(path.absolute())))}, {options})"


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file))
    if any("\r" in name for name in names):
        # DuckDB takes it for the end of a line.
        raise csv.Error
    return names


def _text(value: str) -> str:
    return exp.Literal.string(value).sql("duckdb")
