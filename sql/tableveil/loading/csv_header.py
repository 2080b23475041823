"""The columns of a CSV file, read from its first line, with checks of frequent mistakes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TextIO

from tableveil.errors import Fault, InvalidError, NearestNames, shortened
from tableveil.loading.columns import check_names
from tableveil.loading.model import CsvFormat
from tableveil.loading.unpacked import first_lines

DEFAULT_DELIMITER, DEFAULT_QUOTE = ",", '"'

_USUAL_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}

# A longer first line is not accepted as a line.
_MOST_CHARACTERS = 10_000_000
_MOST_TITLES, _ROWS_COMPARED = 10, 40


_UNNAMED = "tableveil_unnamed_"


def csv_columns(path: Path, how: CsvFormat, most: int) -> tuple[str, ...]:
    """The names of the file's columns, of at most so many; with `drop_unnamed`, some are `is_unnamed`.

    Raises:
        InvalidError: the file is empty, not in UTF-8, or has a first line that names no columns.
    """
    text = first_lines(path, _MOST_CHARACTERS)
    if not text.strip("\r\n"):
        raise InvalidError.of("CSV_EMPTY", "file", "nothing", "at least a line with the names of the columns")
    reader = _reader(text, how)
    try:
        for _ in range(how.skip_lines):
            next(reader, None)
        begin = reader.line_num
        cells: list[str] = next(reader, [])
    except csv.Error:
        # The text after a quote that is never closed is cut off: it is the rest of the file.
        raise InvalidError.of(
            "CSV_INVALID",
            f"line {how.skip_lines + 1}",
            "a quoted name that does not end",
            "quotes in pairs",
            "Is --quote right?",
        ) from None
    first = next(islice(_lines(text), begin, None), "").rstrip("\r\n")
    _check_delimiter(first, cells, how)
    names = [cell.strip() for cell in cells] if how.header else [f"column{i}" for i in range(1, len(cells) + 1)]
    names = _renamed(names, how.renames)
    if how.drop_unnamed:
        names = _without_unnamed(names, _first_row(reader, how))
    check_names(names, most, _hint)
    return tuple(names)


def csv_width(path: Path, how: CsvFormat) -> int:
    """The cells of the line that names the columns."""
    return len(next(islice(_reader(first_lines(path, _MOST_CHARACTERS), how), how.skip_lines, None), []))


def is_unnamed(name: str) -> bool:
    """Whether a column has no name, and is left out."""
    return name.startswith(_UNNAMED)


def _renamed(names: Sequence[str], renames: Mapping[str, str]) -> list[str]:
    """The names after they were changed, by their old ones or, where these do not tell, by their positions."""
    new, faults = list(names), []
    for old, name in renames.items():
        places = [i for i, one in enumerate(names) if one == old]
        if not places and old.isascii() and old.isdecimal() and 0 < int(old) <= len(names):
            places = [int(old) - 1]
        if len(places) == 1:
            new[places[0]] = name
            continue
        actual = f"{shortened(old)}, the name of {len(places)} columns" if places else shortened(old)
        hint = f"State its position: --rename {places[-1] + 1}=NAME." if places else NearestNames(names)(old)
        faults.append(Fault("renames", actual, "the name of one column, or its position from 1", hint))
    if faults:
        raise InvalidError.about("COLUMNS_INVALID", "some columns cannot be renamed", faults)
    return new


def _without_unnamed(names: Sequence[str], row: Sequence[str]) -> list[str]:
    """Names for what a separator at the end of lines begins, in the header, in the rows or in both."""
    wide = list(names)
    while len(wide) > len(row) > 0 and not wide[-1]:
        wide.pop()
    if not any(cell.strip() for cell in row[len(wide) :]):
        wide += [""] * (len(row) - len(wide))
    return [name or f"{_UNNAMED}{position}" for position, name in enumerate(wide, start=1)]


def _first_row(reader: Iterator[list[str]], how: CsvFormat) -> list[str]:
    try:
        rows = islice(reader, how.header_lines - 1, None) if how.header else reader
        return next((row for row in rows if row), [])
    except csv.Error:
        return []


def _hint(name: str, position: int) -> str:
    """The options that help, for a column whose name is missing or stands at other positions as well."""
    if name:
        return f"Give another name: --rename {position}=NAME."
    return (
        f"Name it (--rename {position}=NAME), leave it out if it is empty (--drop-unnamed), or say how many lines "
        "stand before the names (--skip-lines)."
    )


def title_lines(path: Path, how: CsvFormat) -> int | None:
    """The lines, such as titles, that seem to stand before the names of the columns: they have fewer cells.

    None if nobody can tell, since there is one column or no names of several.
    """
    rows: list[list[str]] = []
    try:
        rows += islice(_reader(first_lines(path, 1 << 20), how), _MOST_TITLES + _ROWS_COMPARED)
    except csv.Error:
        return None
    widths = Counter(len(row) for row in rows[min(_MOST_TITLES, len(rows)) // 2 :] if row)
    width = max(widths, key=lambda each: widths[each], default=0)
    for lines, row in enumerate(rows[:_MOST_TITLES]):
        filled = [cell for cell in row if cell.strip()]
        if 2 * len(filled) >= width and len(row) >= min(width, 2):
            is_header = not any(re.fullmatch(r"[+-]?[0-9]+([.,][0-9]+)?", cell.strip()) for cell in filled)
            return lines if is_header and width > 1 else None
    return None


def first_rows(path: Path, how: CsvFormat, most: int) -> list[tuple[int, tuple[str, ...]]]:
    """The lines of the file's first rows, as rejected lines are numbered, and their cells as they are written."""
    reader = _reader(first_lines(path, 1 << 20), how)
    header = how.skip_lines + (how.header_lines if how.header else 0)
    rows: list[tuple[int, tuple[str, ...]]] = []
    try:
        for line, row in enumerate(reader, start=1):
            if row and line > header:
                rows.append((line, tuple(row)))
            if len(rows) == most:
                break
    except csv.Error:
        # The rows before it can be shown.
        pass
    return rows


def csv_records(path: Path, how: CsvFormat) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file in UTF-8 with their lines, as rejected lines are numbered, up to one that cannot be read."""
    header = how.skip_lines + (how.header_lines if how.header else 0)
    with path.open(encoding="utf-8-sig", newline="") as file, suppress(csv.Error, UnicodeDecodeError):
        yield from islice(enumerate(_records(file, how), start=1), header, None)


def _reader(text: str, how: CsvFormat) -> csv._reader:  # type: ignore[name-defined]  # typeshed calls it otherwise
    return _records(_lines(text), how)


def _records(lines: TextIO, how: CsvFormat) -> csv._reader:  # type: ignore[name-defined]  # as above
    csv.field_size_limit(_MOST_CHARACTERS)
    delimiter, quote = how.delimiter or DEFAULT_DELIMITER, how.quote or DEFAULT_QUOTE
    # The database reads a quote behind a blank as one, too.
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True, skipinitialspace=True)


def _lines(text: str) -> io.StringIO:
    """The text by its lines with their ends, whatever these are."""
    return io.StringIO(text, newline="")


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
