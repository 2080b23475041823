"""A hierarchy in a CSV file, as ARX and spreadsheets write them: no header, a row per value, then its labels."""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from tableveil.errors import Fault, shortened
from tableveil.hierarchy import check_levels

# ARX writes the first one, and it is assumed if nothing decides.
DELIMITERS = (";", "\t", ",")

# A file in UTF-16 says so in its first two bytes; one in UTF-8 may say so.
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# The number of rows that decide on the delimiter.
_ROWS_SEEN = 100

# How `check_levels` points at a row and a level.
_ROW = re.compile(r"\.rows(?:\[(\d+)\](?:\.labels\[(\d+)\])?)?$")


@dataclass(frozen=True, slots=True)
class CsvRows:
    """The contents of a file, and its delimiter."""

    rows: Sequence[tuple[str, ...]]
    delimiter: str


def read_csv_rows(
    path: Path, field: str, delimiter: str = "", encoding: str = ""
) -> tuple[CsvRows | None, list[Fault]]:
    r"""Reads a hierarchy from a file, or finds all faults in it.

    Args:
        path: The file.
        field: The field of the faults, such as `attributes[2].hierarchy.csv`; a path or delimiter is below it.
        delimiter: One character, or `\t` for a tab; empty: that of `DELIMITERS` which separates all of the first rows.
        encoding: A name that Python knows; empty: UTF-8, or UTF-16 with a byte order mark.
    """
    delimiter = "\t" if delimiter == "\\t" else delimiter
    if delimiter and (len(delimiter) != 1 or delimiter in '"\r\n'):
        actual = shortened(delimiter)
        return None, [Fault(f"{field}.delimiter", actual, "one character that is neither a quote nor a line's end")]
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a NUL in the path.
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        actual, expected = f"{shortened(str(path))}: {reason}", "a CSV file that can be read"
        return None, [Fault(f"{field}.path", actual, expected, "Paths are relative to the policy's file.")]
    text, faults = _decoded(data, path.name, field, encoding)
    if text is None:
        return None, faults
    taken = delimiter or _delimiter_of(text)
    rows, faults = _parsed(text, taken, path.name, field, suspected=not delimiter)
    return (None, faults) if faults else (CsvRows(rows, taken), [])


def _decoded(data: bytes, file: str, field: str, encoding: str) -> tuple[str | None, list[Fault]]:
    name = encoding or ("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
    try:
        return data.decode(name), []
    except LookupError:
        expected = "an encoding that Python knows, such as utf-8, latin-1 or cp1252"
        return None, [Fault(f"{field}.encoding", shortened(encoding), expected)]
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        shown = encoding or ("UTF-16" if name == "utf-16" else "UTF-8")
        hint = "Save the file as UTF-8, or say its encoding: `tableveil hierarchies import --encoding latin-1`."
        actual = f"{file}, line {line}: bytes that are not {shown}"
        return None, [Fault(field, actual, f"text in {shown}", hint)]


def _delimiter_of(text: str) -> str:
    """The first delimiter that all of the first rows have, else the first that any of them has."""
    columns = {delimiter: _columns(text, delimiter) for delimiter in DELIMITERS}
    for holds in (all, any):
        for delimiter, counts in columns.items():
            if counts and holds(count > 1 for count in counts):
                return delimiter
    return DELIMITERS[0]


def _columns(text: str, delimiter: str) -> list[int]:
    """How many columns the first rows have, if this separates them."""
    counts: list[int] = []
    try:
        for row in islice(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), _ROWS_SEEN):
            counts += [len(row)] * bool(row)
    except csv.Error:
        # The rows before decide.
        pass
    return counts


def _parsed(
    text: str, delimiter: str, file: str, field: str, suspected: bool
) -> tuple[list[tuple[str, ...]], list[Fault]]:
    rows: list[tuple[str, ...]] = []
    # The line where each row begins: a quoted label may span lines.
    lines: list[int] = []
    # Labels repeat from row to row; one object for each keeps large hierarchies in memory.
    read_rows: dict[str, str] = {}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            # Blank lines, such as at the end, are no rows.
            if row:
                labels = row[1:]
                rows.append((row[0], *map(read_rows.setdefault, labels, labels)))
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        expected = f"values separated by {shortened(delimiter)}, quoted with double quotes where they hold one"
        return [], [Fault(field, f"{file}, line {line}: {error}", expected)]
    hint = ""
    if rows and all(len(row) == 1 for row in rows):
        hint = f"The columns are separated by {shortened(delimiter)} unless `delimiter` says otherwise."
    elif suspected and delimiter != DELIMITERS[0]:
        hint = f"It was read as separated by {shortened(delimiter)}; `delimiter` can say otherwise."
    return rows, [_located(fault, file, lines, field, hint) for fault in check_levels(rows, field)]


def _located(fault: Fault, file: str, lines: Sequence[int], field: str, hint: str) -> Fault:
    """The fault with its place in the file instead of one in a list of rows."""
    place = _ROW.search(fault.field)
    row, level = place.groups() if place else (None, None)
    where = file
    if row is not None:
        where += f", line {lines[int(row)]}"
    if level is not None:
        where += f", column {int(level) + 1}"
    return replace(fault, field=field, found=f"{where}: {fault.found}", hint=fault.hint or hint)
