"""Columns whose values the load converts itself: with blanks around them, or with digits in groups of three."""

import re
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, expression, sql, text, try_cast
from tableveil.errors import Fault, InvalidError, NearestNames, shortened
from tableveil.loading.csv_header import csv_records
from tableveil.loading.model import MOST_LINES_LISTED, CsvFormat

BLANKS = " \t\u00a0\u2007\u202f\u3000\u200b\u2060\ufeff"
"""The signs that may stand around a value, no-break spaces and signs without a width too."""


_MOST_TEXTS = 10_000


def is_converted(how: CsvFormat, name: str) -> bool:
    """Whether the database reads the column as text, whatever its type."""
    return name in how.trimmed or name in how.thousands


def check_options(how: CsvFormat, names: Sequence[str]) -> None:
    """Raises `InvalidError` for options about columns that are not there, or marks that no number has."""
    hint = NearestNames(names)
    faults = [
        Fault(field, shortened(name), "a column of the file", hint(name))
        for field, stated in (("trimmed", how.trimmed), ("thousands", how.thousands))
        for name in stated
        if name not in names
    ]
    faults += [
        Fault("thousands", f"{shortened(mark)} for column {shortened(name)}", "a single sign, such as . or a blank")
        for name, mark in how.thousands.items()
        if len(mark) != 1 or mark.isalnum() or mark in "+-"
    ]
    if faults:
        raise InvalidError.about("CSV_FORMAT", "the CSV format is invalid", faults)


def plain(how: CsvFormat, name: str) -> exp.Expr:
    """The text of a column without blanks around it and marks between groups of digits; NULL if it stands for none."""
    value: exp.Expr = column(name)
    if name in how.trimmed:
        trimmed = expression("trim($value, $blanks)", value=value, blanks=text(BLANKS))
        nothing = [*map(text, how.null_texts)]
        value = expression("CASE WHEN $value IN ($nothing) THEN NULL ELSE $value END", value=trimmed, nothing=nothing)
    if mark := how.thousands.get(name):
        decimal = "," if how.decimal_comma else "."
        behind = "" if mark == decimal else f"({re.escape(decimal)}[0-9]+)?"
        grouped = text(f"[+-]?[0-9]{{1,3}}({re.escape(mark)}[0-9]{{3}})+{behind}")
        case = "CASE WHEN regexp_full_match($value, $grouped) THEN replace($value, $mark, '') ELSE $value END"
        value = expression(case, value=value, grouped=grouped, mark=text(mark))
    return value


def pointed(how: CsvFormat, name: str) -> exp.Expr:
    """The plain text of a number, with a point instead of a comma."""
    value = plain(how, name)
    return expression("replace($value, ',', '.')", value=value) if how.decimal_comma else value


def as_stored(how: CsvFormat, name: str, type_: str) -> exp.Expr:
    """The value of the column in this type; NULL where it does not fit."""
    value, kind = plain(how, name), type_.upper()
    wanted = {"DATE": how.date_format, "TIMESTAMP": how.timestamp_format}.get(kind, "")
    if kind == "VARCHAR":
        return value
    if wanted:
        return cast(expression("try_strptime($value, $wanted)", value=value, wanted=text(wanted)), type_)
    return try_cast(value if kind.startswith(("DATE", "TIME", "BOOL")) else pointed(how, name), type_)


def check_fit(
    session: Session, rows: exp.Expr, how: CsvFormat, types: Mapping[str, str], files: Mapping[Path, str]
) -> None:
    """Raises `InvalidError` for values, in rows of `files` that have all columns as text, that do not fit their types.

    The keys of `types` are all columns of the files, in their order.
    """
    names = [name for name, type_ in types.items() if is_converted(how, name) and type_.upper() != "VARCHAR"]
    if not names:
        return
    counts = [
        alias(expression("count($plain) - count($stored)", plain=plain(how, name), stored=stored), f"c{i}")
        for i, name in enumerate(names)
        for stored in [as_stored(how, name, types[name])]
    ]
    misfits = dict(zip(names, session.row(exp.select(*counts).from_(rows)), strict=True))
    faults = [
        Fault(
            f"column {shortened(name)}",
            f"{count:,} {'value that is' if count == 1 else 'values that are'} no {types[name]}"
            + _in_lines(_misfit_texts(session, rows, how, name, types[name]), count, how, [*types].index(name), files),
            "values of its type",
            "Correct them, say what stands for nothing (--null), or load the column as text (--type COLUMN=VARCHAR).",
        )
        for name, count in misfits.items()
        if count
    ]
    if faults:
        raise InvalidError.about("CSV_LINES_REJECTED", "some values cannot be loaded, and nothing was", faults)


def _misfit_texts(session: Session, rows: exp.Expr, how: CsvFormat, name: str, type_: str) -> set[str]:
    query = sql(
        f"SELECT DISTINCT $value FROM $rows WHERE $plain IS NOT NULL AND $stored IS NULL LIMIT {_MOST_TEXTS}",
        value=column(name),
        rows=rows,
        plain=plain(how, name),
        stored=as_stored(how, name, type_),
    )
    return {str(value).strip(BLANKS) for (value,) in session.rows(query)}


def _in_lines(texts: Set[str], count: int, how: CsvFormat, position: int, files: Mapping[Path, str]) -> str:
    """The lines with these texts; nothing if they are not as many as the database found, or of several files."""
    if len(files) > 1:
        return ""
    [path] = files
    lines = [
        line
        for line, cells in csv_records(path, how)
        if cells[position : position + 1] and cells[position].strip(BLANKS) in texts
    ]
    if len(lines) != count:
        return ""
    more = f" and {count - MOST_LINES_LISTED:,} more" if count > MOST_LINES_LISTED else ""
    return f", in {'line' if count == 1 else 'lines'} {', '.join(map(str, lines[:MOST_LINES_LISTED]))}{more}"
