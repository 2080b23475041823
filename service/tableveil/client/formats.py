"""What a release can be exported as."""

from __future__ import annotations

from enum import StrEnum


class ExportFormat(StrEnum):
    """What an export is made of."""

    PARQUET = "parquet"
    """A directory with one file per object."""

    DUCKDB = "duckdb"
    """A fresh database file with one table per object."""
