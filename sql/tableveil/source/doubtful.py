"""Finds values that look wrong in a source's columns: how many records have one, and the expression that repairs it."""

import datetime
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import StrEnum
from functools import partial
from typing import Any

from sqlglot import exp

from tableveil.backend import (
    Session,
    alias,
    cast,
    column,
    conjunction,
    drop,
    expression,
    number,
    render,
    sql,
    table,
    text,
)
from tableveil.drafting import Meaning, meaning_of
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column, Source
from tableveil.source.no_records import NoRecords, no_records

Repair = Callable[..., exp.Expr]
"""An expression by the `value` that it repairs."""


class DoubtKind(StrEnum):
    """The reason why values look wrong."""

    SHORT_CODE = "SHORT_CODE"
    SPELLING = "SPELLING"
    SENTINEL = "SENTINEL"
    FAR_OUTSIDE = "FAR_OUTSIDE"
    FUTURE = "FUTURE"
    NO_RECORD = "NO_RECORD"


@dataclass(frozen=True, slots=True)
class DoubtfulValues:
    """Values of a column that look wrong: the records that have one, and the SQL expression in place of the column.

    For rows that are no records, it is the condition of all others.
    """

    column: str
    kind: DoubtKind
    records: int
    repair: str


@dataclass(frozen=True, slots=True)
class Doubts:
    """The findings in the order of the columns, and a SELECT that repairs all of them; empty without findings."""

    findings: tuple[DoubtfulValues, ...]
    repair_query: str


FEWEST_RECORDS = 100
"""Nobody can tell of fewer which are unlike the others."""

MOST_SPELLINGS = 50
"""The most values that a repair spells out."""

_USUAL = 0.75
_SHORTEST_CODE = 4
_FAR_NUMBERS, _FAR_DATES = 3, 1
"""So many spans between the outer hundredths, beyond these."""

_ALONE = 0.1
"""So far from the others, by their span, it stands for none as well."""

_OFTEN = 5
"""So many times as often as others, a date stands for none."""

_CENTURY = 100
_NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT)
_DATES = (ValueKind.DATE, ValueKind.TIMESTAMP)
NO_DAYS = (
    *("0000-00-00", "00.00.0000", "00/00/0000", "-001-11-30", "-0001-11-30"),
    *("9999-99-99", "99.99.9999", "99/99/9999"),
)
"""Days of no calendar, which stand for nothing."""

_UNKNOWN = (
    *("unknown", "unbekannt", "inconnu", "desconocido", "sconosciuto", "desconhecido", "onbekend"),
    *("n/a", "na", "n.a.", "k.a.", "k. a.", "o.a.", "keine angabe", "not known", "not available", "missing"),
    *("null", "nil", "nan", "-", "--", "?", "??", "???", ".", "xx", "xxx", "tbd", "#n/a"),
    *NO_DAYS,
)
_LARGE = tuple(10**digits - less for digits in range(2, 10) for less in (1, 2, 3))
_REPEATED = tuple(int(digit * digits) for digit in "78" for digits in range(2, 7))
_NEGATIVE = tuple(-number for number in (1, 6, 7, 8, 9, *_LARGE, *_REPEATED))
_SMALL_NEGATIVE, _SCALE, _OFTEN_NEGATIVE = (-2, -3, -4, -5), 100, 0.01
"""Beside values that are mostly beyond the scale, such as incomes, such numbers are codes if so many rows have one."""
_DIGITS_OF_NONE, _MOST_DIGITS = (7, 8, 9), 11
_TAIL = 0.1
"""Counts have fewer records of the greatest."""

_FEWEST_WORDS = 2
_FEWEST_CODES = 5
"""So many other codes of two letters make a country of NA."""

_DAYS = (
    *("1111-11-11", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01"),
    *("1970-01-01", "2099-12-31", "2999-12-31", "9999-01-01", "9999-12-31"),
)

_FORMATS = ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y%m%d")
_DAY = "left(trim(value), 10)"
_WRITTEN = f"try_strptime({_DAY}, {[*_FORMATS]})"
"""A day as text: days and months that change places are near each other."""

_VALUES = table("doubted_values", "", "temp")
_FOLDED = "lower(trim($value))"


def doubts(
    session: Session,
    source: Source,
    columns: Sequence[Column],
    all_columns: Sequence[str],
    today: datetime.date | None = None,
) -> Doubts:
    """Looks at the values of `columns`; the repairing SELECT has `all_columns`. Call it in a transaction."""
    found = _no_records(session, source)
    doubtful = [DoubtfulValues(one.column, DoubtKind.NO_RECORD, one.rows, render(one.others)) for one in found]
    repaired: dict[str, exp.Expr] = {}
    for each in columns:
        for kind, records, repair in _found(session, source, each, today or datetime.date.today()):
            doubtful.append(DoubtfulValues(each.name, kind, records, render(repair(value=column(each.name)))))
            repaired[each.name] = repair(value=repaired.get(each.name, column(each.name)))
    if not doubtful:
        return Doubts((), "")
    wanted = [alias(repaired[name], name) if name in repaired else column(name) for name in all_columns]
    rows = render(table(source.reference.table, source.reference.schema))
    if source.query is not None:
        rows = f'(\n{source.query.text}\n) AS "source"'
    condition = f" WHERE {render(conjunction(one.others for one in found))}" if found else ""
    return Doubts(tuple(doubtful), f"SELECT {', '.join(map(render, wanted))} FROM {rows}{condition}")


def _no_records(session: Session, source: Source) -> tuple[NoRecords, ...]:
    columns = {each.name: cast(column(each.name), "VARCHAR") for each in source.columns}
    numbers = {each.name: cast(column(each.name), "DOUBLE") for each in source.columns if each.kind in _NUMBERS}
    return no_records(session, source.table(), columns, numbers)


def largest_shares(session: Session, source: Source, names: Iterable[str]) -> dict[str, float]:
    """The share of the records that the most frequent value of each column has; NULL is a value like others."""
    query = (
        "SELECT max(records) / sum(records)::DOUBLE FROM (SELECT count(*) AS records FROM $rows GROUP BY $value) AS v"
    )
    return {name: float(session.value(sql(query, rows=source.table(), value=column(name)))) for name in names}


def _found(
    session: Session, source: Source, of: Column, today: datetime.date
) -> Iterator[tuple[DoubtKind, int, Repair]]:
    """The doubts about one column, the sentinels first: they are not far outside as well."""
    if of.kind not in (ValueKind.TEXT, *_NUMBERS, *_DATES):
        return
    value = cast(column(of.name), "VARCHAR") if of.kind is ValueKind.TEXT else column(of.name)
    counted = "SELECT $value AS value, count(*) AS records FROM $rows WHERE $of IS NOT NULL GROUP BY $value"
    session.stage(_VALUES.name, sql(counted, value=value, rows=source.table(), of=column(of.name)))
    records: int = session.value("SELECT coalesce(sum(records), 0)::BIGINT FROM temp.doubted_values")
    if records >= FEWEST_RECORDS:
        if of.kind is ValueKind.TEXT:
            yield from _texts(session, of)
        elif of.kind in _NUMBERS:
            yield from _numbers(session, of)
        else:
            yield from _dates(session, of, today)
        yield from _short_codes(session, of, records)
    session.execute(drop("TABLE", _VALUES))


def _short_codes(session: Session, of: Column, records: int) -> Iterator[tuple[DoubtKind, int, Repair]]:
    """Codes that seem to have lost leading zeros: nearly all others have more digits, and some of them begin with 0."""
    postal = meaning_of(of.name) is Meaning.POSTAL_CODE
    if of.kind is not ValueKind.TEXT and not (of.kind is ValueKind.INTEGER and postal):
        return
    lengths = session.rows(
        "SELECT length(value::VARCHAR), sum(records)::BIGINT, bool_or(starts_with(value::VARCHAR, '0')) "
        "FROM temp.doubted_values WHERE regexp_full_match(value::VARCHAR, '[0-9]+') GROUP BY ALL"
    )
    if not lengths:
        return
    usual, often, zeros = max(lengths, key=lambda row: row[1])
    short = sum(count for length, count, _ in lengths if length < usual)
    longer = any(length > usual for length, _, _ in lengths)
    if short and not longer and often >= _USUAL * records and usual >= _SHORTEST_CODE and (zeros or postal):
        code = "$value" if of.kind is ValueKind.TEXT else "$value::VARCHAR"
        filled = f"CASE WHEN regexp_matches({code}, $digits) THEN lpad({code}, $usual, '0') ELSE {code} END"
        digits = text(f"^[0-9]{{1,{usual - 1}}}$")
        yield DoubtKind.SHORT_CODE, short, partial(expression, filled, digits=digits, usual=number(usual))


def _texts(session: Session, of: Column) -> Iterator[tuple[DoubtKind, int, Repair]]:
    """Words and codes for nothing, and spellings that differ by case or spaces."""
    words_for_none = [word for word in _UNKNOWN if word != "na" or not _may_be_code(session, of)]
    unknown = session.rows(
        "SELECT lower(trim(value)), sum(records)::BIGINT FROM temp.doubted_values "
        "WHERE list_contains(?::VARCHAR[], lower(trim(value))) GROUP BY ALL ORDER BY ALL",
        [words_for_none],
    )
    unknown += [(lower, count) for lower, _, count in _codes_of_none(session, "try_cast(value AS DOUBLE)")]
    days = [datetime.date.fromisoformat(day).strftime(form) for day in _DAYS for form in _FORMATS]
    of_dates = f"SELECT 2 * count({_WRITTEN}) > count(*) FROM temp.doubted_values"
    if session.value(f"SELECT bool_or({_DAY} IN (SELECT unnest(?::VARCHAR[]))) FROM temp.doubted_values", [days]) and (
        session.value(of_dates)
    ):
        unknown += [(lower, count) for _, lower, count in _days_of_none(session, _WRITTEN, "lower(trim(value))")]
    if unknown:
        words = [text(word) for word, _ in unknown]
        without = partial(expression, f"CASE WHEN {_FOLDED} IN ($words) THEN NULL ELSE $value END", words=words)
        yield DoubtKind.SENTINEL, sum(count for _, count in unknown), without
    spelled = session.rows(
        "SELECT lower(trim(value)) AS folded, arg_max(trim(value), (records, value)), "
        "(sum(records) - max(records))::BIGINT FROM temp.doubted_values "
        "WHERE NOT list_contains(?::VARCHAR[], lower(trim(value))) GROUP BY folded HAVING count(*) > 1 ORDER BY folded",
        [words_for_none],
    )
    if spelled:
        same = partial(expression, _FOLDED)
        if len(spelled) <= MOST_SPELLINGS:
            cases = " ".join(f"WHEN $folded{i} THEN $usual{i}" for i in range(len(spelled)))
            words_by_name = {f"folded{i}": text(folded) for i, (folded, *_) in enumerate(spelled)}
            words_by_name |= {f"usual{i}": text(usual) for i, (_, usual, _) in enumerate(spelled)}
            same = partial(expression, f"CASE {_FOLDED} {cases} ELSE $value END", **words_by_name)
        yield DoubtKind.SPELLING, sum(count for *_, count in spelled), same


def _numbers(session: Session, of: Column) -> Iterator[tuple[DoubtKind, int, Repair]]:
    """Codes for nothing beyond the others, such as 97 to 99 and -9, and all others far outside."""
    finite = "isfinite(value::DOUBLE)"
    found = _codes_of_none(session, "value::DOUBLE")
    gone = [int(number) for _, number, _ in found]
    if gone:
        yield DoubtKind.SENTINEL, sum(records for *_, records in found), _nullified(map(_number, gone))
    yield from _far_outside(session, of, "value::DOUBLE", finite, gone, _FAR_NUMBERS)


def _codes_of_none(session: Session, value: str) -> list[tuple[str, float, int]]:
    """Numbers that stand for nothing, as they are written, and their records.

    They are farther from all other numbers than these are from each other, or at some distance and far more frequent,
    or the only numbers among several words. Single digits need few others, which are no counts.
    """
    codes = [*_LARGE, *_REPEATED, *_NEGATIVE]
    listed = session.rows(
        f"SELECT {value}, sum(records)::BIGINT, (SELECT CASE WHEN 2 * sum(records) FILTER (WHERE {value} > {_SCALE}) "
        "> sum(records) THEN sum(records) END::BIGINT FROM temp.doubted_values) FROM temp.doubted_values "
        f"WHERE NOT coalesce(list_contains(?::DOUBLE[], {value}), false) GROUP BY 1 ORDER BY 1 LIMIT {_MOST_DIGITS}",
        [codes],
    )
    small = [(number, records) for number, records, _ in listed]
    digits = _digits_of_none(small)
    codes += digits
    codes += [
        number
        for number, records, of_large in listed
        if number in _SMALL_NEGATIVE and of_large and records > _OFTEN_NEGATIVE * of_large
    ]
    coded = f"list_contains(?::DOUBLE[], {value})"
    least, greatest, often, words = session.row(
        f"SELECT min({value}), max({value}), "
        f"{_OFTEN} * sum(records) / count(*), coalesce(count_if({value} IS NULL), 0) FROM temp.doubted_values "
        f"WHERE {value} IS NULL OR (isfinite({value}::DOUBLE) AND NOT {coded})",
        [codes],
    )
    if least is None and words < _FEWEST_WORDS:
        return []
    span = 0 if least is None else max(greatest - least, 1)
    return [
        (written, number, records)
        for written, number, records in session.rows(
            f"SELECT lower(trim(value::VARCHAR)), {value}, sum(records)::BIGINT FROM temp.doubted_values WHERE {coded} "
            "GROUP BY 1, 2 ORDER BY 2, 1",
            [codes],
        )
        for gap in [_gap(number, least, greatest)]
        if number in digits
        or gap > span
        or (gap > max(_ALONE * span, 1) and records > often)
        or (number < 0 and gap > 0)
    ]


def _gap(number: float, least: float | None, greatest: float) -> float:
    """The distance from the other numbers, of a negative one from those that are none."""
    if least is None:
        return math.inf
    if number > 0:
        return number - greatest
    return least - number if least >= 0 else 0


def _digits_of_none(small: Sequence[tuple[float | None, int]]) -> Sequence[int]:
    """The digits from 7 on that stand for nothing, if any do, among a column's other values and their records."""
    records = dict(small)
    others = [value for value in records if value is not None and value < _DIGITS_OF_NONE[0]]
    digits = [digit for digit in _DIGITS_OF_NONE if digit in records]
    if not digits or not others:
        return digits if digits and None in records and len(records) == 1 + len(digits) else ()
    least, greatest = others[0], others[-1]
    # Beside a scale up to 5, surveys have 7 for refused and 9 for unknown, without 8.
    far = digits == [7, 9] or digits[-1] - greatest > max(greatest - least, 1)
    few = {*records} <= {*range(10)} and least in (0, 1) and digits[0] - greatest > 1 and far
    is_tail = greatest - least > 1 and records[greatest] < _TAIL * sum(records.values())
    return digits if few and not (is_tail and records[digits[-1]] <= records[greatest]) else ()


def _may_be_code(session: Session, of: Column) -> bool:
    """Whether NA is a place, such as Namibia or North America."""
    if meaning_of(of.name) in (Meaning.PLACE, Meaning.ORIGIN):
        return True
    others, codes = session.row(
        "SELECT count(*), count_if(regexp_full_match(value, '[A-Z]{2}')) FROM temp.doubted_values WHERE value <> 'NA'"
    )
    return bool(codes >= max(_FEWEST_CODES, _USUAL * others))


def _dates(session: Session, of: Column, today: datetime.date) -> Iterator[tuple[DoubtKind, int, Repair]]:
    """Days that stand for none, as they are far more frequent than others or far from them; later and far days."""
    finite, day = "isfinite(value)", "CASE WHEN isfinite(value) THEN value::DATE - DATE '1970-01-01' END::DOUBLE"
    found = _days_of_none(session, "CASE WHEN isfinite(value) THEN value::TIMESTAMP END", "value::DATE::VARCHAR")
    gone = [position for position, *_ in found]
    if found:
        days = [cast(text(written), of.type) for _, written, _ in found]
        yield DoubtKind.SENTINEL, sum(records for *_, records in found), _nullified(days)
    later = list(_future(session, of, day, finite, gone, today))
    yield from later
    if later:
        finite = f"{finite} AND value::DATE <= DATE '{today}'"
    yield from _far_outside(session, of, day, finite, gone, _FAR_DATES)


def _days_of_none(session: Session, moment: str, written: str) -> list[tuple[float, str, int]]:
    """The days since 1970 of those that stand for none, as they are written, and their records."""
    listed = "list_contains(?::DATE[], moment::DATE) AND moment = moment::DATE"
    return session.rows(
        f"WITH days AS (SELECT {moment} AS moment, (moment::DATE - DATE '1970-01-01')::DOUBLE AS day, "
        f"coalesce({listed}, false) AS listed, {written} AS written, records FROM temp.doubted_values), "
        "others AS (SELECT min(day) AS least, max(day) AS greatest FROM days WHERE NOT listed), "
        f"often AS (SELECT {_OFTEN} * sum(records) / count(*) AS often FROM days WHERE moment IS NOT NULL) "
        "SELECT day, written, sum(days.records)::BIGINT AS records FROM days, others, often WHERE listed "
        "GROUP BY day, written, least, greatest, often "
        f"HAVING greatest(least - day, day - greatest) > {_ALONE} * (greatest - least) OR sum(days.records) > often "
        "ORDER BY ALL",
        [list(_DAYS)],
    )


def _future(
    session: Session, of: Column, day: str, finite: str, gone: Sequence[float], today: datetime.date
) -> Iterator[tuple[DoubtKind, int, Repair]]:
    """Days after today, but for columns of which most are: these are planned. A birth may be a century off."""
    later, latest, records = session.row(
        f"SELECT coalesce(sum(records) FILTER (WHERE value::DATE > DATE '{today}'), 0)::BIGINT, "
        f"max(value::DATE)::VARCHAR, sum(records) FROM temp.doubted_values WHERE {finite} "
        f"AND NOT list_contains(?::DOUBLE[], {day})",
        [list(gone)],
    )
    is_birth = meaning_of(of.name) is Meaning.BIRTH
    if not later or (2 * later > records and not is_birth):
        return

    def repair(value: exp.Expr) -> exp.Expr:
        then: exp.Expr = exp.null()
        if is_birth and latest < f"{today.year + _CENTURY}":
            then = cast(expression(f"$value + to_years(CAST({-_CENTURY} AS INTEGER))", value=value), of.type)
        query = "CASE WHEN $value::DATE > $today::DATE THEN $then ELSE $value END"
        return expression(query, value=value, today=text(f"{today}"), then=then)

    yield DoubtKind.FUTURE, later, repair


def _far_outside(
    session: Session, of: Column, value: str, finite: str, gone: Sequence[float], spans: int
) -> Iterator[tuple[DoubtKind, int, Repair]]:
    finite_rows = f"FROM temp.doubted_values WHERE {finite} AND NOT list_contains(?::DOUBLE[], {value})"
    first, last = session.row(
        "SELECT min(v) FILTER (WHERE upto >= 0.01 * total), min(v) FILTER (WHERE upto >= 0.99 * total) "
        f"FROM (SELECT {value} AS v, sum(records) OVER (ORDER BY value) AS upto, sum(records) OVER () AS total "
        f"{finite_rows})",
        [list(gone)],
    )
    if first is None or last <= first:
        return
    lowest, highest = first - spans * (last - first), last + spans * (last - first)
    if of.kind in _NUMBERS and first >= 0:
        lowest = min(0.0, first)
    outside: int = session.value(
        f"SELECT coalesce(sum(records), 0)::BIGINT {finite_rows} AND NOT ({value} BETWEEN ? AND ?)",
        [list(gone), lowest, highest],
    )
    ends = _written(of, lowest, highest)
    if outside and ends is not None:
        inside = "CASE WHEN $value BETWEEN $low AND $high THEN $value END"
        yield DoubtKind.FAR_OUTSIDE, outside, partial(expression, inside, low=ends[0], high=ends[1])


def _written(of: Column, lowest: float, highest: float) -> tuple[exp.Expr, exp.Expr] | None:
    """The bounds, rounded outwards: whole years, or two digits; None for days that no year has."""
    if of.kind in _DATES:
        first, last = (datetime.date(1970, 1, 1).toordinal() + int(day) for day in (lowest, highest))
        if not 1 <= first <= last <= datetime.date.max.toordinal():
            return None
        years = datetime.date.fromordinal(first).year, datetime.date.fromordinal(last).year
        return cast(text(f"{years[0]:04d}-01-01"), of.type), cast(text(f"{years[1]:04d}-12-31"), of.type)
    step = Decimal(1).scaleb(Decimal(highest - lowest).adjusted() - 1)
    low = (Decimal(lowest) / step).to_integral_value(ROUND_FLOOR) * step
    high = (Decimal(highest) / step).to_integral_value(ROUND_CEILING) * step
    return _number(low), _number(high)


def _number(value: Any) -> exp.Expr:
    plain = exp.Literal.number(f"{abs(value):f}" if isinstance(value, Decimal) else str(abs(value)))
    return exp.Neg(this=plain) if value < 0 else plain


def _nullified(values: Iterable[exp.Expr]) -> Repair:
    return partial(expression, "CASE WHEN $value IN ($values) THEN NULL ELSE $value END", values=list(values))
