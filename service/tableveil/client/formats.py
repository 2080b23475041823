"""The formats of an export."""

from __future__ import annotations

from enum import StrEnum


class ExportFormat(StrEnum):
    """The format of an export."""

    PARQUET = "parquet"
    """A directory with one file per object."""

    DUCKDB = "duckdb"
    """A fresh database file with one table per object."""

    CSV = "csv"
    """A directory with one file per object, for spreadsheets and R, without types."""
