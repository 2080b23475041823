"""The functions of analysts in PostgreSQL: aggregates over the labels of a group, and functions that stand in FROM.

An aggregate counts the records of each label. Its result is computed once, from labels, bounds and counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from tableveil.answers.macros import MOST_BANDS


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of bounds: its type, that of limits, and a value as a number; `whole` bounds are values both."""

    name: str
    type: str
    limit: str
    number: str
    whole: bool

    @property
    def is_time(self) -> bool:
        return self.type in ("date", "timestamp")

    def as_number(self, value: str) -> str:
        return self.number.format(value)


_KINDS = (
    _Kind("whole", "bigint", "numeric", "({0})::float8", True),
    _Kind("number", "float8", "float8", "({0})", False),
    # Limits that are timestamps would otherwise make timestamps of the days.
    _Kind("day", "date", "timestamp", "(({0})::date - date '1970-01-01')::float8", True),
    _Kind("time", "timestamp", "timestamp", "extract(epoch from ({0}))::float8", False),
)

MARK = "tv_between"
"""The type whose comment is the version of all of them."""

_UNITS = "'day', 'week', 'month', 'quarter', 'year', 'decade'"


def version() -> str:
    """A text that changes with the functions."""
    return hashlib.sha256("\n".join(statements("x")).encode()).hexdigest()[:16]


def statements(schema: str) -> Iterator[str]:
    """The statements that make the functions in a schema, whose name is quoted, where there may be earlier ones."""
    yield from _types(schema)
    for kind in _KINDS:
        yield from _counted(schema, kind)
        yield from _results(schema, kind)
    yield from _bands(schema)
    yield from _periods(schema)
    yield from _estimated_mean(schema)


def _types(schema: str) -> Iterator[str]:
    yield from _type(f"{schema}.{MARK}", "certain bigint, possible bigint, estimated float8")
    yield from _type(f"{schema}.tv_shares", "certain float8, possible float8, estimated float8")
    for name, type_ in (("number", "float8"), ("time", "timestamp")):
        yield from _type(
            f"{schema}.tv_mean_of_{name}", f"estimated {type_}, low {type_}, high {type_}, open_ends bigint"
        )
    for kind in _KINDS:
        yield from _type(f"{schema}.tv_ends_of_{kind.name}", f"low {kind.type}, high {kind.type}")
        yield from _type(
            f"{schema}.tv_labels_of_{kind.name}",
            f"labels text[], lows {kind.type}[], highs {kind.type}[], counts bigint[], low {kind.limit}, "
            f"high {kind.limit}",
        )


def _type(name: str, columns: str) -> Iterator[str]:
    # CREATE TYPE knows no IF NOT EXISTS.
    yield f"DO $do$ BEGIN CREATE TYPE {name} AS ({columns}); EXCEPTION WHEN duplicate_object THEN NULL; END $do$"


def _counted(schema: str, kind: _Kind) -> Iterator[str]:
    """The functions that add a record to the state of an aggregate, without limits and with them."""
    state = f"{schema}.tv_labels_of_{kind.name}"
    added = (
        "IF label IS NULL THEN RETURN s; END IF; "
        "i := array_position(s.labels, label); IF i IS NULL THEN "
        "s.labels := array_append(s.labels, label); s.lows := array_append(s.lows, f); "
        "s.highs := array_append(s.highs, t); s.counts := array_append(s.counts, 1::bigint); "
        "ELSE s.counts[i] := s.counts[i] + 1; END IF; RETURN s;"
    )
    differ = "the limits differ within a group: group by them"
    no_days = " OR ".join(f"{limit}::date <> {limit}" for limit in ("least_value", "most_value"))
    message = "the bounds of this column are days: expected dates, found a time of day"
    refused = f"IF {no_days} THEN RAISE EXCEPTION '{message}'; END IF; " if kind.name == "day" else ""
    limited = (
        f"{refused}IF cardinality(s.counts) > 0 "
        "AND (s.low IS DISTINCT FROM least_value OR s.high IS DISTINCT FROM most_value) "
        f"THEN RAISE EXCEPTION '{differ}'; END IF; s.low := least_value; s.high := most_value; {added}"
    )
    arguments = f"s {state}, label text, f {kind.type}, t {kind.type}"
    for more, body in (("", added), (f", least_value {kind.limit}, most_value {kind.limit}", limited)):
        yield (
            f"CREATE OR REPLACE FUNCTION {schema}.tv_added({arguments}{more}) RETURNS {state} "
            f"LANGUAGE plpgsql IMMUTABLE AS $body$ DECLARE i integer; BEGIN {body} END $body$"
        )


def _results(schema: str, kind: _Kind) -> Iterator[str]:
    state, ends = f"{schema}.tv_labels_of_{kind.name}", f"{schema}.tv_ends_of_{kind.name}"
    labels = "unnest(($1).labels, ($1).lows, ($1).highs, ($1).counts) AS u(label, f, t, n)"
    mean = f"{schema}.tv_mean_of_{'time' if kind.is_time else 'number'}"
    counted = _between(kind, labels)
    number = "certain::float8 / nullif(of, 0), possible::float8 / nullif(of, 0), estimated / nullif(of, 0)"
    bodies = {
        "tv_mean": (mean, _mean(kind, labels, mean)),
        "tv_min": (
            ends,
            f"SELECT ROW(CASE WHEN bool_and(f IS NOT NULL) THEN min(f) END, min(t))::{ends} FROM {labels}",
        ),
        "tv_max": (
            ends,
            f"SELECT ROW(max(f), CASE WHEN bool_and(t IS NOT NULL) THEN max(t) END)::{ends} FROM {labels}",
        ),
        "tv_median": (ends, _median(labels, ends)),
        "tv_count_between": (
            f"{schema}.{MARK}",
            f"SELECT ROW(certain, possible, estimated)::{schema}.{MARK} FROM ({counted}) AS counted",
        ),
        "tv_share_between": (
            f"{schema}.tv_shares",
            f"SELECT ROW({number})::{schema}.tv_shares FROM ({counted}) AS counted",
        ),
    }
    for name, (result, body) in bodies.items():
        limits = f", {kind.limit}, {kind.limit}" if name.endswith("between") else ""
        final = f"{schema}.{name}_result"
        made = f"CREATE OR REPLACE FUNCTION {final}({state}) RETURNS {result} LANGUAGE sql IMMUTABLE"
        yield f"{made} AS $body$ {body} $body$"
        yield (
            f"CREATE OR REPLACE AGGREGATE {schema}.{name}(text, {kind.type}, {kind.type}{limits}) "
            f"(SFUNC = {schema}.tv_added, STYPE = {state}, FINALFUNC = {final}, INITCOND = '({{}},{{}},{{}},{{}},,)')"
        )


def _mean(kind: _Kind, labels: str, result: str) -> str:
    value = "extract(epoch from ({0})::timestamp)" if kind.is_time else "({0})::numeric"
    if kind.name == "number":
        value = "({0})"
    weighed = "sum({0} * n) / nullif(sum(n) FILTER (WHERE ({1}) IS NOT NULL), 0)"
    low, high, from_, to = (
        weighed.format(value.format(of), of) for of in ("f", "t", "coalesce(f, t)", "coalesce(t, f)")
    )
    points = (
        f"({from_} + {to}) / 2",
        f"CASE WHEN bool_and(f IS NOT NULL) THEN {low} END",
        f"CASE WHEN bool_and(t IS NOT NULL) THEN {high} END",
    )
    back = "timestamp '1970-01-01' + make_interval(secs => ({0})::float8)" if kind.is_time else "({0})::float8"
    actual = ", ".join(back.format(point) for point in points)
    open_ends = "coalesce(sum(n) FILTER (WHERE f IS NULL OR t IS NULL), 0)::bigint"
    return f"SELECT ROW({actual}, {open_ends})::{result} FROM {labels}"


def _median(labels: str, result: str) -> str:
    def middle(end: str, nulls: str, of: int) -> str:
        reached = f"SELECT {end}, sum(n) OVER (ORDER BY {end} NULLS {nulls}) AS c, sum(n) OVER () AS s FROM {labels}"
        return f"(SELECT {end} FROM ({reached}) AS r WHERE c >= div(s + {of}, 2) ORDER BY c LIMIT 1)"

    return f"SELECT ROW({middle('f', 'FIRST', 1)}, {middle('t', 'LAST', 2)})::{result}"


def _between(kind: _Kind, labels: str) -> str:
    """The numbers of records between the limits of a state, as the macro of DuckDB counts them."""
    included = "TRUE" if kind.whole else "(f = t OR right(label, 1) = ']' OR left(label, 3) = '>= ')"
    has_bounds = "(f IS NOT NULL OR t IS NOT NULL)"
    low, high = "($1).low", "($1).high"
    certain = (
        f"({has_bounds} AND ({low} IS NULL OR coalesce(f >= {low}, FALSE)) "
        f"AND ({high} IS NULL OR coalesce(t <= {high}, FALSE)))"
    )
    possible = f"(coalesce(f <= {high}, TRUE) AND coalesce(t > {low} OR (t = {low} AND {included}), TRUE))"
    from_, to, least, most = (kind.as_number(of) for of in ("coalesce(f, t)", "coalesce(t, f)", low, high))
    if kind.whole:
        part = f"(least({to}, floor({most})) - greatest({from_}, ceil({least})) + 1) / ({to} - {from_} + 1)"
    else:
        part = f"(least({to}, {most}) - greatest({from_}, {least})) / nullif({to} - {from_}, 0)"
    likely = (
        f"CASE WHEN NOT {has_bounds} THEN NULL WHEN NOT {possible} THEN 0 WHEN {certain} THEN 1 "
        f"WHEN f = t OR f IS NULL OR t IS NULL "
        f"THEN CASE WHEN {from_} < {least} OR {from_} > {most} THEN 0 ELSE 1 END "
        f"ELSE greatest(0, least(1, {part})) END"
    )
    each = f"SELECT n, {certain} AS c, {possible} AS p, ({likely})::float8 AS l FROM {labels}"
    sums = (
        "SELECT coalesce(sum(n) FILTER (WHERE c), 0)::bigint AS certain, "
        "coalesce(sum(n) FILTER (WHERE p), 0)::bigint AS possible, sum(n)::float8 AS of, "
        f"sum(l * n) / nullif(sum(n) FILTER (WHERE l IS NOT NULL), 0) * sum(n)::float8 AS likely FROM ({each}) AS e"
    )
    return (
        "SELECT certain, possible, of, "
        "CASE WHEN likely IS NOT NULL THEN least(possible::float8, greatest(certain::float8, likely)) END AS estimated "
        f"FROM ({sums}) AS sums"
    )


def _bands(schema: str) -> Iterator[str]:
    for type_, whole in (("bigint", True), ("float8", False)):
        result = "bigint" if whole else "numeric"
        step = 1 if whole else 0
        last = "floor(t / width)" if whole else "CASE WHEN f = t THEN floor(t / width) ELSE ceil(t / width) - 1 END"
        unfit = "width <= 0 OR width <> trunc(width)" if whole else "width <= 0"
        yield (
            f"CREATE OR REPLACE FUNCTION {schema}.tv_band(label text, label_from {type_}, label_to {type_}, "
            f"width numeric) RETURNS TABLE (band_from {result}, band_to {result}, weight float8) "
            f"LANGUAGE plpgsql IMMUTABLE AS $body$ DECLARE f numeric := label_from; t numeric := label_to; "
            f"first numeric := floor(f / width); last numeric := {last}; BEGIN "
            f"IF {unfit} THEN RAISE EXCEPTION 'width: expected more than 0, and whole for a column of whole numbers'; "
            f"END IF; IF last - first > {MOST_BANDS} THEN RAISE EXCEPTION "
            f"'width: found one that gives a label more than {MOST_BANDS} parts, expected a wider one'; END IF; "
            f"IF f IS NULL OR t IS NULL THEN RETURN QUERY SELECT (first * width)::{result}, "
            f"((last + 1) * width - {step})::{result}, 1::float8; RETURN; END IF; "
            f"RETURN QUERY SELECT (b * width)::{result}, ((b + 1) * width - {step})::{result}, "
            f"CASE WHEN first >= last THEN 1 ELSE ((least(t + {step}, (b + 1) * width) - greatest(f, b * width)) "
            f"/ (t + {step} - f))::float8 END FROM generate_series(first, greatest(first, last)) AS b; END $body$"
        )


def _periods(schema: str) -> Iterator[str]:
    for type_ in ("date", "timestamp"):
        past = "label_to::timestamp + interval '1 day'" if type_ == "date" else (
            "label_to + CASE WHEN label_from = label_to OR right(label, 1) = ']' OR left(label, 3) = '>= ' "
            "THEN interval '1 microsecond' "
            "ELSE interval '0' END"
        )  # fmt: skip
        yield (
            f"CREATE OR REPLACE FUNCTION {schema}.tv_period(label text, label_from {type_}, label_to {type_}, "
            "unit text) RETURNS TABLE (period_from date, period_to date, weight float8) "
            "LANGUAGE plpgsql IMMUTABLE AS $body$ DECLARE first timestamp := label_from; "
            f"past timestamp := {past}; part interval; BEGIN "
            f"IF lower(unit) NOT IN ({_UNITS}) THEN RAISE EXCEPTION "
            "'unit: expected day, week, month, quarter, year or decade'; END IF; "
            "part := CASE lower(unit) WHEN 'quarter' THEN interval '3 months' ELSE ('1 ' || unit)::interval END; "
            f"IF first + {MOST_BANDS} * part < past THEN RAISE EXCEPTION "
            f"'unit: found one that gives a label more than {MOST_BANDS} parts, expected a longer one'; END IF; "
            "IF first IS NULL OR past IS NULL THEN RETURN QUERY SELECT date_trunc(unit, first)::date, "
            "(date_trunc(unit, past - interval '1 microsecond') + part - interval '1 day')::date, 1::float8; RETURN; "
            "END IF; RETURN QUERY SELECT p::date, (p + part - interval '1 day')::date, "
            "extract(epoch from least(past, p + part) - greatest(first, p))::float8 "
            "/ extract(epoch from past - first)::float8 "
            "FROM generate_series(date_trunc(unit, first), past - interval '1 microsecond', part) AS p; END $body$"
        )


def _estimated_mean(schema: str) -> Iterator[str]:
    yield (
        f"CREATE OR REPLACE FUNCTION {schema}.tv_weighed(s float8[], value float8, weight float8) RETURNS float8[] "
        "LANGUAGE plpgsql IMMUTABLE AS $body$ BEGIN IF value IS NULL OR weight IS NULL THEN RETURN s; END IF; "
        "RETURN ARRAY[s[1] + value * weight, s[2] + weight]; END $body$"
    )
    yield (
        f"CREATE OR REPLACE FUNCTION {schema}.tv_estimated_mean_result(float8[]) RETURNS float8 "
        "LANGUAGE sql IMMUTABLE AS $body$ SELECT $1[1] / nullif($1[2], 0) $body$"
    )
    yield (
        f"CREATE OR REPLACE AGGREGATE {schema}.tv_estimated_mean(float8, float8) (SFUNC = {schema}.tv_weighed, "
        f"STYPE = float8[], FINALFUNC = {schema}.tv_estimated_mean_result, INITCOND = '{{0,0}}')"
    )
