"""The checksum of a copy of released rows, in CSV or Parquet."""

from __future__ import annotations

from pathlib import Path

import duckdb
from sqlglot import exp

from tableveil.backend import render, table
from tableveil.errors import InvalidError, shortened
from tableveil.release.checksum import ROWS_PER_BATCH, combined, row_digests

# Directories called `year=2020` are no columns.
_READ = {
    ".parquet": "SELECT * FROM read_parquet(?, hive_partitioning = false)",
    # As DuckDB writes it. An empty text is quoted, NULL is not. No line is passed over as a comment or a preamble: to
    # other readers of the copy it is a row.
    ".csv": "SELECT * FROM read_csv(?, header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"', "
    "nullstr = '', allow_quoted_nulls = false, comment = '', skip = 0, hive_partitioning = false)",
}


def checksum_of_copy(path: Path) -> str:
    """The checksum that the rows in a file have.

    Raises:
        InvalidError: It is no file in CSV or Parquet that can be read.
    """
    read = _READ.get(path.suffix.lower())
    if read is None or not path.is_file():
        expected = "a file that ends in .parquet or .csv"
        hint = "An export in Parquet is a directory: name the file of the rows in it."
        raise InvalidError.of("COPY_UNREADABLE", "check", shortened(str(path)), expected, hint)
    try:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"CREATE TEMPORARY VIEW copied AS {_with_path(read, path)}")
            names = [name for name, *_ in connection.execute("DESCRIBE copied").fetchall()]
            query = render(row_digests(names, table("copied")))
            return combined(names, connection.sql(query).to_arrow_reader(ROWS_PER_BATCH))
    except duckdb.Error as error:
        # The database's own text quotes values.
        found = f"{shortened(str(path))}: {type(error).__name__}"
        raise InvalidError.of("COPY_UNREADABLE", "check", found, "a copy of released rows that can be read") from None


def _with_path(read: str, path: Path) -> str:
    return read.replace("?", exp.Literal.string(str(path)).sql("duckdb"))
