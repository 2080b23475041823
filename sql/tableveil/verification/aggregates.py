"""Recomputes the aggregates of one column, in SQL text, by equations of its own.

Reads temporary tables of the verification: `membership` (class, x0, x1, …, n) has the number of records of each class
with each combination of values, `replaced` (class, a0, a1, …) the aggregates of the classes.
"""

import sys
from decimal import Decimal

import pyarrow as pa

from tableveil.backend import Session
from tableveil.hierarchy import ValueKind
from tableveil.policy import AggregateFunction, Aggregation, AttributePolicy, OrderBy, Scale
from tableveil.verification.text import SLACK, quoted
from tableveil.verification.written import Written, WrittenAggregate

_EPSILON = sys.float_info.epsilon


def check_aggregate(
    session: Session, j: int, attribute: AttributePolicy, aggregate: WrittenAggregate, written: Written
) -> list[str]:
    """Faults of the aggregated column of position `j`."""
    aggregation = attribute.aggregation
    assert aggregation is not None
    match aggregation.function:
        case AggregateFunction.COMMON_LABEL:
            failing = _other_labels(session, j, aggregate)
        case AggregateFunction.INTERVAL:
            _place(session, j, aggregation, aggregate, written)
            failing = _other_intervals(session, j, aggregation, aggregate.kind)
        case _ if aggregation.scale is Scale.NUMERIC:
            _place(session, j, aggregation, aggregate, written)
            failing = _other_numbers(session, j, aggregation, aggregate.kind, written.type_of(aggregate.column))
        case _:
            _rank(session, j, attribute)
            failing = _other_members(session, j, aggregation, written.type_of(aggregate.column))
    session.execute("DROP TABLE IF EXISTS temp.main.placed")
    session.execute("DROP TABLE IF EXISTS temp.main.ranked")
    return [f"{failing} classes have another {aggregation.function} of a column than their records"] if failing else []


# --- numbers, dates and timestamps ----------------------------------------------------------------------------------


def _position(value: str, kind: ValueKind) -> str:
    """The place of a value on an axis: numbers themselves, dates in days and timestamps in seconds since 1970-01-01."""
    match kind:
        case ValueKind.DATE:
            return f"CAST(date_diff('day', DATE '1970-01-01', {value}) AS DOUBLE)"
        case ValueKind.TIMESTAMP:
            return f"(epoch_us({value}) / 1e6)"
        case _:
            return f"CAST({value} AS DOUBLE)"


def _place(session: Session, j: int, aggregation: Aggregation, aggregate: WrittenAggregate, written: Written) -> None:
    """`placed` (class, p, n, below, above): the positions, coded, and whether values are beyond the codings."""
    type_ = dict(written.source_types)[aggregate.column]
    raw, coded, beyond = _position(f"x{j}", aggregate.kind), "raw", []
    for coding, clamp, comparison in (
        (aggregation.bottom_coding, "greatest", "<"),
        (aggregation.top_coding, "least", ">"),
    ):
        bound = _position(f"CAST({_literal(coding)} AS {type_})", aggregate.kind)
        coded = f"{clamp}({coded}, {bound})" if coding else coded
        # Exactly at the coding a value may count as beyond it, but need not.
        beyond.append(
            f"bool_or(raw {comparison} {bound}), bool_or(raw {comparison}= {bound})" if coding else "FALSE, FALSE"
        )
    session.stage(
        "placed",
        f"SELECT * FROM (SELECT class, {coded}, sum(n)::BIGINT, {', '.join(beyond)} "
        f"FROM (SELECT class, {raw} AS raw, n FROM membership) GROUP BY class, {coded}"
        ") AS p(class, p, n, below, bottom, above, top)",
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_CUMULATED = (
    "(SELECT *, sum(n) OVER (PARTITION BY class ORDER BY p) AS upto, sum(n) OVER (PARTITION BY class) AS total "
    "FROM placed)"
)

_EXPECTED = {
    AggregateFunction.MEAN: "SELECT class, fsum(p * n) / sum(n) AS e FROM placed GROUP BY class",
    AggregateFunction.GEOMETRIC_MEAN: "SELECT class, exp(fsum(ln(p) * n) / sum(n)) AS e FROM placed GROUP BY class",
    AggregateFunction.MEDIAN: (
        "SELECT class, (min(p) FILTER (upto >= (total + 1) // 2) + min(p) FILTER (upto >= total // 2 + 1)) / 2 AS e "
        f"FROM {_CUMULATED} GROUP BY class"
    ),
    AggregateFunction.MODE: (
        "SELECT class, p AS e FROM placed QUALIFY row_number() OVER (PARTITION BY class ORDER BY n DESC, p) = 1"
    ),
}
"""Per function, a query of the expected aggregate of each class."""


def _other_numbers(session: Session, j: int, aggregation: Aggregation, kind: ValueKind, type_: str) -> int:
    spread, largest = session.row("SELECT coalesce(max(p) - min(p), 0), coalesce(max(abs(p)), 0) FROM placed")
    slack = 0.0
    if aggregation.function is not AggregateFunction.MODE:
        # Logarithms of large numbers have fewer digits after the point.
        digits = 1000 if aggregation.function is AggregateFunction.GEOMETRIC_MEAN else 8
        slack = SLACK * spread + digits * _EPSILON * largest + _rounding(kind, type_)
    actual = f"abs({_position(f'r.a{j}', kind)} - x.e) <= {slack!r}"
    return _failing(session, _EXPECTED[aggregation.function], actual)


def _rounding(kind: ValueKind, type_: str) -> float:
    """The greatest distance of the nearest value of a released type."""
    match kind:
        case ValueKind.DATE:
            return 0.5
        case ValueKind.TIMESTAMP:
            # One whole microsecond: positions of late years have no more digits.
            return {"TIMESTAMP_S": 0.5, "TIMESTAMP_MS": 0.0005}.get(type_, 0) + 1e-6
        case _:
            return 0.0


def _failing(session: Session, expected: str, found: str) -> int:
    """How many classes differ from the expectation; `found` is a condition on the aliases `r` and `x`."""
    failing: int = session.value(
        f"SELECT count(*) FROM replaced AS r LEFT JOIN ({expected}) AS x USING (class) "
        f"WHERE NOT coalesce({found}, FALSE)"
    )
    return failing


def _other_intervals(session: Session, j: int, aggregation: Aggregation, kind: ValueKind) -> int:
    """Intervals that lack some values, whose ends are not on the grid, or that are wider than needed."""
    assert aggregation.grid is not None
    grid = aggregation.grid
    type_ = {ValueKind.DATE: "DATE", ValueKind.TIMESTAMP: "TIMESTAMP"}.get(kind, "DOUBLE")
    start = r"CASE WHEN a LIKE '[%' THEN regexp_extract(a, '^\[(.+), (.+)[\])]$', 1) WHEN a LIKE '>= %' THEN a[4:] END"
    end = r"CASE WHEN a LIKE '[%' THEN regexp_extract(a, '^\[(.+), (.+)[\])]$', 2) WHEN a LIKE '< %' THEN a[3:] END"
    low, high = (_position(f"TRY_CAST({bound} AS {type_})", kind) for bound in (start, end))
    written = "a = '*' OR a LIKE '< %' OR a LIKE '>= %' OR regexp_full_match(a, '\\[.+, .+[\\])]')"
    # A closed interval is of whole numbers or days, the last of which is in it.
    bounds = (
        f"SELECT class, {low} AS low, {high} + CASE WHEN a LIKE '%]' THEN 1 ELSE 0 END AS high, {written} AS written, "
        f"(a LIKE '[%]') = {kind in (ValueKind.INTEGER, ValueKind.DATE)} OR a NOT LIKE '[%' AS closed "
        f"FROM (SELECT class, a{j} AS a FROM replaced)"
    )
    members = (
        "SELECT class, min(p) AS least, max(p) AS most, bool_or(below) AS below, bool_or(bottom) AS bottom, "
        "bool_or(above) AS above, bool_or(top) AS top FROM placed GROUP BY class"
    )
    low_holds = (
        f"CASE WHEN low IS NULL THEN bottom ELSE NOT below AND low <= least AND {_multiple('low', grid, 1)} > least "
        f"AND {_on_grid('low', grid)} END"
    )
    high_holds = (
        f"CASE WHEN high IS NULL THEN top ELSE NOT above AND most < high AND {_multiple('high', grid, -1)} <= most "
        f"AND {_on_grid('high', grid)} END"
    )
    expected = f"SELECT * FROM ({bounds}) JOIN ({members}) USING (class)"
    return _failing(session, expected, f"written AND closed AND {low_holds} AND {high_holds}")


def _multiple(bound: str, grid: Decimal, steps: int) -> str:
    """The multiple of the grid that is so many steps from a bound, as the nearest float."""
    numerator, denominator = map(float, grid.as_integer_ratio())
    return f"((round({bound} / {float(grid)!r}) + {steps}) * {numerator!r} / {denominator!r})"


def _on_grid(bound: str, grid: Decimal) -> str:
    steps = f"abs({bound} / {float(grid)!r})"
    return f"abs({steps} - round({steps})) < greatest(1e-6, 1e-15 * {steps})"


# --- members and labels ---------------------------------------------------------------------------------------------


def _rank(session: Session, j: int, attribute: AttributePolicy) -> None:
    """`placed` has ranks in the policy's order as positions, `ranked` (p, value) which values have them."""
    order, value = attribute.order, "CAST(value AS VARCHAR)"
    values = f"(SELECT DISTINCT x{j} AS value FROM membership)"
    match order.by:
        case OrderBy.TYPE:
            key = "value"
        case OrderBy.NUMBER:
            key = f"TRY_CAST({value} AS DOUBLE)"
        case OrderBy.DATE:
            key = f"TRY_CAST({value} AS TIMESTAMP)"
    if order.values:
        listed = pa.table({"text": pa.array(order.values, pa.string()), "key": pa.array(range(len(order.values)))})
        with session.relation("listed_order", listed):
            _make_ranks(session, f"(SELECT o.key FROM listed_order AS o WHERE o.text = {value})", values)
    else:
        _make_ranks(session, key, values)
    session.stage(
        "placed",
        "SELECT m.class, r.p, sum(m.n)::BIGINT AS n FROM membership AS m "
        f"JOIN ranked AS r ON r.value IS NOT DISTINCT FROM m.x{j} GROUP BY m.class, r.p",
    )


def _make_ranks(session: Session, key: str, values: str) -> None:
    session.stage("ranked", f"SELECT row_number() OVER (ORDER BY {key}) AS p, value FROM {values}")


def _other_members(session: Session, j: int, aggregation: Aggregation, type_: str) -> int:
    """For an even number of ordinal values the median is the lower of the two in the middle."""
    expected = _EXPECTED[AggregateFunction.MODE]
    if aggregation.function is AggregateFunction.MEDIAN:
        expected = f"SELECT class, min(p) FILTER (upto >= (total + 1) // 2) AS e FROM {_CUMULATED} GROUP BY class"
    values = f"SELECT class, CAST(value AS {type_}) AS value FROM ({expected}) JOIN ranked ON p = e"
    return _failing(session, values, f"r.a{j} IS NOT DISTINCT FROM x.value AND x.value IS NOT NULL")


def _other_labels(session: Session, j: int, aggregate: WrittenAggregate) -> int:
    """Labels that some values lack, or that are above another common label."""
    assert aggregate.labels is not None
    labels = [f"CAST(h.{quoted(name)} AS VARCHAR)" for name in aggregate.labels.columns]
    common = " ".join(f"WHEN min({label}) = max({label}) THEN min({label})" for label in labels)
    expected = (
        f"SELECT m.class, CASE {common} END AS label FROM membership AS m "
        f"JOIN {quoted(aggregate.labels.table)} AS h ON h.value IS NOT DISTINCT FROM m.x{j} GROUP BY m.class"
    )
    return _failing(session, expected, f"r.a{j} = x.label")
