"""The input of a load: the format of a file, its rows, and its rejected lines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sqlglot import exp

from tableveil.backend import Session
from tableveil.errors import InvalidError

MOST_LINES_LISTED = 20
"""The most lines that an error lists for one fault of a column; a report of lines that may be left out lists all."""


class CsvEncoding(StrEnum):
    """Encodings of a file that are not chosen by a name that Python knows."""

    UTF_8 = "utf-8"
    LATIN_1 = "latin-1"
    UTF_16 = "utf-16"


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """The format of a CSV file.

    `encoding` is a name that Python knows. An empty `delimiter` or `quote` means the usual one. Each of `null_texts`
    stands for NULL. `types` are the column types that the user states; other columns are text if `all_text`, else
    their types are found by looking at all values. With a `decimal_comma`, 1,5 is a number and 1.5 is none. A
    `date_format` or `timestamp_format`, as strptime has them, takes the place of ISO 8601. Years of two digits lie in
    the hundred years up to the column's one of `century_pivots`. Up to `max_rejected` lines may be left out.

    The names stand behind `skip_lines`, in the first of `header_lines`. `renames` have old names, or positions from 1.
    Columns that have neither a name nor a value are left out if `drop_unnamed`. A last line without a line end is
    refused if `whole_last_line`. The values of `trimmed` columns have blanks around them, and digits of `thousands`
    stand in groups of three with the column's mark between.
    """

    delimiter: str = ""
    quote: str = ""
    header: bool = True
    null_texts: tuple[str, ...] = ("",)
    quoted_nulls: bool = False
    encoding: str = CsvEncoding.UTF_8.value
    max_rejected: int = 0
    types: Mapping[str, str] = field(default_factory=dict)
    all_text: bool = False
    decimal_comma: bool = False
    date_format: str = ""
    timestamp_format: str = ""
    century_pivots: Mapping[str, int] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    drop_unnamed: bool = False
    skip_lines: int = 0
    header_lines: int = 1
    whole_last_line: bool = False
    trimmed: tuple[str, ...] = ()
    thousands: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """A Parquet file describes its own format."""


FileFormat = CsvFormat | ParquetFormat


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that was left out: its number from 1, counting the header, and the reason; `column` may be empty.

    A line break within quotes begins no line. `file` is its file's name if there are several.
    """

    line: int
    column: str
    reason: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class LoadRows:
    """Rows to be loaded: the query for them, and a function that lists the rejected lines after they were read.

    `rejected` raises `InvalidError` if more lines are rejected than allowed. `columns` are (name, type). `count` is the
    number of rows, where the input itself says it. `notes` are sentences about the input, without values.
    """

    query: exp.Select
    columns: tuple[tuple[str, str], ...]
    rejected: Callable[[Session], tuple[RejectedLine, ...]]
    count: int | None = None
    notes: tuple[str, ...] = ()

    def check_count(self, read: int) -> None:
        """Raises `InvalidError` if as many rows as were read are not all."""
        if self.count not in (None, read):
            actual, expected = f"{read:,} rows that could be read", f"the {self.count:,} that it says it has"
            raise InvalidError.of("ROWS_MISSING", "file", actual, expected, "Nothing was loaded. Write the file again.")
