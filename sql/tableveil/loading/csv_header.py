"""The columns of a CSV file, read from its first line, with checks of frequent mistakes."""

from __future__ import annotations

import csv
from pathlib import Path

from tableveil.errors import InvalidError, shortened
from tableveil.loading.columns import check_names
from tableveil.loading.model import CsvFormat
from tableveil.loading.unpacked import first_lines

DEFAULT_DELIMITER, DEFAULT_QUOTE = ",", '"'

_USUAL_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}

# A longer first line is not accepted as a line.
_MOST_CHARACTERS = 10_000_000


def csv_columns(path: Path, how: CsvFormat, most: int) -> tuple[str, ...]:
    """The names of the file's columns, of at most so many.

    Raises:
        InvalidError: the file is empty, not in UTF-8, or has a first line that names no columns.
    """
    text = first_lines(path, _MOST_CHARACTERS)
    first = next(iter(text.splitlines()), "")
    try:
        cells: list[str] = next(_reader(text, how), [])
    except csv.Error:
        # The text after a quote that is never closed is cut off: it is the rest of the file.
        raise InvalidError.of(
            "CSV_INVALID", "line 1", "a quoted name that does not end", "quotes in pairs", "Is --quote right?"
        ) from None
    if not text.strip("\r\n"):
        raise InvalidError.of("CSV_EMPTY", "file", "nothing", "at least a line with the names of the columns")
    _check_delimiter(first, cells, how)
    names = cells if how.header else [f"column{position}" for position in range(1, len(cells) + 1)]
    check_names(names, most)
    return tuple(names)


def first_rows(path: Path, how: CsvFormat, most: int) -> list[tuple[int, tuple[str, ...]]]:
    """The lines of the file's first rows, as rejected lines are numbered, and their cells as they are written."""
    reader = _reader(first_lines(path, 1 << 20), how)
    rows: list[tuple[int, tuple[str, ...]]] = []
    try:
        for line, row in enumerate(reader, start=1):
            rows += [(line, tuple(row))] if row else []
            if len(rows) > most:
                break
    except csv.Error:
        # The rows before it can be shown.
        pass
    return rows[1 if how.header else 0 :][:most]


def _reader(text: str, how: CsvFormat) -> csv._reader:  # type: ignore[name-defined]  # typeshed calls it otherwise
    csv.field_size_limit(_MOST_CHARACTERS)
    delimiter, quote = how.delimiter or DEFAULT_DELIMITER, how.quote or DEFAULT_QUOTE
    return csv.reader(text.splitlines(keepends=True), delimiter=delimiter, quotechar=quote, strict=True)


def _check_delimiter(first: str, cells: list[str], how: CsvFormat) -> None:
    """A single column whose name contains another delimiter was meant to be several."""
    used = how.delimiter or DEFAULT_DELIMITER
    others = [name for delimiter, name in _USUAL_DELIMITERS.items() if delimiter != used and delimiter in first]
    if len(cells) == 1 and others and not how.delimiter:
        raise InvalidError.of(
            "CSV_DELIMITER",
            "delimiter",
            f"one column, whose name has {others[0]} in it",
            f"columns that are told apart by {_USUAL_DELIMITERS.get(used, shortened(used))}",
            "State what tells them apart: --delimiter.",
        )
