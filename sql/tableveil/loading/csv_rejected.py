"""Lines of CSV files that cannot be loaded, and the error that names all of them by column and kind of fault."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tableveil.backend import Session
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.loading.csv_header import DEFAULT_DELIMITER, DEFAULT_QUOTE
from tableveil.loading.csv_lines import ends_whole
from tableveil.loading.model import MOST_LINES_LISTED, CsvFormat, RejectedLine
from tableveil.source.no_records import TOTAL

MOST_REJECTED = 100_000
"""The most rejected values that are listed where none may be left out: the database keeps their lines."""

_CAST = "CAST"
_REASONS = {
    "MISSING COLUMNS": "fewer columns than there are",
    "TOO MANY COLUMNS": "more columns than there are",
    "UNQUOTED VALUE": "a quote that does not end where the value ends",
    "LINE SIZE OVER MAXIMUM": "more than 2,000,000 bytes",
    "INVALID ENCODING": "bytes that are not of the encoding",
}

# The text behind a quote that is never closed is unknown, so it cannot be left out as a number of lines.
_NEVER_LEFT_OUT = "UNQUOTED VALUE"

_MOST_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that does not fit: the kind of its first fault, and what stands there; `example` is a raw value.

    It `breaks_off` if it is the last one, and has no line end.
    """

    line: RejectedLine
    kind: str
    example: str
    breaks_off: bool = False

    @property
    def swallows(self) -> bool:
        """Whether nobody can say how many lines are lost with it."""
        return self.kind == _NEVER_LEFT_OUT


def rejected_lines(
    session: Session, table: str, types: Mapping[str, str], files: Mapping[Path, str], how: CsvFormat
) -> list[Rejected]:
    """One entry per line of the database's table of rejected values, by file and line."""
    rows = session.rows(
        "SELECT DISTINCT ON (file_id, line) line, coalesce(column_name, ''), error_type::VARCHAR, file_path, "
        f"column_idx, csv_line[:1000], line_byte_position + strlen(csv_line) - 1 "
        f"FROM {table} JOIN {table}_scans USING (scan_id, file_id) "
        "ORDER BY file_id, line, column_name"
    )
    # A file that ends with a line end has no line so long.
    sizes = {path: path.stat().st_size + ends_whole(path) for path in files}
    listed = []
    for line, column, kind, path, position, content, end in rows:
        reason = f"a value that is no {types[column]}" if kind == _CAST else _REASONS.get(kind, kind.lower())
        file = files.get(Path(path), "") if len(files) > 1 else ""
        example = _cell(content or "", position, how) if kind == _CAST else content or ""
        breaks_off = end is not None and end >= sizes[Path(path)]
        listed.append(Rejected(RejectedLine(line, column, reason, file), kind, example, breaks_off))
    return listed


def _cell(content: str, position: int, how: CsvFormat) -> str:
    """The value at a position, from 1, of a line; nothing if it cannot be told apart."""
    reader = csv.reader([content], delimiter=how.delimiter or DEFAULT_DELIMITER, quotechar=how.quote or DEFAULT_QUOTE)
    try:
        cells = next(reader, [])
    except csv.Error:
        return ""
    return cells[position - 1] if 0 < position <= len(cells) else ""


def check_rejected(rejected: Sequence[Rejected], how: CsvFormat, examples: bool) -> None:
    """Raises `InvalidError` for more lines than may be left out: a fault for each column and kind, with `examples`."""
    broken = [one for one in rejected if one.swallows or one.breaks_off]
    if len(rejected) <= how.max_rejected and not broken:
        return
    groups: dict[tuple[str, str, str], list[Rejected]] = {}
    for one in broken or rejected:
        # Lines that are too short miss any column.
        column = one.line.column if one.kind in (_CAST, _NEVER_LEFT_OUT) else ""
        reason = "a last line without end" if one.breaks_off else one.line.reason
        groups.setdefault((one.line.file, column, reason), []).append(one)
    faults = [_fault(group, how, examples) for group in groups.values()]
    raise InvalidError.about("CSV_LINES_REJECTED", "some lines cannot be loaded, and nothing was", faults)


def _fault(group: Sequence[Rejected], how: CsvFormat, examples: bool) -> Fault:
    first = group[0]
    place = [shortened(first.line.file)] if first.line.file else []
    if len(group) == 1:
        place.append(f"line {first.line.line}")
        reason = first.line.reason + (", in a last line that has no line end" if first.breaks_off else "")
    else:
        numbers = ", ".join(str(one.line.line) for one in group[:MOST_LINES_LISTED])
        more = f" and {len(group) - MOST_LINES_LISTED:,} more" if len(group) > MOST_LINES_LISTED else ""
        place += [] if first.kind == _CAST else ["lines"]
        reason = f"{first.line.reason}, {len(group):,} times, in lines {numbers}{more}"
    if first.line.column and (first.kind == _CAST or len(group) == 1):
        place.append(f"column {shortened(first.line.column)}")
    if examples and (shown := dict.fromkeys(one.example for one in group if one.example)):
        reason += ", such as " + ", ".join(shortened(example) for example in list(shown)[:_MOST_EXAMPLES])
    return Fault(", ".join(place), reason, "a line with one value of its type for every column", _hint(group, how))


def _hint(group: Sequence[Rejected], how: CsvFormat) -> str:
    totals = all(re.search(TOTAL, one.example) for one in group)
    return "Take it out if it is a line of totals, as it seems. " * totals + _hint_for_kind(group, how)


def _hint_for_kind(group: Sequence[Rejected], how: CsvFormat) -> str:
    first = group[0]
    if first.breaks_off:
        return (
            "The file may be cut off: get all of it. Such a line is not left out; correct it, or end it if it is whole."
        )
    if first.swallows:
        return "Correct the line; how many it swallowed cannot be told."
    if first.kind != _CAST:
        return f"Correct it, or leave such lines out (--max-rejected, now {how.max_rejected})."
    begin, say = "Correct it", "say what stands for nothing (--null)"
    if len(group) == 1 and first.line.line == how.skip_lines + 2 and how.header:
        begin = "Does the header have more lines, such as units (--header-lines 2)? Else correct it"
    if first.line.reason.startswith(("a value that is no DATE", "a value that is no TIMESTAMP")):
        say = "say how dates are written (--date-format %d.%m.%Y, --timestamp-format)"
    return f"{begin}, {say}, load the column as text (--type COLUMN=VARCHAR), or leave lines out (--max-rejected)."
