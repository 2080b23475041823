"""A guess of how a CSV file is written, by its first bytes and by all of its values."""

import datetime
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sqlglot import exp

from tableveil.backend import Session, column, text
from tableveil.drafting import Meaning, meaning_of
from tableveil.errors import InternalError
from tableveil.loading.columns import MOST_COLUMNS
from tableveil.loading.csv_centuries import fitting_two, guessed_pivot
from tableveil.loading.csv_converted import BLANKS, as_stored, plain
from tableveil.loading.csv_encoding import encoding_of
from tableveil.loading.csv_file import scan
from tableveil.loading.csv_header import csv_columns, csv_width, first_rows, is_unnamed, title_lines
from tableveil.loading.csv_lines import check_longest_line
from tableveil.loading.csv_types import found_types
from tableveil.loading.model import CsvFormat
from tableveil.loading.unpacked import unpacked
from tableveil.source.doubtful import NO_DAYS
from tableveil.source.no_records import no_records

_DELIMITERS = ",;\t|"
_ROWS_SHOWN = 25
_LINES_COMPARED = 20
"""Rows of the file: five are shown, beside what is stored, and some may be left out."""

_SIGNS = ("-", "--", "---", ".", "..", "?")
_WORDS = ("n/a", "#n/a", "<na>", "null", "(null)", "\\n", "nil", "nan", "k.a.", "k. a.", "s/d", "s.d.", "n.d.")
_WORDS_BESIDE_NUMBERS = ("na", "nd", "none", "keine angabe", *NO_DAYS)

_NOTHING = frozenset(_SIGNS + _WORDS)
"""Spellings of nothing in any column, whatever their case and the spaces around them."""

_NO_COLUMNS_NUMBERS = frozenset(_WORDS_BESIDE_NUMBERS)
"""Spellings of nothing in a column of numbers or dates only: NA is Namibia, too, and None a name."""

_MISTAKES = 0.01
"""The share of values that may be mistakes: the load names their lines. More, such as `<0.5`, mean something."""

_COMMA = r"[+-]?[0-9]+,[0-9]+"
_POINT = r"[+-]?[0-9]*\.[0-9]+"
_WHOLE = r"[+-]?[0-9]+"

_MARKS = (",", ".", " ", "\u00a0", "\u202f", "'", "\u2019")
"""The signs that may stand between groups of three digits."""

_GROUPED = {
    f"grouped{mark}{decimal}": rf"[+-]?[0-9]{{1,3}}({re.escape(mark)}[0-9]{{3}})+{re.escape(decimal)}[0-9]+"
    for mark in _MARKS
    for decimal in ".,"
    if mark != decimal
}
_GROUPS = {
    f"groups{mark}": rf"[+-]?[0-9]{{1,3}}({re.escape(mark)}[0-9]{{3}}){{{2 if mark in ',.' else 1},}}"
    for mark in _MARKS
}
_NUMBER_KINDS = {
    **_GROUPED,
    **_GROUPS,
    # Nobody can tell of these alone whether they are thousands.
    "comma3": r"[+-]?[1-9][0-9]{0,2},[0-9]{3}",
    "point3": r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}",
    "comma": _COMMA,
    "point": _POINT,
    "whole": _WHOLE,
}

_SIGNED = r"(([$€£¥]|[A-Z]{3}) ?[+-]?[0-9][0-9.,' ]*|[+-]?[0-9][0-9.,' ]* ?([%$€£¥]|[A-Z]{3}))"
"""A number with the sign of a currency or of a share, which the database reads as text."""

_DATES: dict[str, tuple[str, ...]] = {
    "9.9.Y": ("%d.%m.%Y",),
    "9/9/Y": ("%d/%m/%Y", "%m/%d/%Y"),
    "9-9-Y": ("%d-%m-%Y", "%m-%d-%Y"),
    "Y/9/9": ("%Y/%m/%d",),
    "Y.9.9": ("%Y.%m.%d",),
    "9.9.9": ("%d.%m.%y", "%y.%m.%d"),
    "9/9/9": ("%d/%m/%y", "%m/%d/%y", "%y/%m/%d"),
    "9-9-9": ("%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
    **{
        f"9{mark}A{mark}{year}": tuple(f"%d{mark}%{month}{mark}%{directive}" for month in "bB")
        for mark in ("-", " ", "/", ".", "")
        for year, directive in (("Y", "Y"), ("9", "y"))
    },
    "9. A Y": ("%d. %b %Y", "%d. %B %Y"),
    "A 9, Y": ("%b %d, %Y", "%B %d, %Y"),
    "A 9 Y": ("%b %d %Y", "%B %d %Y"),
    "Y-9-9": ("",),
}
"""The formats of a date by its shape: Y is four digits, 9 is one or two, A a word. Nothing is ISO 8601."""

_TIMES = {
    **{"": "", " 9:9": " %H:%M", " 9:9:9": " %H:%M:%S", "T9:9:9": "T%H:%M:%S", "T9:9": "T%H:%M"},
    **{" 9:9 P": " %I:%M %p", " 9:9:9 P": " %I:%M:%S %p"},
}

_DAY, _MONTH = "(0[1-9]|[12][0-9]|3[01])", "(0[1-9]|1[0-2])"
_DIGITS: Mapping[str, tuple[str, int, tuple[str, ...]]] = {
    "YYYYMMDD": (f"(19|20)[0-9]{{2}}{_MONTH}{_DAY}", 3, ("%Y%m%d",)),
    "DDMMYYYY": (f"{_DAY}{_MONTH}(19|20)[0-9]{{2}}", 3, ("%d%m%Y",)),
    "YYMMDD": (f"[0-9]{{2}}{_MONTH}{_DAY}|{_DAY}{_MONTH}[0-9]{{2}}", 10, ("%d%m%y", "%y%m%d")),
}
"""Days of digits alone: from so many values, or one of births, that no other numbers are all like them."""

_MONTHS = (
    "^[^a-z]*(jan|jen|gen|ene|feb|fev|mar|mrz|mrt|maa|apr|avr|abr|mai|may|mag|maj|mei|maio|jun|jui|giu|jul|lug|aug|aou|ago|"
    "sep|set|oct|okt|out|ott|nov|dec|dez|dic)[a-z]*[^a-z]*$"
)
"""The first letters of months in seven languages; the database reads English ones alone."""

_SHAPES = {
    **{
        day + time: tuple(form and form + behind for form in forms)
        for day, forms in _DATES.items()
        for time, behind in _TIMES.items()
    },
    **{shape: forms for shape, (_, _, forms) in _DIGITS.items()},
}


@dataclass(frozen=True, slots=True)
class CsvGuess:
    """How a file seems to be written.

    `doubts` say what stays open or is left as text, in sentences without values. `first_rows` are raw, after their
    lines.
    """

    format: CsvFormat
    doubts: tuple[str, ...]
    columns: tuple[str, ...]
    first_rows: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class _Contents:
    """A column's values by kind (the shape of a date, or `comma`, `whole`, …), and its spellings of nothing.

    It is `led` if all values begin with a blank, `padded` if some have blanks around them, and `filled` if these make
    all equally long.
    """

    name: str
    kinds: Counter[str]
    nothing: Counter[str]
    led: bool = False
    padded: bool = False
    filled: bool = False

    def with_mark(self, decimal: str) -> int:
        """The values that show this mark before their decimals."""
        grouped = sum(self.kinds[kind] for kind in _GROUPED if kind.endswith(decimal))
        if grouped or any(self.kinds[kind] for kind in _GROUPED):
            return grouped
        return self.kinds["comma"] if decimal == "," else self.kinds["point"] + self.kinds["point3"]

    def mostly(self, kinds: Iterable[str]) -> bool:
        """Whether at least half of the values are of these kinds."""
        return 2 * sum(self.kinds[kind] for kind in kinds) >= self.kinds.total() > 0


def guess_csv(
    session: Session,
    path: Path,
    stated: CsvFormat,
    kept: Collection[str],
    most_columns: int = MOST_COLUMNS,
    today: datetime.date | None = None,
) -> CsvGuess:
    """The format of a file, where the fields `kept` of `stated` stay as they are.

    Numbers, dates and spellings of nothing are judged by all values; delimiter, quote and header by DuckDB's sniffer.
    The century of years of two digits depends on `today`.

    Raises:
        InvalidError: it cannot be read in any format.
    """
    how = stated
    if "encoding" not in kept:
        how = replace(how, encoding=encoding_of(path, session.control))
    with unpacked(path, how.encoding, None, session.control) as readable:
        check_longest_line(readable, "", session.control)
        how = _with_dialect(session, readable, how, kept, most_columns)
        said = []
        if how.skip_lines and not stated.skip_lines:
            lines = f"{how.skip_lines} lines stand" if how.skip_lines > 1 else "A line stands"
            said.append(f"{lines} before the names of the columns, and will be left out (--skip-lines).")
        how, contents = _with_named(session, readable, how, most_columns, said)
        places = [i for i, one in enumerate(contents) if not is_unnamed(one.name)]
        how, doubts = _with_values(session, readable, how, kept, contents)
        if not how.all_text:
            how, misfits = _with_misfits(session, readable, how, contents)
            doubts += misfits
        doubts = (*said, *doubts)
        if "century_pivots" not in kept:
            how, centuries = _with_centuries(session, readable, how, contents, today or datetime.date.today())
            doubts += tuple(centuries)
        doubts += tuple(_without_records(session, readable, how, contents))
        names = tuple(contents[i].name for i in places)
        rows = [
            (line, tuple(cells[i] if i < len(cells) else "" for i in places))
            for line, cells in first_rows(readable, how, _ROWS_SHOWN)
        ]
        return CsvGuess(how, doubts, names, tuple(rows))


def _with_dialect(session: Session, path: Path, how: CsvFormat, kept: Collection[str], most: int) -> CsvFormat:
    """The format with delimiter, quote and header."""
    if how.header and not {"header", "skip_lines"} & set(kept):
        how = _without_titles(path, how)
    first = csv_first_line(path, how.skip_lines)
    usual = max(_DELIMITERS, key=first.count)
    if first.count(how.delimiter or usual) >= most:
        # For 200,000 columns the sniffer takes 2 GB and a minute. Such a file is refused by its header.
        return replace(how, delimiter=how.delimiter or usual)
    options = {"delim": how.delimiter, "quote": how.quote}
    stated = "".join(f", {name} = {text(value).sql('duckdb')}" for name, value in options.items() if value)
    stated += f", skip = {how.skip_lines}" if how.skip_lines else ""
    query = (
        "SELECT delimiter, quote, hasheader FROM sniff_csv("
        f"{text(str(path)).sql('duckdb')}, ignore_errors = true{stated})"
    )
    try:
        delimiter, quote, has_header = session.row(query)
    except InternalError as error:
        if error.code != "DATABASE_ERROR":
            raise
        # The sniffer gives up on some broken lines. Whatever reads the file says what is wrong with it.
        delimiter, quote, has_header = usual, "", True
    if not how.delimiter and delimiter in _DELIMITERS:
        how = replace(how, delimiter=delimiter)
    if not how.quote and len(quote) == 1:
        how = replace(how, quote=quote)
    if "header" not in kept and not has_header:
        cells = re.split(re.escape(how.delimiter or ","), first)
        values = sum(bool(re.fullmatch(rf"{_WHOLE}|{_POINT}|{_COMMA}", cell.strip('"'))) for cell in cells)
        # Text over text has no header for the sniffer; names of columns are no numbers.
        how = replace(how, header=2 * values < len(cells))
    return how


def _without_titles(path: Path, how: CsvFormat) -> CsvFormat:
    """The format with the lines before the names, if there are some whatever the delimiter."""
    delimiters = [how.delimiter] if how.delimiter else (_even_delimiters(path) or _DELIMITERS)
    formats = [replace(how, delimiter=delimiter) for delimiter in delimiters]
    titles = [title_lines(path, form) for form in formats]
    found = [replace(form, skip_lines=lines) for form, lines in zip(formats, titles, strict=True) if lines]
    return min(found, key=lambda form: form.skip_lines) if found and 0 not in titles else how


def _even_delimiters(path: Path) -> list[str]:
    """The delimiters of which the first lines have equally many: a title as well, if a spreadsheet wrote it."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [line for line in file.read(1 << 16).splitlines()[:_LINES_COMPARED] if line]
    counts = {delimiter: {line.count(delimiter) for line in lines} for delimiter in _DELIMITERS}
    return [delimiter for delimiter, each in counts.items() if len(lines) > 1 and len(each) == 1 and 0 not in each]


def csv_first_line(path: Path, skipped: int = 0) -> str:
    """The beginning of the first line of a file in UTF-8 behind those that are skipped."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(islice(file.read(1 << 20).splitlines(), skipped, None), "")


def _with_named(
    session: Session, path: Path, how: CsvFormat, most: int, doubts: list[str]
) -> tuple[CsvFormat, list[_Contents]]:
    """The contents of all columns; those without a name must be empty."""
    every = csv_columns(path, replace(how, drop_unnamed=True), most)
    contents = _contents(session, path, replace(how, drop_unnamed=True), every)
    if any(is_unnamed(one.name) and (one.kinds or any(map(str.strip, one.nothing))) for one in contents):
        # It refuses what has no name.
        csv_columns(path, replace(how, drop_unnamed=False), most)
    unnamed = [str(i) for i, one in enumerate(contents, start=1) if is_unnamed(one.name)]
    dropped = bool(unnamed) or len(every) < csv_width(path, how)
    if dropped:
        which = f"Column {', '.join(unnamed)}" if unnamed else "The separator at the end of the header"
        doubts.append(f"Neither a name nor a value: {which} is left out (--drop-unnamed).")
    return replace(how, drop_unnamed=dropped or how.drop_unnamed), contents


def _contents(session: Session, path: Path, how: CsvFormat, names: Sequence[str]) -> list[_Contents]:
    """Counts all values by kind, in one pass over the file."""
    every = ", ".join(column(name).sql("duckdb") for name in names)
    nothing = ", ".join(text(spelling).sql("duckdb") for spelling in sorted(_NOTHING | _NO_COLUMNS_NUMBERS))
    blanks = text(BLANKS).sql("duckdb")
    trimmed = f"trim(value, {blanks})"
    shape = f"regexp_replace({trimmed}, '(?i)([0-9] )[ap]m$', '\\1P')"
    # Words first: the signs of digits are letters.
    for pattern, sign in (("\\p{L}{3,10}", "A"), ("[0-9]{4}", "Y"), ("[0-9]{1,2}", "9")):
        shape = f"regexp_replace({shape}, '{pattern}', '{sign}', 'g')"
    shapes = ", ".join(text(shape).sql("duckdb") for shape in _SHAPES)
    numbers = " ".join(
        f"WHEN regexp_full_match({trimmed}, {text(pattern).sql('duckdb')}) THEN {text(kind).sql('duckdb')}"
        for kind, pattern in ({kind: digits for kind, (digits, _, _) in _DIGITS.items()} | _NUMBER_KINDS).items()
    )
    kind = (
        f"CASE WHEN {trimmed} = '' OR lower({trimmed}) IN ({nothing}) THEN 'nothing' "
        f"{numbers} WHEN regexp_full_match({trimmed}, '[0-9]{{4}}-[0-9]{{2}}') THEN 'month' "
        f"WHEN regexp_full_match({trimmed}, {text(_SIGNED).sql('duckdb')}) THEN 'signed' "
        f"WHEN length(value) > 30 THEN 'text' WHEN {shape} IN ({shapes}) THEN {shape} "
        f"WHEN NOT regexp_matches(value, '[\\p{{L}}\\p{{N}}]') THEN 'sign' ELSE 'text' END"
    )
    counted = _all_text(
        session,
        path,
        how,
        names,
        "SELECT position, kind, CASE WHEN kind = 'nothing' THEN value END, count(*), "
        f"count_if(value <> '' AND NOT contains({blanks}, value[1])), count_if(value <> {trimmed}), "
        "min(length(value)), max(length(value)) FROM (SELECT position, value, "
        f"{kind} AS kind FROM (SELECT unnest(generate_series(0, {len(names) - 1})) AS position, "
        f"unnest([{every}]) AS value FROM rows_of_file) WHERE value IS NOT NULL) GROUP BY ALL",
    )
    contents = [_Contents(name, Counter(), Counter()) for name in names]
    unled, padded, lengths = Counter[int](), Counter[int](), [set[int]() for _ in names]
    for position, kind, spelling, count, begins, blanks_around, shortest, longest in counted:
        unled[position] += begins
        if kind == "nothing":
            contents[position].nothing[spelling] += count
            continue
        contents[position].kinds[kind] += count
        padded[position] += blanks_around
        lengths[position] |= {shortest, longest}
    for one in contents:
        for shape in _DIGITS.keys() & one.kinds.keys():
            seen, least = one.kinds[shape], 1 if meaning_of(one.name) is Meaning.BIRTH else _DIGITS[shape][1]
            if seen < least or one.kinds.total() - seen > _MISTAKES * seen:
                one.kinds["whole"] += one.kinds.pop(shape)
    return [
        replace(one, led=bool(one.kinds) and not unled[i], padded=bool(padded[i]), filled=len(lengths[i]) == 1)
        for i, one in enumerate(contents)
    ]


def _all_text(session: Session, path: Path, how: CsvFormat, names: Sequence[str], query: str) -> list[tuple[Any, ...]]:
    """The rows of a query over `rows_of_file`, whose columns are text; broken lines are left out."""
    source, rejected = scan({path: ""}, how, dict.fromkeys(names, "VARCHAR"))
    rows = session.rows(f"WITH rows_of_file AS (SELECT * FROM {source.sql('duckdb')}) {query}")
    rejected(session)
    return rows


def _with_values(
    session: Session, path: Path, how: CsvFormat, kept: Collection[str], contents: Sequence[_Contents]
) -> tuple[CsvFormat, tuple[str, ...]]:
    doubts: list[str] = []
    if "trimmed" not in kept:
        how = _with_trimmed(how, contents, doubts)
    if "decimal_comma" not in kept:
        how = _with_decimals(how, contents, doubts)
    if not how.all_text:
        how = _with_partial_dates(how, contents, doubts)
        doubts += _signed(how, contents)
    if "thousands" not in kept and not how.all_text:
        how = _with_thousands(how, contents, doubts)
    if "null_texts" not in kept:
        how = _with_nothing(how, contents, doubts)
    if "date_format" not in kept and "timestamp_format" not in kept and not how.all_text:
        how = _with_dates(session, path, how, contents, doubts)
    return how, tuple(doubts)


def _without_records(session: Session, path: Path, how: CsvFormat, contents: Sequence[_Contents]) -> Iterator[str]:
    """How many lines seem to be no records, before they are loaded as such."""
    rows, rejected = scan({path: ""}, how, dict.fromkeys((one.name for one in contents), "VARCHAR"))
    columns = {one.name: plain(how, one.name) for one in contents}
    numbers = {one.name: as_stored(how, one.name, "DOUBLE") for one in contents if one.mostly(_NUMBER_KINDS)}
    lines = sum(found.rows for found in no_records(session, rows, columns, numbers))
    rejected(session)
    if lines:
        which = "A line seems" if lines == 1 else f"{lines:,} lines seem"
        yield (
            f"{which} to be totals of the others, a note or empty, and would count as people: delete such lines, or "
            "take the query without them that a proposal writes."
        )


def _with_decimals(how: CsvFormat, contents: Sequence[_Contents], doubts: list[str]) -> CsvFormat:
    """Numbers have a comma where more columns show it than a point."""
    numeric = [one for one in contents if one.mostly(_NUMBER_KINDS)]
    commas = [one.name for one in numeric if one.with_mark(",") > one.with_mark(".")]
    points = [one.name for one in numeric if one.with_mark(".") > one.with_mark(",")]
    comma = len(commas) > len(points)
    if commas and points:
        doubts.append(
            f"Numbers are written with a comma in {_named(commas)}, and with a point in {_named(points)}: "
            f"{_named(points if comma else commas)} would be text."
        )
    return replace(how, decimal_comma=comma)


def _with_thousands(how: CsvFormat, contents: Sequence[_Contents], doubts: list[str]) -> CsvFormat:
    """Digits stand in groups where a value of the column has both marks; of others alone nobody can tell."""
    decimal, thousands = ("," if how.decimal_comma else "."), dict(how.thousands)
    for one in contents:
        if not one.mostly(_NUMBER_KINDS) or one.name in how.types:
            continue
        marks = Counter({mark: one.kinds[f"grouped{mark}{decimal}"] for mark in _MARKS if mark != decimal})
        mark, times = marks.most_common(1)[0]
        grouped = [mark for mark in _MARKS if one.kinds[f"groups{mark}"]]
        if times:
            thousands[one.name] = mark
        elif grouped:
            doubts.append(
                f"Digits stand in groups of three in {_named([one.name])}, which may stay text: --thousands "
                f"{shlex.quote(f'{one.name}={grouped[0]}')} makes numbers of them."
            )
        else:
            doubts += _factor(one, how)
    return replace(how, thousands=thousands)


def _signed(how: CsvFormat, contents: Sequence[_Contents]) -> Iterator[str]:
    """A sentence on columns that would be numbers without their signs, with the expression that makes them so."""
    names = [one.name for one in contents if one.mostly(("signed",)) and one.name not in how.types]
    if names:
        plain = (
            f"regexp_replace({column(names[0]).sql('duckdb')}, '[^-0-9{',' if how.decimal_comma else '.'}]', '', 'g')"
        )
        plain = f"replace({plain}, ',', '.')" if how.decimal_comma else plain
        yield (
            f"A sign such as € or % stands beside the numbers in {_named(names)}: it stays text. A SELECT for propose "
            f"--query makes numbers of it: CAST({plain} AS DECIMAL(18, 2))."
        )


def _factor(one: _Contents, how: CsvFormat) -> list[str]:
    """A sentence on a column of which each decimal may be a thousand times more."""
    open_ = [mark for mark, kind in ((",", "comma"), (".", "point")) if one.kinds[f"{kind}3"] and not one.kinds[kind]]
    if len(open_) != 1:
        return []
    (mark,) = open_
    word = "comma" if mark == "," else "point"
    read = "each is read as a decimal" if (mark == ",") == how.decimal_comma else "it stays text"
    return [
        f"Three digits follow each {word} in {_named([one.name])}: its numbers are ambiguous by a factor of 1,000: "
        f"{read}, unless they are thousands (--thousands {shlex.quote(f'{one.name}={mark}')})."
    ]


def _with_partial_dates(how: CsvFormat, contents: Sequence[_Contents], doubts: list[str]) -> CsvFormat:
    """Dates of which some lack the day, or the month as well, stay text."""
    partial = [
        one.name
        for one in contents
        if one.name not in how.types
        and one.kinds["Y-9-9"]
        and (one.kinds["month"] or one.kinds["whole"])
        and one.kinds["Y-9-9"] + one.kinds["month"] + one.kinds["whole"] == one.kinds.total()
    ]
    if partial:
        doubts.append(
            f"Dates without a day or month stand in {_named(partial)}: it stays text (--type), and a proposal groups "
            "it by month and year."
        )
    return replace(how, types={**how.types, **dict.fromkeys(partial, "VARCHAR")})


def _with_trimmed(how: CsvFormat, contents: Sequence[_Contents], doubts: list[str]) -> CsvFormat:
    """Columns have blanks from the writer of the file: before all values, around numbers, or up to one length."""
    led = [one.name for one in contents if one.led]
    if led:
        doubts.append(f"All values begin with a blank in {_named(led)}: blanks around them are left out (--trim).")
    measured = (*_NUMBER_KINDS, *_SHAPES)
    padded = [one.name for one in contents if one.padded and not one.led and (one.filled or one.mostly(measured))]
    if padded:
        doubts.append(f"Blanks fill up values in {_named(padded)}: blanks around them are left out (--trim).")
    return replace(how, trimmed=tuple(one.name for one in contents if one.name in {*led, *padded}))


def _with_nothing(how: CsvFormat, contents: Sequence[_Contents], doubts: list[str]) -> CsvFormat:
    """All spellings that stand for nothing in some column, and for nothing else in another one."""
    spellings: dict[str, None] = {"": None}
    for one in contents:
        measured = one.mostly((*_NUMBER_KINDS, *_SHAPES))
        zero = sum(times for spelling, times in one.nothing.items() if spelling.strip() in NO_DAYS)
        if zero and measured:
            share = zero / (one.kinds.total() + one.nothing.total())
            doubts.append(
                f"A day that is none stands for nothing in {100 * share:.3g} % of the values of {_named([one.name])}."
            )
        for written in one.nothing:
            spelling = written.strip(BLANKS) if one.name in how.trimmed else written
            plain = spelling.strip().lower()
            # Beside other signs, such as + and ++, a sign is a value.
            is_sign = not any(character.isalnum() for character in plain) and one.kinds["sign"]
            if plain and is_sign:
                doubts.append(f"Signs stand beside others in {_named([one.name])}: they are values there.")
            elif plain in _NOTHING or measured or not plain:
                spellings[spelling] = None
    # An empty text in quotes stands among the spellings.
    return replace(how, null_texts=tuple(spellings), quoted_nulls=any(one.nothing for one in contents))


def _with_dates(
    session: Session, path: Path, how: CsvFormat, contents: Sequence[_Contents], doubts: list[str]
) -> CsvFormat:
    """The format that fits the most columns of dates, and that of timestamps likewise."""
    shapes = {one.name: max(_SHAPES, key=lambda shape: one.kinds[shape]) for one in contents if one.mostly(_SHAPES)}
    if any(shape not in _DIGITS and ":" not in shape for shape in shapes.values()):
        digits = [name for name, shape in shapes.items() if shape in _DIGITS]
        shapes = {name: shape for name, shape in shapes.items() if name not in digits}
        if digits:
            doubts.append(
                f"Digits that are days stand in {_named(digits)}, and other dates are written in another way: they "
                "stay as they are."
            )
    fitting, foreign = _fitting_forms(session, path, how, contents, shapes)
    if foreign:
        doubts.append(f"Months have names in another language than English in {_named(foreign)}: it stays text.")
    texts = list(foreign)
    # One column that tells speaks for all that do not. Where decimals have commas, the day comes first.
    told = Counter(_order(forms[0]) for forms in fitting.values() if len({_order(form) for form in forms}) == 1)
    votes = told["mdy"] - told["dmy"]
    day_first = votes < 0 or (votes == 0 and (how.decimal_comma or how.delimiter == ";"))
    fits: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
    for name, forms in fitting.items():
        timed = ":" in shapes[name]
        by_order = {_order(form): form for form in reversed(forms)}
        if len(by_order) > 1 and not votes and (not day_first or "ymd" in by_order):
            option = "timestamp-format" if timed else "date-format"
            texts.append(name)
            doubts.append(
                f"Each date of {_named([name])} can be read with {_FIRST[_order(forms[0])]} or "
                f"{_FIRST[_order(forms[-1])]} first: it stays text unless you say which (--{option} "
                f"{' or '.join(repr(form) for form in forms)})."
            )
        else:
            form = by_order.get("dmy" if day_first else "mdy", forms[0])
            fits[timed].setdefault(form, []).append(name)
    date_format, timestamp_format = (max(columns, key=lambda form: len(columns[form]), default="") for columns in fits)
    others = [
        name
        for columns, best in zip(fits, (date_format, timestamp_format), strict=True)
        for form, names in columns.items()
        for name in names
        if form != best
    ]
    if others:
        doubts.append(f"Dates are written in another way in {_named(others)}: such columns stay text.")
    # The database would take 24 for a year by %Y, and other columns by a format of its own.
    types = {**dict.fromkeys([*texts, *others], "VARCHAR"), **how.types}
    return replace(how, date_format=date_format, timestamp_format=timestamp_format, types=types)


_FIRST = {"dmy": "the day", "mdy": "the month", "ymd": "the year"}


def _order(form: str) -> str:
    """The order of day, month and year in a format: `dmy`, or `dby` with a month's name."""
    return "".join(re.findall("%([dmby])", form.lower()))


def _fitting_forms(
    session: Session, path: Path, how: CsvFormat, contents: Sequence[_Contents], shapes: Mapping[str, str]
) -> tuple[dict[str, list[str]], list[str]]:
    """For each column of dates the formats that fit the most values, and those with foreign names of months.

    A year of two digits comes first only where nothing else fits, or hyphens stand as in 2024-12-31.
    """
    fitting = {name: list(_SHAPES[shape]) for name, shape in shapes.items()}
    open_ = [name for name, forms in fitting.items() if len(forms) > 1]
    if not open_:
        return fitting, []
    counts = []
    for name in open_:
        value = exp.Trim(this=column(name)).sql("duckdb")
        counts += [f"count(try_strptime({value}, {text(form).sql('duckdb')}))" for form in fitting[name]]
        counts.append(f"count_if(regexp_matches(strip_accents(lower({value})), '{_MONTHS}'))")
    row = iter(
        _all_text(session, path, how, [one.name for one in contents], f"SELECT {', '.join(counts)} FROM rows_of_file")[
            0
        ]
    )
    values = {one.name: one.kinds[shapes[one.name]] for one in contents if one.name in shapes}
    foreign = []
    for name in open_:
        found = {form: next(row) for form in fitting[name]}
        months, most = next(row), max(found.values())
        best = [form for form, count in found.items() if count == most]
        fitting[name] = [form for form in best if not form.startswith(("%y/", "%y."))] or best
        if 2 * most < values[name]:
            del fitting[name]
            foreign += [name] if 2 * months > values[name] else []
    return fitting, foreign


def _with_misfits(
    session: Session, path: Path, how: CsvFormat, contents: Sequence[_Contents]
) -> tuple[CsvFormat, tuple[str, ...]]:
    """The format where columns stay text that the load would refuse for more values than mistakes explain."""
    decimals = {"whole", "comma", "comma3"} if how.decimal_comma else {"whole", "point", "point3"}
    open_ = [one.name for one in contents if one.name not in how.types and not one.kinds.keys() <= decimals]
    open_ = [name for name in open_ if not is_unnamed(name)]
    if not open_:
        return how, ()
    source, rejected = scan({path: ""}, how, dict.fromkeys((one.name for one in contents), "VARCHAR"))
    found = found_types(session, source, open_, how)
    rejected(session)
    coded = {name: one for name, one in found.items() if one.misfits > max(1, _MISTAKES * one.values)}
    said = tuple(
        f"{one.misfits:,} of {one.values:,} values of {_named([name])} are no {one.type_}, as the others are: it stays "
        f"text (--type {shlex.quote(f'{name}=VARCHAR')})."
        for name, one in coded.items()
    )
    return replace(how, types={**how.types, **dict.fromkeys(coded, "VARCHAR")}), said


def _with_centuries(
    session: Session, path: Path, how: CsvFormat, contents: Sequence[_Contents], today: datetime.date
) -> tuple[CsvFormat, list[str]]:
    """The format with a pivot for each column whose years have two digits, and a sentence about each."""
    names = [one.name for one in contents if one.kinds and one.name not in how.century_pivots]
    formats = [form for form in (how.date_format, how.timestamp_format) if "%y" in form]
    asked = [
        (name, form)
        for name in names
        for form in formats
        if (how.types[name].upper() in ("DATE", "TIMESTAMP") if name in how.types else not how.all_text)
    ]
    if not asked:
        return how, []
    counts = []
    for name, form in asked:
        day = f"try_strptime({column(name).sql('duckdb')}, {text(form).sql('duckdb')})"
        later = f"{day}::DATE > DATE '{today}' AND year({day}) = {today.year}"
        counts += [f"count({column(name).sql('duckdb')})", f"histogram(year({day}))", f"count_if({later})"]
    every = [one.name for one in contents]
    (row,) = _all_text(session, path, how, every, f"SELECT {', '.join(counts)} FROM rows_of_file")
    pivots, said = dict(how.century_pivots), []
    for (name, _), values, years, later in zip(asked, row[::3], row[1::3], row[2::3], strict=True):
        if not years or 2 * sum(years.values()) < values:
            continue
        pivots[name] = guessed_pivot(years, later, meaning_of(name) is Meaning.BIRTH, today)
        open_ = fitting_two(years, pivots[name], later, today)
        fit = "fits" if open_ == 1 else "fit"
        unknown = f": {open_:,} of {values:,} values {fit} two centuries, and nobody can tell which" if open_ else ""
        said.append(
            f"Years of two digits in {_named([name])} are read as the hundred years up to {pivots[name]} "
            f"(--century-pivot {name}={pivots[name]}){unknown}."
        )
    return replace(how, century_pivots=pivots), said


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
