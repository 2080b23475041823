"""The formats of files that rows come from, and of an export."""

from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from tableveil.v1.table_service_pb2 import CsvFormat, ParquetFormat, ServerFile

FileFormat: TypeAlias = CsvFormat | ParquetFormat


class ExportFormat(StrEnum):
    """The format of an export."""

    PARQUET = "parquet"
    """A directory with one file per object."""

    DUCKDB = "duckdb"
    """A fresh database file with one table per object."""

    CSV = "csv"
    """A directory with one file per object, for spreadsheets and R, without types."""


def is_parquet(path: str | Path) -> bool:
    """Whether a file has a Parquet file's name."""
    return Path(path).suffix.lower() in (".parquet", ".pq")


def is_postgresql(source: str) -> bool:
    """Whether rows are named by an URL of PostgreSQL."""
    return source.startswith(("postgresql://", "postgres://"))


def server_file(path: str | Path, how: FileFormat | None) -> ServerFile:
    """A file and its format, by default that of its name."""
    how = how or (ParquetFormat() if is_parquet(path) else CsvFormat())
    if isinstance(how, ParquetFormat):
        return ServerFile(path=str(path), parquet=how)
    return ServerFile(path=str(path), csv=how)
