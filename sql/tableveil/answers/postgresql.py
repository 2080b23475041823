"""The functions of analysts in PostgreSQL: aggregates over the labels of a group.

An aggregate adds records up in a few numbers, so that a column may have any number of labels. Only quantiles count the
records of each label.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass


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


def version() -> str:
    """A text that changes with the functions."""
    return hashlib.sha256("\n".join(statements("x")).encode()).hexdigest()[:16]


def statements(schema: str) -> Iterator[str]:
    """The statements that make the functions in a schema, whose name is quoted, where there may be earlier ones.

    Functions of earlier versions stay: views may use them.
    """
    yield from _types(schema)
    for kind in _KINDS:
        yield from _quantiles(schema, kind)
        yield from _results(schema, kind)


def _types(schema: str) -> Iterator[str]:
    yield from _type(f"{schema}.{MARK}", "certain bigint, possible bigint, estimated float8")
    yield from _type(f"{schema}.tv_shares", "certain float8, possible float8, estimated float8")
    for name, type_ in (("number", "float8"), ("time", "timestamp")):
        yield from _type(
            f"{schema}.tv_mean_of_{name}", f"estimated {type_}, low {type_}, high {type_}, open_ends bigint"
        )
    for kind in _KINDS:
        yield from _type(f"{schema}.tv_ends_of_{kind.name}", f"low {kind.type}, high {kind.type}")


def _type(name: str, columns: str) -> Iterator[str]:
    # CREATE TYPE knows no IF NOT EXISTS.
    yield f"DO $do$ BEGIN CREATE TYPE {name} AS ({columns}); EXCEPTION WHEN duplicate_object THEN NULL; END $do$"


@dataclass(frozen=True, slots=True)
class _Stored:
    """How quantiles keep a bound: the type of the state's elements, a bound as one of them, and back.

    An end that nobody knows is the least or the greatest element. So no element is NULL, and all have one size.
    """

    element: str
    least: str
    greatest: str
    kept: str = "{0}"
    back: str = "{0}"


_WHOLE = ("bigint", "-9223372036854775808", "9223372036854775807")
_STORED = {
    "whole": _Stored(*_WHOLE),
    "number": _Stored("float8", "'-infinity'", "'infinity'"),
    "day": _Stored(*_WHOLE, "({0} - date '1970-01-01')", "date '1970-01-01' + ({0})::int"),
    "time": _Stored(
        *_WHOLE,
        "(extract(epoch from {0}) * 1000000)",
        "timestamp '1970-01-01' + ({0} / 1000000) * interval '1 second' + ({0} % 1000000) * interval '1 microsecond'",
    ),
}

_ONE = "1e15"
"""The fraction of a quantile in a state whose elements are whole numbers."""
_LEAST_SIZE = 300
"""The elements at which a state is made smaller for the first time."""


def _quantiles(schema: str, kind: _Kind) -> Iterator[str]:
    """The median, and any other quantile.

    The state has the size at which equal labels are counted together again, the fraction, and per label its bounds and
    a number of records. PostgreSQL copies it for each record: so it grows with the labels, and a record is appended
    without a look at the others.
    """
    stored = _STORED[kind.name]
    element, ends = stored.element, f"{schema}.tv_ends_of_{kind.name}"
    labels = (
        "SELECT {0}[i] AS f, {0}[i + 1] AS t, {0}[i + 2] AS n FROM generate_series(3, cardinality({0}) - 2, 3) AS i"
    )
    together = (
        f"SELECT ARRAY[greatest({_LEAST_SIZE}, 6 * (count(*) / 3)), s[2]]::{element}[] || "
        f"array_agg(x.v::{element} ORDER BY g.o, x.p) FROM (SELECT u.f, u.t, sum(u.n) AS n, row_number() OVER () AS o "
        f"FROM ({labels.format('s')}) AS u GROUP BY u.f, u.t) AS g, "
        "LATERAL (VALUES (1, g.f), (2, g.t), (3, g.n)) AS x(p, v)"
    )

    def nth(end: str, unknown: str, rounded: str) -> str:
        reached = (
            f"SELECT {end} AS v, sum(n) OVER (ORDER BY {end}) AS c, sum(n) OVER () AS s FROM ({labels.format('$1')})"
        )
        value = stored.back.format("v")
        return (
            f"(SELECT CASE WHEN v <> {unknown} THEN {value} END FROM ({reached} AS u) AS r "
            f"WHERE c > {rounded}($1[2] / {_ONE}::float8 * (s::float8 - 1)) ORDER BY v LIMIT 1)"
        )

    result = f"SELECT ROW({nth('f', stored.least, 'floor')}, {nth('t', stored.greatest, 'ceil')})::{ends}"
    bounds = ", ".join(
        f"coalesce({stored.kept.format(end)}, {unknown})::{element}"
        for end, unknown in (("f", stored.least), ("t", stored.greatest))
    )
    for name, of, more in (("tv_median", "0.5", ()), ("tv_quantile", "least_value", ("float8",))):
        body = (
            f"IF cardinality(s) = 0 THEN IF {of} BETWEEN 0 AND 1 THEN s := ARRAY[{_LEAST_SIZE}, {of} * {_ONE}]; "
            "ELSE RAISE EXCEPTION 'fraction: expected a number from 0 to 1'; END IF; "
            f"ELSIF cardinality(s) > s[1] THEN s := ({together}); END IF; "
            f"RETURN s || ARRAY[{bounds}, 1];"
        )
        yield _adding(schema, f"{name}_added", f"{element}[]", (kind.type, kind.type, *more), body)
        yield from _aggregate(
            schema, kind, name, f"{schema}.{name}_added", (f"{element}[]", "{}"), (ends, result), limits=more
        )


def _results(schema: str, kind: _Kind) -> Iterator[str]:
    ends = f"{schema}.tv_ends_of_{kind.name}"
    # A third element says that an end is not known.
    for name, choice, open_end in (("tv_min", "least", "f"), ("tv_max", "greatest", "t")):
        part = f"CASE WHEN cardinality($1) = 2 THEN $1[{1 if open_end == 'f' else 2}] END"
        pair = f"{part}, $1[2]" if open_end == "f" else f"$1[1], {part}"
        yield _adding(
            schema,
            f"{name}_added",
            f"{kind.type}[]",
            (kind.type, kind.type),
            f"s[1] := {choice}(s[1], f); s[2] := {choice}(s[2], t); "
            f"IF {open_end} IS NULL AND cardinality(s) = 2 THEN s := s || ARRAY[NULL]::{kind.type}[]; END IF; "
            "RETURN s;",
        )
        yield from _aggregate(
            schema,
            kind,
            name,
            f"{schema}.{name}_added",
            (f"{kind.type}[]", "{NULL,NULL}"),
            (ends, f"SELECT ROW({pair})::{ends}"),
        )
    mean = f"{schema}.tv_mean_of_{'time' if kind.is_time else 'number'}"
    yield _adding(schema, "tv_mean_added", "float8[]", (kind.type, kind.type), _mean_added(kind))
    yield from _aggregate(
        schema, kind, "tv_mean", f"{schema}.tv_mean_added", ("float8[]", _zeros(9)), (mean, _mean(kind, mean))
    )
    limits = (kind.type, kind.type, kind.limit, kind.limit)
    yield _adding(schema, "tv_between_added", "float8[]", limits, _between_added(kind))
    counts = "$1[2]::bigint, $1[3]::bigint"
    shares = "$1[2] / nullif($1[1], 0), $1[3] / nullif($1[1], 0)"
    likely = "CASE WHEN $1[5] > 0 THEN least($1[3], greatest($1[2], $1[4] / $1[5] * $1[1])) END"
    for name, result, numbers in (
        ("tv_count_between", f"{schema}.{MARK}", f"{counts}, {likely}"),
        ("tv_share_between", f"{schema}.tv_shares", f"{shares}, {likely} / nullif($1[1], 0)"),
    ):
        yield from _aggregate(
            schema,
            kind,
            name,
            f"{schema}.tv_between_added",
            ("float8[]", _zeros(5)),
            (result, f"SELECT ROW({numbers})::{result}"),
            limits=limits[2:],
        )


def _zeros(count: int) -> str:
    return "{" + ",".join("0" * count) + "}"


def _adding(schema: str, name: str, state: str, types: tuple[str, ...], body: str) -> str:
    """A function that adds a record, unless its label is NULL."""
    names = ("f", "t", "least_value", "most_value")
    arguments = ", ".join(f"{argument} {type_}" for argument, type_ in zip(names, types, strict=False))
    return (
        f"CREATE OR REPLACE FUNCTION {schema}.{name}(s {state}, label text, {arguments}) RETURNS {state} "
        f"LANGUAGE plpgsql IMMUTABLE AS $body$ BEGIN IF label IS NULL THEN RETURN s; END IF; {body} END $body$"
    )


def _aggregate(
    schema: str,
    kind: _Kind,
    name: str,
    added: str,
    state: tuple[str, str],
    result: tuple[str, str],
    *,
    limits: tuple[str, ...] = (),
) -> Iterator[str]:
    """An aggregate with this type and first value of its state, and its result with the query that makes it.

    It takes a label, its bounds, and arguments of the types `limits`.
    """
    # Results of one type of state are of different kinds.
    final = f"{schema}.{name}_result_of_{kind.name}"
    made = f"CREATE OR REPLACE FUNCTION {final}({state[0]}) RETURNS {result[0]} LANGUAGE sql IMMUTABLE"
    yield f"{made} AS $body$ {result[1]} $body$"
    yield (
        f"CREATE OR REPLACE AGGREGATE {schema}.{name}({', '.join(('text', kind.type, kind.type, *limits))}) "
        f"(SFUNC = {added}, STYPE = {state[0]}, FINALFUNC = {final}, INITCOND = '{state[1]}')"
    )


def _mean_added(kind: _Kind) -> str:
    low, high = (
        f"extract(epoch from {end}::timestamp)::float8" if kind.is_time else f"{end}::float8" for end in ("f", "t")
    )
    return (
        f"RETURN ARRAY[s[1] + 1, s[2] + coalesce({low}, 0), s[3] + (f IS NOT NULL)::int, s[4] + coalesce({high}, 0), "
        f"s[5] + (t IS NOT NULL)::int, s[6] + coalesce({low}, {high}, 0), s[7] + coalesce({high}, {low}, 0), "
        "s[8] + (f IS NOT NULL OR t IS NOT NULL)::int, s[9] + (f IS NULL OR t IS NULL)::int];"
    )


def _mean(kind: _Kind, result: str) -> str:
    points = (
        "($1[6] + $1[7]) / 2 / nullif($1[8], 0)",
        "CASE WHEN $1[3] = $1[1] THEN $1[2] / nullif($1[1], 0) END",
        "CASE WHEN $1[5] = $1[1] THEN $1[4] / nullif($1[1], 0) END",
    )
    back = "timestamp '1970-01-01' + make_interval(secs => {0})" if kind.is_time else "{0}"
    return f"SELECT ROW({', '.join(map(back.format, points))}, $1[9]::bigint)::{result}"


def _between_added(kind: _Kind) -> str:
    """Adds a record between the limits, as the macro of DuckDB counts it."""
    included = "TRUE" if kind.whole else "(f = t OR right(label, 1) = ']' OR left(label, 3) = '>= ')"
    has_bounds = "(f IS NOT NULL OR t IS NOT NULL)"
    low, high = "least_value", "most_value"
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
        f"CASE WHEN NOT {has_bounds} OR NOT {possible} THEN 0 WHEN {certain} THEN 1 "
        f"WHEN f = t OR f IS NULL OR t IS NULL "
        f"THEN CASE WHEN {from_} < {least} OR {from_} > {most} THEN 0 ELSE 1 END "
        f"ELSE greatest(0, least(1, {part})) END"
    )
    no_days = " OR ".join(f"{limit}::date <> {limit}" for limit in (low, high))
    message = "the bounds of this column are days: expected dates, found a time of day"
    refused = f"IF {no_days} THEN RAISE EXCEPTION '{message}'; END IF; " if kind.name == "day" else ""
    return (
        f"{refused}RETURN ARRAY[s[1] + 1, s[2] + {certain}::int, s[3] + {possible}::int, s[4] + ({likely})::float8, "
        f"s[5] + {has_bounds}::int];"
    )
