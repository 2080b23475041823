"""Microaggregation's promises about a written table, transcribed: a column of tags identifies classes' members."""

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from statistics import fmean
from typing import Any

from tableveil.backend import Session
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AggregateFunction, AttributePolicy, Policy, Role, Scale

Row = dict[str, Any]

DAY_ZERO = datetime.date(1970, 1, 1)


def read_rows(session: Session, query: str) -> list[Row]:
    names = [name for name, *_ in session.rows(f"DESCRIBE {query}")]
    return [dict(zip(names, row, strict=True)) for row in session.rows(query)]


def classes_of(policy: Policy, source: Sequence[Row], released: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """Per combination of released values, the rows of the source that have it, found by `tag`."""
    names = [attribute.column for attribute in policy.aggregated]
    by_tag = {row["tag"]: row for row in source}
    classes = defaultdict(list)
    for row in released:
        classes[tuple(row[name] for name in names)].append(by_tag[row["tag"]])
    return dict(classes)


def check_aggregates(policy: Policy, source: Sequence[Row], released: Sequence[Row]) -> None:
    """Every released value is its function's aggregate of the values of all records with equal other values."""
    for shown, members in classes_of(policy, source, released).items():
        for attribute, value in zip(policy.aggregated, shown, strict=True):
            assert attribute.aggregation is not None
            check = CHECKS[attribute.aggregation.function]
            values = [coded(attribute, member[attribute.column]) for member in members]
            assert check(attribute, values, value), (attribute.column, values, value)
    for row in released:
        original = next(other for other in source if other["tag"] == row["tag"])
        for attribute in policy.attributes:
            if attribute.role in (Role.SENSITIVE, Role.INSENSITIVE):
                assert row[attribute.column] == original[attribute.column]


def coded(attribute: AttributePolicy, value: Any) -> Any:
    assert attribute.aggregation is not None
    bottom, top = attribute.aggregation.bottom_coding, attribute.aggregation.top_coding
    kind = datetime.date.fromisoformat if isinstance(value, datetime.date) else type(value)
    if bottom and value < kind(bottom):
        return kind(bottom)
    return kind(top) if top and value > kind(top) else value


def near(one: Any, other: Any) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def mean(attribute: AttributePolicy, values: Sequence[Any], shown: Any) -> bool:
    if isinstance(shown, datetime.date):
        return abs(fmean((value - DAY_ZERO).days for value in values) - (shown - DAY_ZERO).days) <= 0.5
    return near(float(sum(map(Fraction, values)) / len(values)), shown)


def geometric_mean(attribute: AttributePolicy, values: Sequence[Any], shown: Any) -> bool:
    return near(math.exp(fmean(map(math.log, values))), shown)


def median(attribute: AttributePolicy, values: Sequence[Any], shown: Any) -> bool:
    assert attribute.aggregation is not None
    ordered = sorted(values, key=rank_of(attribute))
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    if attribute.aggregation.scale is Scale.ORDINAL:
        return bool(shown == low)
    if isinstance(shown, datetime.date):
        middle = ((low - DAY_ZERO).days + (high - DAY_ZERO).days) / 2
        return bool(abs(middle - (shown - DAY_ZERO).days) <= 0.5)
    return near((float(low) + float(high)) / 2, shown)


def mode(attribute: AttributePolicy, values: Sequence[Any], shown: Any) -> bool:
    counts = Counter(values)
    most = max(counts.values())
    return bool(shown == min((v for v, n in counts.items() if n == most), key=rank_of(attribute)))


def interval(attribute: AttributePolicy, values: Sequence[Any], shown: Any) -> bool:
    """The label of the ends that are the nearest multiples of the grid; open where a coding is reached."""
    aggregation = attribute.aggregation
    assert aggregation is not None
    assert aggregation.grid is not None
    assert all(isinstance(value, int) for value in values)
    grid, low, high = int(aggregation.grid), min(values), max(values)
    start, end = low // grid * grid, (high // grid + 1) * grid
    closed = [start if low > int(aggregation.bottom_coding or -(10**9)) else None]
    closed += [end if high < int(aggregation.top_coding or 10**9) else None]
    match closed:
        case [None, None]:
            return bool(shown == "*")
        case [None, _]:
            return bool(shown == f"< {end}")
        case [_, None]:
            return bool(shown == f">= {start}")
    return bool(shown == f"[{start}, {end - 1}]")


def common_label(attribute: AttributePolicy, values: Sequence[Any], shown: Any) -> bool:
    assert isinstance(attribute.hierarchy, InlineLevels)
    rows = [next(row for row in attribute.hierarchy.rows if row[0] == value) for value in values]
    lowest = next(labels for labels in zip(*rows, strict=True) if len(set(labels)) == 1)
    return bool(shown == lowest[0])


CHECKS: Mapping[AggregateFunction, Callable[[AttributePolicy, Sequence[Any], Any], bool]] = {
    AggregateFunction.MEAN: mean,
    AggregateFunction.MEDIAN: median,
    AggregateFunction.MODE: mode,
    AggregateFunction.GEOMETRIC_MEAN: geometric_mean,
    AggregateFunction.INTERVAL: interval,
    AggregateFunction.COMMON_LABEL: common_label,
}


def rank_of(attribute: AttributePolicy) -> Callable[[Any], Any]:
    listed = {value: i for i, value in enumerate(attribute.order.values)}
    return lambda value: listed[value] if listed else value


# --- privacy models -------------------------------------------------------------------------------------------------


def equal_distance(part: Iterable[Any], whole: Iterable[Any]) -> Fraction:
    """Half the sum of the differences of shares."""
    p, q = shares(part), shares(whole)
    return sum((abs(p.get(v, Fraction(0)) - share) for v, share in q.items()), Fraction(0)) / 2


def ordered_distance(part: Iterable[Any], whole: Iterable[Any]) -> Fraction:
    """The sum of the mass moved over every step between neighbouring ranks, divided by the number of steps."""
    p, q = shares(part), shares(whole)
    values = sorted(q)
    carried, moved = Fraction(0), Fraction(0)
    for value in values[:-1]:
        carried += p.get(value, Fraction(0)) - q[value]
        moved += abs(carried)
    return moved / max(len(values) - 1, 1)


def shares(values: Iterable[Any]) -> dict[Any, Fraction]:
    counts = Counter(values)
    return {value: Fraction(n, counts.total()) for value, n in counts.items()}


def within(distance: Fraction, t: Decimal) -> bool:
    return distance <= Fraction(t)
