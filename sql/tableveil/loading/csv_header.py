"""The columns of a CSV file by its first line, with all that usually goes wrong there."""

from __future__ import annotations

import codecs
import csv
from pathlib import Path

from tableveil.errors import InvalidError, shortened
from tableveil.loading.columns import check_names
from tableveil.loading.model import CsvEncoding, CsvFormat

DEFAULT_DELIMITER, DEFAULT_QUOTE = ",", '"'

_USUAL_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_CODECS = {CsvEncoding.UTF_8: "utf-8-sig", CsvEncoding.LATIN_1: "latin-1", CsvEncoding.UTF_16: "utf-16"}

# A first line longer than this is no line.
_MOST_CHARACTERS = 10_000_000


def csv_columns(path: Path, how: CsvFormat) -> tuple[str, ...]:
    """The names of the file's columns.

    Raises:
        InvalidError: the file is empty, not in this encoding, or has a first line that names no columns.
    """
    _check_encoding(path, how.encoding)
    text = _first_lines(path, how.encoding)
    first = next(iter(text.splitlines()), "")
    try:
        cells: list[str] = next(_reader(text, how), [])
    except csv.Error:
        # What may follow a quote that is never closed is cut off: it is the rest of the file.
        raise InvalidError.of(
            "CSV_INVALID", "line 1", "a quoted name that does not end", "quotes in pairs", "Is --quote right?"
        ) from None
    if not text.strip("\r\n"):
        raise InvalidError.of("CSV_EMPTY", "file", "nothing", "at least a line with the names of the columns")
    _check_delimiter(first, cells, how)
    if not how.header:
        return tuple(f"column{position}" for position in range(1, len(cells) + 1))
    check_names(cells)
    return tuple(cells)


def _reader(text: str, how: CsvFormat) -> csv._reader:  # type: ignore[name-defined]  # typeshed calls it otherwise
    csv.field_size_limit(_MOST_CHARACTERS)
    delimiter, quote = how.delimiter or DEFAULT_DELIMITER, how.quote or DEFAULT_QUOTE
    return csv.reader(text.splitlines(keepends=True), delimiter=delimiter, quotechar=quote, strict=True)


def _first_lines(path: Path, encoding: CsvEncoding) -> str:
    try:
        # Without translation of line ends, which may be within quotes.
        with path.open(encoding=_CODECS[encoding], newline="") as file:
            return file.read(_MOST_CHARACTERS)
    except UnicodeDecodeError:
        raise _wrong_encoding(f"bytes that are not {encoding.value}") from None
    except UnicodeError:
        raise _wrong_encoding(f"a file that does not begin as {encoding.value} does") from None


def _check_encoding(path: Path, encoding: CsvEncoding) -> None:
    with path.open("rb") as file:
        start = file.read(65_536)
    if encoding is CsvEncoding.UTF_16:
        return
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _wrong_encoding("the byte order mark of utf-16")
    if b"\0" in start:
        raise _wrong_encoding("NUL bytes, as files in utf-16 have them")


def _wrong_encoding(found: str) -> InvalidError:
    error = InvalidError.of(
        "CSV_ENCODING", "file", found, "the encoding that was stated", "State another: --encoding utf-8|latin-1|utf-16."
    )
    assert isinstance(error, InvalidError)
    return error


def _check_delimiter(first: str, cells: list[str], how: CsvFormat) -> None:
    """A single column whose name has another delimiter in it was meant to be several."""
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
