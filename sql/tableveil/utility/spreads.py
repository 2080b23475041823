"""How one column spreads over its values, in the source and in the release."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, number, sql, text
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.bounds import Point, read_bounds
from tableveil.hierarchy.labelled import TOP_LABEL
from tableveil.hierarchy.levels import middle_reader
from tableveil.usefulness import QUANTILES, Bin, ColumnSpread
from tableveil.utility.compared import Compared, Sides

MOST_BINS = 20
"""The most bars of a histogram, and categories shown."""

MOST_LABELS = 100_000
"""Up to this number of labels, the numbers they stand for are read from them."""

OTHERS = "(others)"

_BOUNDS = {
    ValueKind.INTEGER: ValueKind.INTEGER,
    ValueKind.DECIMAL: ValueKind.FLOAT,
    ValueKind.FLOAT: ValueKind.FLOAT,
    ValueKind.DATE: ValueKind.DATE,
    ValueKind.TIMESTAMP: ValueKind.TIMESTAMP,
}
"""The kinds of bounds that labels have."""

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DIGITS = 12


def spreads(session: Session, sides: Sides, compared: Compared) -> tuple[ColumnSpread, ColumnSpread]:
    """The column before and after; where both have numbers, their bins are the same intervals."""
    if not compared.has_numbers:
        before = _of_categories(session, sides.before(), compared, original=True, first=())
        after = _of_categories(
            session, sides.after(), compared, original=False, first=[bin_.label for bin_ in before.bins]
        )
        return before, after
    grid = _grid(session, sides.before(), compared)
    before = _of_numbers(session, sides.before(), compared, grid)
    if not compared.labelled:
        return before, _of_numbers(session, sides.after(), compared, grid)
    return before, _of_labels(session, sides.after(), compared, grid)


# --- numbers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Grid:
    """Intervals [start + i * step, start + (i + 1) * step) for i < bins, divided by `scale` so that none overflows."""

    kind: ValueKind
    scale: float
    start: float
    step: float
    bins: int

    def position(self, value: float) -> int:
        return min(max(math.floor((value / self.scale - self.start) / self.step), 0), self.bins - 1)

    def shares(self, label: str, middle: float) -> NDArray[np.float64]:
        """The share of each interval in the values under a label, and an open one ends with the grid."""
        bounds = read_bounds(_BOUNDS[self.kind], label)
        held = np.zeros(self.bins)
        if bounds is None or bounds.low == bounds.high:
            held[self.position(middle)] = 1.0
            return held
        edges = self.start + self.step * np.arange(self.bins + 1)
        low = edges[0] if bounds.low is None else _as_number(bounds.low) / self.scale
        high = edges[-1] if bounds.high is None else _as_number(bounds.high) / self.scale
        if bounds.high is not None and bounds.high_included and self.kind in (ValueKind.INTEGER, ValueKind.DATE):
            high += 1.0 / self.scale
        within = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0.0, None)
        if not within.sum():
            held[self.position(middle)] = 1.0
            return held
        return np.asarray(within / within.sum(), np.float64)

    def label(self, position: int) -> str:
        low, high = (_shown((self.start + i * self.step) * self.scale, self.kind) for i in (position, position + 1))
        # Two dates are too long for a label; the next one begins where this one ends.
        return f"from {low}" if self.kind in (ValueKind.DATE, ValueKind.TIMESTAMP) else f"[{low}, {high})"


def _grid(session: Session, rows: exp.Expr, compared: Compared) -> _Grid | None:
    """Round intervals that span the numbers; None if there are none."""
    value = compared.number("rows")
    low, high = session.row(exp.select(exp.Min(this=value), exp.Max(this=value.copy())).from_(rows))
    if low is None:
        return None
    scale = max(abs(low), abs(high)) or 1.0
    # A power of two: dividing by it loses nothing.
    scale = 2.0 ** (math.frexp(scale)[1] - 1) if scale < 2.0**-500 or scale > 2.0**500 else 1.0
    span = (high - low) if scale == 1.0 else high / scale - low / scale
    whole = compared.kind in (ValueKind.INTEGER, ValueKind.DATE)
    if span == 0:
        span = 1.0 if scale == 1.0 else abs(low) / scale
    power = 10.0 ** math.floor(math.log10(span / MOST_BINS))
    step = next(step for step in (power * factor for factor in (1, 2, 5, 10, 20, 50)) if span / step < MOST_BINS - 1)
    step = max(step, 1.0) if whole else step
    start = math.floor(low / scale / step) * step
    bins = max(1, math.floor((high / scale - start) / step) + 1)
    return _Grid(compared.kind, scale, start, step, bins)


def _of_numbers(session: Session, rows: exp.Expr, compared: Compared, grid: _Grid | None) -> ColumnSpread:
    value = compared.number("rows")
    numbers = exp.select(alias(value, "x")).from_(rows).subquery("numbers")
    count, present = session.row(sql("SELECT count(*), count(x) FROM $numbers", numbers=numbers))
    if grid is None or not present:
        return ColumnSpread(count, count, 0, None, None, (), (Bin(None, count),) if count else ())
    measures = "SELECT avg(x / $1), var_pop(x / $1), quantile_cont(x, [$quantiles]) FROM $numbers"
    quantile_list = [exp.Literal.number(q) for q in QUANTILES]
    mean, variance, quantiles = session.row(sql(measures, quantiles=quantile_list, numbers=numbers), [grid.scale])
    distinct = "SELECT count(*) FROM (SELECT DISTINCT x FROM $numbers WHERE x IS NOT NULL) AS different"
    different = session.value(sql(distinct, numbers=numbers))
    counted = sql(
        "SELECT greatest(0, least($last, CAST(floor((x / $1 - $2) / $3) AS BIGINT))) AS bin, count(*) FROM $numbers "
        "WHERE x IS NOT NULL GROUP BY 1",
        last=number(grid.bins - 1),
        numbers=numbers,
    )
    held = dict(session.rows(counted, [grid.scale, grid.start, grid.step]))
    bins = [Bin(grid.label(i), held.get(i, 0)) for i in range(grid.bins)]
    bins += [Bin(None, count - present)] if count > present else []
    return ColumnSpread(
        count,
        count - present,
        different,
        mean * grid.scale,
        variance * grid.scale * grid.scale,
        tuple(quantiles),
        tuple(bins),
    )


# --- labels ---------------------------------------------------------------------------------------------------------


def _of_labels(session: Session, rows: exp.Expr, compared: Compared, grid: _Grid | None) -> ColumnSpread:
    """The spread of labels that stand for numbers: records spread evenly over the interval of their label."""
    read = middle_reader(compared.kind)
    assert read is not None
    label = column(compared.name, "rows")
    counted = exp.select(label, exp.Count(this=exp.Star())).from_(rows).group_by(label.copy())
    counts = session.rows(counted.order_by(label.copy()).limit(MOST_LABELS + 1))
    if len(counts) > MOST_LABELS:
        return _of_categories(session, rows.copy(), compared, original=False, first=())
    records = sum(count for _, count in counts)
    labels = [(text, count) for text, count in counts if text not in (None, TOP_LABEL)]
    missing = records - sum(count for _, count in labels)
    different = sum(text is not None for text, _ in counts)
    middles = [(read(text), text, count) for text, count in labels]
    in_order = sorted((middle, text, count) for middle, text, count in middles if middle is not None)
    unknown = [(text, count) for middle, text, count in middles if middle is None]
    if grid is None:
        bins = [Bin(text, count) for _, text, count in in_order]
    else:
        held = np.zeros(grid.bins)
        for middle, text, count in in_order:
            held += count * grid.shares(text, middle)
        # Whole records, as many in all as there are.
        whole = np.diff(np.rint(np.cumsum(held)), prepend=0.0)
        bins = [Bin(grid.label(i), int(records)) for i, records in enumerate(whole)]
    shown = unknown if len(unknown) <= MOST_BINS else [(OTHERS, sum(count for _, count in unknown))]
    bins += [Bin(text, count) for text, count in shown]
    bins += [Bin(None, missing)] if missing else []
    if unknown or not in_order:
        return ColumnSpread(records, missing, different, None, None, (), tuple(bins))
    values = np.array([middle for middle, _, _ in in_order])
    weights = np.array([count for _, _, count in in_order], np.float64)
    mean = float(np.average(values, weights=weights))
    variance = float(np.average((values - mean) ** 2, weights=weights))
    return ColumnSpread(records, missing, different, mean, variance, _quantiles(values, weights), tuple(bins))


def _quantiles(values: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, ...]:
    """Quantiles of ascending values with weights, interpolated as DuckDB's quantile_cont does."""
    last = np.cumsum(weights) - 1
    places = np.array(QUANTILES) * (weights.sum() - 1)
    low = values[np.searchsorted(last, np.floor(places))]
    high = values[np.searchsorted(last, np.ceil(places))]
    return tuple((low + (high - low) * (places - np.floor(places))).tolist())


# --- categories -----------------------------------------------------------------------------------------------------


def _of_categories(
    session: Session, rows: exp.Expr, compared: Compared, *, original: bool, first: Sequence[str | None]
) -> ColumnSpread:
    """The most frequent categories; those in `first` come first, in its order."""
    value = cast(column(compared.name, "rows"), "VARCHAR")
    counted = sql("SELECT $value AS label, count(*) AS n FROM $rows GROUP BY 1", value=value, rows=rows)
    counts = counted.subquery("counted")
    nothing = "label IS NULL"
    if compared.generalized and not original:
        nothing = "label IS NULL OR label = $top"
    # `*` is one of the labels that an account of the release counts.
    totals = f"SELECT coalesce(sum(n), 0), coalesce(sum(n) FILTER (WHERE {nothing}), 0), count(label) FROM $counts"
    records, missing, distinct = map(int, session.row(sql(totals, counts=counts, top=text(TOP_LABEL))))
    most = f"SELECT label, n FROM $counts WHERE NOT ({nothing}) ORDER BY n DESC, label LIMIT $most"
    labels = sql(most, counts=counts, top=text(TOP_LABEL), most=number(MOST_BINS))
    shown = dict(session.rows(labels))
    ordered = [label for label in first if label in shown]
    ordered += [label for label in shown if label not in ordered]
    bins = [Bin(label, int(shown[label])) for label in ordered]
    others = records - missing - sum(shown.values())
    bins += [Bin(OTHERS, int(others))] if others else []
    bins += [Bin(None, missing)] if missing else []
    return ColumnSpread(records, missing, distinct, None, None, (), tuple(bins))


def _as_number(point: Point) -> float:
    """The number, or the days since 1970-01-01."""
    if isinstance(point, datetime.datetime):
        return (point - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    return float(point.toordinal() - _EPOCH if isinstance(point, datetime.date) else point)


def _shown(value: float, kind: ValueKind) -> str:
    """An end of an interval, as people write it."""
    if kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
        day = math.floor(value) + _EPOCH
        if 1 <= day <= datetime.date.max.toordinal():
            return datetime.date.fromordinal(day).isoformat()
    return f"{value:.{_DIGITS}g}"
