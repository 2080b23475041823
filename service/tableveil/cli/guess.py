"""The guess of a CSV file that `load` makes, as it shows it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tableveil import wording
from tableveil.v1 import table_service_pb2

if TYPE_CHECKING:
    from tableveil.client.loads import GuessedFormat, StoredRows

_FIRST_CHARACTERS = 16
"""Characters of each value that is shown; a row of five fits on a line."""
_ROWS_SHOWN = 5


def flags(how: table_service_pb2.CsvFormat) -> str:
    """The options that say the same as a guess does, where it is not the usual one."""
    stated = ["--encoding", how.encoding_name] if how.encoding_name != "utf-8" else []
    stated += ["--delimiter", how.delimiter] if how.delimiter not in ("", ",") else []
    stated += ["--quote", how.quote] if how.quote not in ("", '"') else []
    stated += ["--no-header"] if how.no_header else []
    for text in (how.null_text, *how.null_texts) if how.null_texts else ():
        stated += ["--null", text]
    stated += ["--quoted-nulls"] if how.quoted_nulls else []
    stated += ["--decimal-comma"] if how.decimal_comma else []
    stated += ["--date-format", how.date_format] if how.date_format else []
    stated += ["--timestamp-format", how.timestamp_format] if how.timestamp_format else []
    for column, type_ in how.types.items():
        stated += ["--type", f"{column}={type_}"]
    stated += ["--skip-lines", str(how.skip_lines)] if how.skip_lines else []
    stated += ["--header-lines", str(how.header_lines)] if how.header_lines > 1 else []
    stated += ["--drop-unnamed"] if how.drop_unnamed else []
    for column in how.trimmed:
        stated += ["--trim", column]
    for column, mark in how.thousands.items():
        stated += ["--thousands", f"{column}={mark}"]
    for column, year in how.century_pivots.items():
        stated += ["--century-pivot", f"{column}={year}"]
    # A tab as it is would vanish in a terminal.
    return " ".join("$'\\t'" if word == "\t" else shlex.quote(word) for word in stated)


def first_values(
    guess: GuessedFormat, loaded: table_service_pb2.LoadTableResponse, stored: StoredRows
) -> tuple[dict[str, str], dict[str, str]]:
    """The values of the first rows by column: as they are stored, and as the file has them where these differ."""
    left_out = {line.line for line in loaded.rejected_lines if line.file in ("", guess.file)}
    written = [cells for line, cells in guess.first_rows if line not in left_out][:_ROWS_SHOWN]
    as_stored, in_file = {}, {}
    for position, column in enumerate(loaded.load.columns):
        as_stored[column.name] = " | ".join(_cut(row[position]) for row in stored)
        if column.name in guess.columns and len(written) == len(stored):
            place = guess.columns.index(column.name)
            cells = [row[place] if place < len(row) else "" for row in written]
            if any(cell != (row[position] or "") for cell, row in zip(cells, stored, strict=True)):
                in_file[column.name] = " | ".join(map(_cut, cells))
    return as_stored, in_file


def _cut(value: str | None) -> str:
    if value is None:
        return "NULL"
    shown = wording.printable(value[: _FIRST_CHARACTERS + 1])
    return shown if len(value) <= _FIRST_CHARACTERS else f"{shown[: _FIRST_CHARACTERS - 1]}…"
