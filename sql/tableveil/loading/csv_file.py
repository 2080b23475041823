"""CSV files as rows to be loaded: every line is read, or rejected by its number."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb
from sqlglot import exp

from tableveil.backend import Session, number, text
from tableveil.errors import Fault, InternalError, InvalidError, Nearest, shortened
from tableveil.loading.columns import check_equal_columns, check_types
from tableveil.loading.csv_header import DEFAULT_DELIMITER, DEFAULT_QUOTE, csv_columns
from tableveil.loading.csv_types import check_digits, found_types
from tableveil.loading.model import MOST_LINES_LISTED, CsvFormat, RejectedLine, Rows
from tableveil.loading.paths import pattern
from tableveil.loading.unpacked import unpacked

_REASONS = {
    "CAST": "a value that does not fit the type",
    "MISSING COLUMNS": "fewer columns than there are",
    "TOO MANY COLUMNS": "more columns than there are",
    "UNQUOTED VALUE": "a quote that does not end where the value ends",
    "LINE SIZE OVER MAXIMUM": "more than 2,000,000 bytes",
    "INVALID ENCODING": "bytes that are not of the encoding",
}

# The text behind a quote that is never closed is unknown, so it cannot be left out as a number of lines.
_NEVER_LEFT_OUT = "UNQUOTED VALUE"

_numbers = itertools.count()

Result = TypeVar("Result")


@contextmanager
def csv_rows(session: Session, paths: Sequence[Path], how: CsvFormat, directory: Path | None = None) -> Iterator[Rows]:
    """The rows of CSV files with equal columns, with stated or found types; to be read while the block runs.

    A copy in UTF-8, if one is needed, lies in the directory, or else in the system's temporary directory.

    Raises:
        InvalidError: it cannot be read in the stated format, or more lines than allowed are rejected.
    """
    _check_format(how)
    with ExitStack() as opened:
        readable = {
            opened.enter_context(unpacked(path, how.encoding, directory, session.control)): path.name for path in paths
        }
        yield _rows(session, readable, how)


def _rows(session: Session, files: Mapping[Path, str], how: CsvFormat) -> Rows:
    """The rows of files, each with its name."""
    names, *others = [csv_columns(path, how) for path in files]
    check_equal_columns([names, *others], list(files.values()))
    scales = _check_stated_types(how.types, names)
    types = dict.fromkeys(names, "VARCHAR")
    untold = [name for name in names if name not in how.types] if not how.all_text else []
    if untold or scales:
        rows, rejected = _scan(files, how, types)
        if scales:
            _readable(lambda: check_digits(session, rows, scales, how))
        if untold:
            types |= _readable(lambda: found_types(session, rows, untold, how))
        rejected(session)
    types |= how.types
    rows, rejected = _scan(files, how, types)
    query = exp.select("*").from_(rows)
    columns = _readable(lambda: check_types(session, query))
    return Rows(query, columns, rejected)


def _check_format(how: CsvFormat) -> None:
    faults = [
        Fault(field, shortened(character), "a single character")
        for field, character in (("delimiter", how.delimiter), ("quote", how.quote))
        if len(character) > 1 or character in ("\r", "\n", "\0")
    ]
    faults += [
        Fault(field, shortened(wanted), expected, "Such as %d.%m.%Y: %Y or %y, %m, %d, and for timestamps %H, %M, %S.")
        for field, wanted, sample, expected in (
            ("date_format", how.date_format, "2001-02-03 00:00", "a format of dates, of which nothing gets lost"),
            ("timestamp_format", how.timestamp_format, "2001-02-03 16:05", "a format of times without a zone"),
        )
        if wanted and not _keeps(wanted, sample)
    ]
    if how.max_rejected < 0:
        faults.append(Fault("max_rejected", str(how.max_rejected), "0 or more"))
    if faults:
        raise InvalidError.about("CSV_FORMAT", "the CSV format is invalid", faults)


def _keeps(wanted: str, sample: str) -> bool:
    """Whether a format writes a time so that it can be read again, and has no more than such a time has."""
    if "%z" in wanted.lower():
        return False
    with duckdb.connect() as connection:
        try:
            query = (
                "SELECT try_strptime(strftime(t, $2), $2) = t AND (hour(t) > 0 OR strftime(t, $2) = "
                "strftime(t + INTERVAL '16:05:06.789', $2)) FROM (SELECT $1::TIMESTAMP AS t)"
            )
            (found,) = connection.execute(query, [sample, wanted]).fetchall()
        except duckdb.Error:
            return False
    return bool(found[0])


def _scan(
    files: Mapping[Path, str], how: CsvFormat, types: Mapping[str, str]
) -> tuple[exp.Expr, Callable[[Session], tuple[RejectedLine, ...]]]:
    """The files in a FROM clause, and a function that lists their rejected lines after they were read."""
    # A table of its own, because one session may read the files again.
    table = f"tableveil_rejected_{next(_numbers)}"
    most = min(max((how.max_rejected + 1) * len(types), MOST_LINES_LISTED), 2**62)
    options: dict[str, exp.Expr] = {
        # The keys' order is the columns'.
        "columns": exp.Struct(
            expressions=[exp.PropertyEQ(this=text(name), expression=text(type_)) for name, type_ in types.items()]
        ),
        "auto_detect": exp.false(),
        "header": exp.convert(how.header),
        "delim": text(how.delimiter or DEFAULT_DELIMITER),
        "quote": text(how.quote or DEFAULT_QUOTE),
        "escape": text(how.quote or DEFAULT_QUOTE),
        "nullstr": text(how.null_text),
        "allow_quoted_nulls": exp.convert(how.quoted_nulls),
        "strict_mode": exp.true(),
        "decimal_separator": text("," if how.decimal_comma else "."),
        "hive_partitioning": exp.false(),
        "store_rejects": exp.true(),
        "rejects_table": text(table),
        "rejects_scan": text(f"{table}_scans"),
        "rejects_limit": number(most),
    }
    if how.date_format:
        options["dateformat"] = text(how.date_format)
    if how.timestamp_format:
        options["timestampformat"] = text(how.timestamp_format)
    arguments = [exp.EQ(this=exp.to_identifier(name), expression=value) for name, value in options.items()]
    rows = exp.ReadCSV(this=exp.Array(expressions=[text(pattern(path)) for path in files]), expressions=arguments)

    def rejected(session: Session) -> tuple[RejectedLine, ...]:
        found = _rejected(session, table, types, files)
        for name in (table, f"{table}_scans"):
            session.execute(f"DROP TABLE {name}")
        _check_rejected(found, how.max_rejected)
        return tuple(line for line, _ in found)

    return rows, rejected


def _rejected(
    session: Session, table: str, types: Mapping[str, str], files: Mapping[Path, str]
) -> list[tuple[RejectedLine, str]]:
    """One entry per line, with the kind of its first fault."""
    rows = session.rows(
        "SELECT DISTINCT ON (file_id, line) line, coalesce(column_name, ''), error_type::VARCHAR, file_path "
        f"FROM {table} JOIN {table}_scans USING (scan_id, file_id) ORDER BY file_id, line, column_name"
    )
    found = []
    for line, column, kind, path in rows:
        reason = _REASONS.get(kind, kind.lower())
        if kind == "CAST":
            reason = f"a value that is no {types[column]}"
        file = files.get(Path(path), "") if len(files) > 1 else ""
        found.append((RejectedLine(line, column, reason, file), kind))
    return found


def _check_rejected(found: Sequence[tuple[RejectedLine, str]], most: int) -> None:
    broken = [line for line, kind in found if kind == _NEVER_LEFT_OUT]
    if len(found) <= most and not broken:
        return
    listed = broken or [line for line, _ in found]
    faults = [
        Fault(
            (f"{shortened(line.file)}, " if line.file else "")
            + f"line {line.line}"
            + (f", column {shortened(line.column)}" if line.column else ""),
            line.reason,
            "a line with one value of its type for every column",
            _hint(line.reason, most),
        )
        for line in listed[:MOST_LINES_LISTED]
    ]
    raise InvalidError.about("CSV_LINES_REJECTED", "some lines cannot be loaded, and nothing was", faults)


def _hint(reason: str, most: int) -> str:
    if reason == _REASONS[_NEVER_LEFT_OUT]:
        return "Correct the line; how many it swallowed cannot be told."
    if reason.startswith(("a value that is no DATE", "a value that is no TIMESTAMP")):
        return (
            "Correct it, say how dates are written (--date-format %d.%m.%Y, --timestamp-format), load the column as "
            "text (--type COLUMN=VARCHAR), or leave lines out (--max-rejected)."
        )
    if reason.startswith("a value"):
        return "Correct it, load the column as text (--type COLUMN=VARCHAR), or leave lines out (--max-rejected)."
    return f"Correct it, or leave such lines out (--max-rejected, now {most})."


def _check_stated_types(types: Mapping[str, str], names: Sequence[str]) -> dict[str, int]:
    """Digits behind the point that stated whole numbers and decimals hold, by column."""
    hint = Nearest(names)
    faults = [
        Fault("types", shortened(name), "a column of the file", hint(name)) for name in types if name not in names
    ]
    scales = {}
    # A database of its own, so that a user's type does not exist here: the file may be read on another machine.
    with duckdb.connect() as connection:
        for name, type_ in types.items():
            try:
                known = str(connection.sqltype(type_))
            except duckdb.Error:
                known = ""
            if exact := re.fullmatch(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DECIMAL\(\d+,(\d+)\)", known):
                scales[name] = int(exact[1] or 0)
            # A collation would be lost.
            if not known or "collate" in type_.casefold():
                found = f"{shortened(type_)} for column {shortened(name)}"
                faults.append(Fault("types", found, "a type of DuckDB, such as BIGINT, DECIMAL(10, 2) or VARCHAR"))
    if faults:
        raise InvalidError.about("CSV_TYPES", "some types cannot be given to columns of the file", faults)
    return scales


def _readable(read: Callable[[], Result]) -> Result:
    """Returns the result of `read`; a database error about a file may hold values, and is replaced."""
    try:
        return read()
    except InternalError as error:
        if error.code != "DATABASE_ERROR":
            raise
        raise InvalidError.of(
            "CSV_UNREADABLE",
            "file",
            "one that the database cannot read as CSV",
            "lines that all end alike, types that there are, and quotes in pairs",
        ) from None
