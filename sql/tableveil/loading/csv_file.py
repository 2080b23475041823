"""CSV files as rows to be loaded: every line is read, or rejected by its number."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb
from sqlglot import exp

from tableveil.backend import Session, alias, column, expression, number, text
from tableveil.errors import Fault, InternalError, InvalidError, NearestNames, shortened
from tableveil.loading.columns import MOST_COLUMNS, check_equal_columns, check_types
from tableveil.loading.csv_centuries import check_leap_days, check_pivots, in_century, leap_years, short_years
from tableveil.loading.csv_converted import as_stored, check_fit, check_options, is_converted
from tableveil.loading.csv_header import DEFAULT_DELIMITER, DEFAULT_QUOTE, csv_columns, is_unnamed
from tableveil.loading.csv_lines import check_longest_line, ends_whole
from tableveil.loading.csv_rejected import MOST_REJECTED, Rejected, check_rejected, rejected_lines
from tableveil.loading.csv_types import check_digits, found_types
from tableveil.loading.model import CsvFormat, LoadRows, RejectedLine
from tableveil.loading.paths import pattern
from tableveil.loading.unpacked import unpacked

_numbers = itertools.count()

Result = TypeVar("Result")


@contextmanager
def csv_rows(
    session: Session,
    paths: Sequence[Path],
    how: CsvFormat,
    directory: Path | None = None,
    most_columns: int = MOST_COLUMNS,
    examples: bool = False,
) -> Iterator[LoadRows]:
    """The rows of CSV files with equal columns, with stated or found types; to be read while the block runs.

    A copy in UTF-8, if one is needed, lies in the directory, or else in the system's temporary directory. Errors show
    `examples` of values that do not fit: for the caller's own file only.

    Raises:
        InvalidError: it cannot be read in the stated format, or more lines than allowed are rejected.
    """
    _check_format(how)
    with ExitStack() as opened:
        readable = {
            opened.enter_context(unpacked(path, how.encoding, directory, session.control)): path.name for path in paths
        }
        for file, name in readable.items():
            check_longest_line(file, name if len(readable) > 1 else "", session.control)
        yield _rows(session, readable, how, most_columns, examples)


def _rows(session: Session, files: Mapping[Path, str], how: CsvFormat, most_columns: int, examples: bool) -> LoadRows:
    """The rows of files, each with its name."""
    notes = _unended(files, how)
    every, *others = [csv_columns(path, how, most_columns) for path in files]
    check_equal_columns([every, *others], list(files.values()))
    names = [name for name in every if not is_unnamed(name)]
    unnamed = [name for name in every if is_unnamed(name)]
    scales = _check_stated_types(how.types, names)
    check_pivots(how, names)
    check_options(how, names)
    usual = "VARCHAR" if how.all_text else ""
    # Where all is text, nothing is read before the load, and no line is known to be rejected.
    typed = [name for name in names if how.types.get(name, usual).upper() != "VARCHAR"]
    converts = any(is_converted(how, name) for name in typed)
    types = dict.fromkeys(every, "VARCHAR")
    untold = [name for name in names if name not in how.types] if not how.all_text else []
    is_broken = False
    if untold or scales or unnamed or converts:
        rows, rejected = scan(files, how, types)
        if unnamed:
            _readable(lambda: _check_empty(session, rows, unnamed))
        if scales:
            _readable(lambda: check_digits(session, rows, scales, how))
        if untold:
            found = _readable(lambda: found_types(session, rows, untold, how))
            types |= {name: one.type_ for name, one in found.items()}
        _readable(lambda: check_fit(session, rows, how, {**types, **how.types}, files))
        broken = rejected(session)
        is_broken = len(broken) > how.max_rejected
        if any(line.swallows for line in broken):
            check_rejected(broken, how, examples)
    types |= how.types
    if leaping := leap_years(how, types):
        texts, rejected = scan(files, how, dict.fromkeys(every, "VARCHAR"))
        _readable(lambda: check_leap_days(session, texts, how, leaping))
        rejected(session)
    as_read = {name: "VARCHAR" if is_converted(how, name) else type_ for name, type_ in types.items()}
    rows, rejected = scan(files, how, as_read)
    query = _as_stored(how, types).from_(rows)
    columns = _readable(lambda: check_types(session, query))

    def left_out(session: Session) -> tuple[RejectedLine, ...]:
        lines = rejected(session)
        check_rejected(lines, how, examples)
        return tuple(one.line for one in lines)

    if is_broken:
        # One error names the broken lines and the values that do not fit their type.
        session.rows(f"SELECT count(COLUMNS(*)) FROM {rows.sql('duckdb')}")
        left_out(session)
    return LoadRows(query, columns, left_out, notes=notes)


def _unended(files: Mapping[Path, str], how: CsvFormat) -> tuple[str, ...]:
    """Sentences about files whose last line has no end, which may be refused: it may be that of a cut file."""
    cut = [name for path, name in files.items() if not ends_whole(path)]
    if cut and how.whole_last_line:
        hint = "It may be cut off: get all of it, or load it without --whole-last-line."
        faults = [Fault(shortened(name), "a last line without a line end", "a line end", hint) for name in cut]
        raise InvalidError.about("CSV_CUT", "a file may be cut off, and nothing was loaded", faults)
    of = {name: f" of {shortened(name)}" if len(files) > 1 else "" for name in cut}
    option = "--whole-last-line refuses such files."
    return tuple(f"The last line{of[name]} has no line end: its last value may be cut. {option}" for name in cut)


def _check_empty(session: Session, rows: exp.Expr, unnamed: Sequence[str]) -> None:
    counts = [alias(expression("count(nullif(trim($value), ''))", value=column(name)), name) for name in unnamed]
    found = session.row(exp.select(*counts).from_(rows))
    faults = [
        Fault(f"column {name.rpartition('_')[2]}", f"no name, but {count:,} values", "neither, or a name (--rename)")
        for name, count in zip(unnamed, found, strict=True)
        if count
    ]
    if faults:
        raise InvalidError.about("COLUMNS_INVALID", "the columns cannot be loaded", faults)


def _as_stored(how: CsvFormat, types: Mapping[str, str]) -> exp.Select:
    """A SELECT of the columns that the database reads, as they are stored."""
    stored: dict[str, exp.Expr] = {name: column(name) for name in types if not is_unnamed(name)}
    stored |= {name: as_stored(how, name, types[name]) for name in stored if is_converted(how, name)}
    for name, _ in short_years(how, types):
        stored[name] = in_century(stored[name], types[name], how.century_pivots[name])
    if len(stored) == len(types) and all(isinstance(value, exp.Column) for value in stored.values()):
        return exp.select("*")
    return exp.select(*(alias(value, name) for name, value in stored.items()))


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
    faults += [
        Fault(field, str(value), f"{least} or more")
        for field, value, least in (
            ("max_rejected", how.max_rejected, 0),
            ("skip_lines", how.skip_lines, 0),
            ("header_lines", how.header_lines, 1),
        )
        if value < least
    ]
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
            (count,) = connection.execute(query, [sample, wanted]).fetchall()
        except duckdb.Error:
            return False
    return bool(count[0])


def scan(
    files: Mapping[Path, str], how: CsvFormat, types: Mapping[str, str]
) -> tuple[exp.Expr, Callable[[Session], list[Rejected]]]:
    """The files in a FROM clause, and a function that lists their rejected lines once, after they were read."""
    # A table of its own, because one session may read the files again.
    table = f"tableveil_rejected_{next(_numbers)}"
    most = min(max((how.max_rejected + 1) * len(types), MOST_REJECTED), 2**62)
    options: dict[str, exp.Expr] = {
        # The keys' order is the columns'.
        "columns": exp.Struct(
            expressions=[exp.PropertyEQ(this=text(name), expression=text(type_)) for name, type_ in types.items()]
        ),
        "auto_detect": exp.false(),
        "header": exp.convert(how.header and how.header_lines == 1),
        "skip": number(how.skip_lines + (how.header_lines if how.header and how.header_lines > 1 else 0)),
        "delim": text(how.delimiter or DEFAULT_DELIMITER),
        "quote": text(how.quote or DEFAULT_QUOTE),
        "escape": text(how.quote or DEFAULT_QUOTE),
        "nullstr": exp.Array(expressions=[text(one) for one in how.null_texts]),
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

    def rejected(session: Session) -> list[Rejected]:
        lines = rejected_lines(session, table, types, files, how)
        for name in (table, f"{table}_scans"):
            session.execute(f"DROP TABLE {name}")
        return lines

    return rows, rejected


def _check_stated_types(types: Mapping[str, str], names: Sequence[str]) -> dict[str, int]:
    """Digits behind the point that stated whole numbers and decimals hold, by column."""
    hint = NearestNames(names)
    faults = [
        Fault("types", shortened(name), "a column of the file", hint(name)) for name in types if name not in names
    ]
    scales = {}
    # A database of its own, so that a user's type does not exist here: the file may be read on another machine.
    with duckdb.connect() as connection:
        for name, type_ in types.items():
            try:
                duckdb_type = str(connection.sqltype(type_))
            except duckdb.Error:
                duckdb_type = ""
            if exact := re.fullmatch(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DECIMAL\(\d+,(\d+)\)", duckdb_type):
                scales[name] = int(exact[1] or 0)
            # A collation would be lost.
            if not duckdb_type or "collate" in type_.casefold():
                actual = f"{shortened(type_)} for column {shortened(name)}"
                faults.append(Fault("types", actual, "a type of DuckDB, such as BIGINT, DECIMAL(10, 2) or VARCHAR"))
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
