"""Parquet files as rows to be loaded."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from tableveil.backend import Session, text
from tableveil.errors import InvalidError, shortened
from tableveil.loading.columns import check_names, check_types
from tableveil.loading.model import Rows
from tableveil.loading.paths import pattern


def parquet_rows(session: Session, path: Path) -> Rows:
    """The rows of a Parquet file.

    Raises:
        InvalidError: it is no Parquet file, or has columns that cannot be loaded.
    """
    try:
        names = pq.read_schema(path).names
    except (pa.ArrowException, OSError):
        raise InvalidError.of(
            "PARQUET_UNREADABLE", "file", f"{shortened(path.name)}, which cannot be read as Parquet", "a Parquet file"
        ) from None
    # The database renames, in silence, what differs from another name in case only.
    check_names(names)
    # Folders called year=2020 are no columns of the file.
    option = exp.EQ(this=exp.to_identifier("hive_partitioning"), expression=exp.false())
    query = exp.select("*").from_(exp.Anonymous(this="read_parquet", expressions=[text(pattern(path)), option]))
    return Rows(query, check_types(session, query), lambda _: ())
