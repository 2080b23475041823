"""Parquet files as rows to be loaded."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from tableveil.backend import Session, text
from tableveil.errors import InternalError, InvalidError, TableveilError
from tableveil.loading.columns import MOST_COLUMNS, check_equal_columns, check_names, check_types
from tableveil.loading.model import LoadRows
from tableveil.loading.paths import pattern


def parquet_rows(session: Session, paths: Sequence[Path], most_columns: int = MOST_COLUMNS) -> LoadRows:
    """The rows of Parquet files with equal columns.

    Raises:
        InvalidError: one is no Parquet file, or has columns that cannot be loaded.
    """
    try:
        files = [pq.read_metadata(path) for path in paths]
        columns = [[(field.name, field.type) for field in file.schema.to_arrow_schema()] for file in files]
    except (pa.ArrowException, OSError):
        raise _unreadable() from None
    # The database silently renames columns that differ from another only in case.
    check_names([name for name, _ in columns[0]], most_columns)
    check_equal_columns(columns, [path.name for path in paths])
    # Folders called year=2020 are no columns of the file.
    option = exp.EQ(this=exp.to_identifier("hive_partitioning"), expression=exp.false())
    named = exp.Array(expressions=[text(pattern(path)) for path in paths])
    query = exp.select("*").from_(exp.ReadParquet(expressions=[named, option]))
    return LoadRows(query, check_types(session, query), lambda _: (), sum(file.num_rows for file in files))


@contextmanager
def reading_parquet(paths: Sequence[Path]) -> Iterator[None]:
    """While the block reads the rows, an error of the database is blamed on a file if it is damaged.

    Raises:
        InvalidError: a file is damaged.
    """
    try:
        yield
    except InternalError as error:
        if error.code == "DATABASE_ERROR":
            for path in paths:
                _check_whole(path)
        raise


def _check_whole(path: Path) -> None:
    """Reads everything with another library: the database does not distinguish a file's faults from its own."""
    try:
        with pq.ParquetFile(path) as file:
            for _ in file.iter_batches():
                pass
    except (pa.ArrowException, OSError):
        raise _unreadable() from None


def _unreadable() -> TableveilError:
    actual = "one that cannot be read as Parquet"
    return InvalidError.of("PARQUET_UNREADABLE", "file", actual, "a Parquet file that is whole")
