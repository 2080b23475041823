"""Types of a CSV file's columns, found by looking at all values.

A column gets the first type below that fits at least half of its values; values that do not fit are then rejected, line
by line, instead of making text of numbers in silence. Numbers that no type holds exactly, because they have leading
zeros or too many digits, are names of something: their column is text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import Session, alias, expression, number, sql, text, try_cast
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.loading.csv_converted import plain, pointed
from tableveil.loading.model import CsvFormat

# The kinds of values: a pattern for the whole value, and the type that it must fit as well.
_KINDS: tuple[tuple[str, str, str], ...] = (
    ("integer", r"[+-]?(0|[1-9][0-9]{0,17})", ""),
    ("code", r"[+-]?([0-9]+|0[0-9]+\.[0-9]*)", ""),
    ("decimal", r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+)", ""),
    ("exponent", r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+", "DOUBLE"),
    ("date", r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "DATE"),
    ("timestamp", r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?", "TIMESTAMP"),
    ("instant", r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]{5,15}(Z|[+-][0-9:]{2,5})", "TIMESTAMP WITH TIME ZONE"),
    ("time", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?", "TIME"),
    ("boolean", r"(?i:true|false)", ""),
)

_NUMBERS = ("integer", "decimal", "exponent")

# Types by the kinds of their values; the type of numbers depends on their digits.
_TYPES = (
    ("BIGINT", ("integer",)),
    ("number", _NUMBERS),
    ("DATE", ("date",)),
    ("TIMESTAMP", ("date", "timestamp")),
    ("TIMESTAMP WITH TIME ZONE", ("instant",)),
    ("TIME", ("time",)),
    ("BOOLEAN", ("boolean",)),
)

# A DOUBLE holds any number with so many digits exactly.
_ALWAYS_EXACT = 15


@dataclass(frozen=True, slots=True)
class _Found:
    """Values of one kind in a column: how many, their most digits before and behind the point, all exact as DOUBLE."""

    count: int
    whole: int
    fraction: int
    exact: bool


@dataclass(frozen=True, slots=True)
class FoundType:
    """The type of a column, and how many of its values that are not NULL do not fit it."""

    type_: str
    values: int
    misfits: int


def found_types(session: Session, rows: exp.Expr, names: Sequence[str], how: CsvFormat) -> Mapping[str, FoundType]:
    """The types of the columns `names` in a FROM clause that has all of them as text.

    Raises:
        InvalidError: some values have NUL bytes.
    """
    # Values are unpivoted into rows, so that one expression suffices for thousands of columns.
    listed = "(SELECT unnest(range($columns)) AS position, unnest([$values]) AS value FROM $rows) AS listed"
    if how.decimal_comma:
        listed = f"(SELECT position, {_WITH_POINT} AS value FROM {listed}) AS pointed"
    counted = sql(
        "SELECT position, kind, count(*), max(length(ltrim(split_part(value, '.', 1), '+-0'))), "
        f"max(length(split_part(value, '.', 2))), bool_and({_EXACT}) FROM "
        f"(SELECT position, value, $kind AS kind FROM {listed} WHERE value IS NOT NULL) AS known GROUP BY 1, 2",
        kind=_kind(how),
        columns=number(len(names)),
        values=[plain(how, name) for name in names],
        rows=rows,
    )
    kinds: list[dict[str, _Found]] = [{} for _ in names]
    for position, kind, *figures in session.rows(counted):
        kinds[position][kind] = _Found(*figures)
    _check_text(names, kinds)
    return {name: _found_type(of_column) for name, of_column in zip(names, kinds, strict=True)}


def check_digits(session: Session, rows: exp.Expr, scales: Mapping[str, int], how: CsvFormat) -> None:
    """Whether stated types hold all digits of the numbers in a FROM clause that has all columns as text.

    Raises:
        InvalidError: the database would round some to as many digits behind the point as `scales` says.
    """
    types = how.types
    counts = [
        alias(exp.CountIf(this=_is_rounded(pointed(how, name), types[name], scale)), f"c{i}")
        for i, (name, scale) in enumerate(scales.items())
    ]
    row = session.row(exp.select(*counts).from_(rows))
    faults = [
        Fault(
            "types",
            f"{shortened(types[name])} for column {shortened(name)}, which would round {count:,} of its values",
            "a type that holds all digits",
            "State a DECIMAL with more digits behind the point, or VARCHAR, or no type.",
        )
        for name, count in zip(scales, row, strict=True)
        if count
    ]
    if faults:
        raise InvalidError.about("CSV_ROUNDED", "some numbers would be rounded", faults)


def _is_rounded(value: exp.Expr, type_: str, scale: int) -> exp.Expr:
    """Whether a cast drops digits behind the point; values that cannot be cast are not rounded."""
    return expression(
        "$read IS NOT NULL AND CASE WHEN regexp_matches($value, '[eE]') THEN CAST($read AS DOUBLE) <> $double "
        "ELSE length(rtrim(split_part(trim($value), '.', 2), '0')) > $scale END",
        read=try_cast(value.copy(), type_),
        value=value,
        double=try_cast(value.copy(), "DOUBLE"),
        scale=number(scale),
    )


def _check_text(names: Sequence[str], kinds: Sequence[Mapping[str, _Found]]) -> None:
    faults = [
        Fault(shortened(name), f"{kind['nul'].count:,} values with a NUL byte", "text without", "Is --encoding right?")
        for name, kind in zip(names, kinds, strict=True)
        if "nul" in kind
    ]
    if faults:
        raise InvalidError.about("CSV_NUL", "some values cannot be text", faults)


_WITH_POINT = (
    "CASE WHEN regexp_full_match(value, '[+-]?[0-9]*[.,][0-9]*([eE][+-]?[0-9]+)?') THEN CASE "
    "WHEN contains(value, ',') THEN replace(value, ',', '.') ELSE replace(value, '.', ',') END ELSE value END"
)
"""A number with a comma has a point instead; one with a point has a comma, so that it is none."""

_SIGNIFICANT = "trim(regexp_replace(regexp_replace({}, '[eE].*', '', 'g'), '[^0-9]', '', 'g'), '0')"
"""The digits of a number, without its exponent and zeros at both ends."""

_EXACT = (
    "CASE WHEN NOT kind IN ('integer', 'decimal', 'exponent') THEN TRUE "
    f"WHEN kind IN ('integer', 'decimal') AND length(value) <= {_ALWAYS_EXACT} THEN TRUE "
    f"ELSE {_SIGNIFICANT.format('value')} = {_SIGNIFICANT.format('value::DOUBLE::VARCHAR')} END"
)
"""Whether a value that is a number comes back from a DOUBLE with the same digits."""


def _kind(how: CsvFormat) -> exp.Expr:
    """The kind of a value, as one of the names above, or else `text`, or `nul` if it has such a byte."""
    formats = {"date": text(how.date_format), "timestamp": text(how.timestamp_format)}
    # First of all: a format may make dates of digits alone.
    cases = {name: f"try_strptime(value, ${name}) IS NOT NULL" for name, wanted in formats.items() if wanted.name}
    for name, pattern, type_ in _KINDS:
        fits = f" AND TRY_CAST(value AS {type_}) IS NOT NULL" if type_ else ""
        cases.setdefault(name, f"regexp_full_match(value, '{pattern}'){fits}")
    # Texts that the database would accept as numbers although they are not written as such: with spaces or underscores.
    lax = "WHEN contains(value, chr(0)) THEN 'nul' WHEN isfinite(TRY_CAST(value AS DOUBLE)) THEN 'code' ELSE 'text'"
    return expression(
        f"CASE {' '.join(f'WHEN {case} THEN {name!r}' for name, case in cases.items())} {lax} END", **formats
    )


def _found_type(kinds: Mapping[str, _Found]) -> FoundType:
    total = sum(one.count for one in kinds.values())
    if not total or "code" in kinds:
        return FoundType("VARCHAR", total, 0)
    fitting = {type_: sum(kinds[kind].count for kind in of if kind in kinds) for type_, of in _TYPES}
    best = max(fitting, key=lambda type_: fitting[type_])
    if 2 * fitting[best] < total:
        return FoundType("VARCHAR", total, 0)
    type_ = best if best != "number" else _number_type([kinds[kind] for kind in _NUMBERS if kind in kinds], kinds)
    return FoundType(type_, total, 0 if type_ == "VARCHAR" else total - fitting[best])


def _number_type(numbers: Sequence[_Found], kinds: Mapping[str, _Found]) -> str:
    """A type that holds the numbers exactly."""
    scale = max(one.fraction for one in numbers)
    precision = max(one.whole for one in numbers) + scale
    if "exponent" not in kinds and precision <= 38:
        # With room for numbers to come, as BIGINT has for whole numbers.
        return f"DECIMAL({18 if precision <= 18 else 38},{scale})"
    return "DOUBLE" if all(one.exact for one in numbers) else "VARCHAR"
