"""What is loaded: how a file is written, what its rows are, and which of its lines were left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sqlglot import exp

from tableveil.backend import Session

MOST_LINES_LISTED = 20
"""Rejected lines that an error lists; a report of lines that may be left out lists all."""


class CsvEncoding(StrEnum):
    """How a file spells characters, where it is not by a name that Python knows."""

    UTF_8 = "utf-8"
    LATIN_1 = "latin-1"
    UTF_16 = "utf-16"


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is written.

    `encoding` is a name that Python knows.
    An empty `delimiter` or `quote` is the usual one. `types` are those of columns that the user states; what is not
    stated is text if `all_text`, else found by looking at all values. Up to `max_rejected` lines may be left out.
    """

    delimiter: str = ""
    quote: str = ""
    header: bool = True
    null_text: str = ""
    quoted_nulls: bool = False
    encoding: str = CsvEncoding.UTF_8.value
    max_rejected: int = 0
    types: Mapping[str, str] = field(default_factory=dict)
    all_text: bool = False


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """A Parquet file says itself how it is written."""


FileFormat = CsvFormat | ParquetFormat


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that was left out: its number from 1, the header included, and why; `column` may be empty.

    A line break within quotes begins no line.
    """

    line: int
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to be loaded: the query for them, and what asks, once it has been read, which lines were left out.

    `rejected` raises `InvalidError` if those are more than may be. `columns` are (name, type).
    """

    query: exp.Select
    columns: tuple[tuple[str, str], ...]
    rejected: Callable[[Session], tuple[RejectedLine, ...]]
