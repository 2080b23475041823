"""The page of a utility report: every column before and after, in pictures and numbers, and how columns go together."""

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from tableveil import wording
from tableveil.pages.charts import heat_map, share_bars
from tableveil.pages.environment import environment
from tableveil.v1 import utility_service_pb2
from tableveil.v1.utility_service_pb2 import ColumnUtility, Spread, UtilityReport
from tableveil.wording.rates import ABOUT_RATES, RATE_COLUMNS, RATES, moved_rates

MOST_CHANGES = 30
"""Pairs of columns whose association changed most, which are listed."""

_MOST_DRAWN = 30
"""Columns with charts; the numbers of all others are there."""

_SIDES: tuple[Literal["before"], Literal["after"]] = ("before", "after")

_EVERY_VALUE = "* (any value)"


@dataclass(frozen=True, slots=True)
class Distribution:
    """A chart of shares, and its numbers: a row for each label, with the records of each series."""

    caption: str
    chart: Markup
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def as_html(report: UtilityReport) -> str:
    """The text of an HTML file."""
    names = list(dict.fromkeys(name for one in report.associations for name in (one.first, one.second)))
    return (
        environment()
        .get_template("utility.html")
        .render(
            report=report,
            columns=[
                (column, _about(column), list(distributions(column)) if i < _MOST_DRAWN else [], _statistics(column))
                for i, column in enumerate(report.columns)
            ],
            drawn=_MOST_DRAWN,
            names=names,
            squares=[(side, _square(report, names, side)) for side in _SIDES if names],
            changes=changes(report),
            rates=(RATES, RATE_COLUMNS, list(moved_rates(report)), ABOUT_RATES),
        )
    )


def _about(column: ColumnUtility) -> str:
    text = f"{column.type}, {column.role.lower().replace('_', '-')}: {column.treatment}"
    if column.HasField("loss"):
        text += f"; SSE/SST {column.loss:.4f}" if column.squared_error else f"; loss {column.loss:.4f}"
    return text


def distributions(column: ColumnUtility) -> Iterator[Distribution]:
    """One chart of both sides, or two if no label of the source was released."""
    sides = {"before": _records(column, column.before), "after": _records(column, column.after)}
    before, after = sides.values()
    if not after or set(before) & set(after):
        yield _distribution(column.column, sides)
        return
    for word, counted in sides.items():
        yield _distribution(column.column, {word: counted})


def _distribution(name: str, sides: Mapping[str, Mapping[str, int]]) -> Distribution:
    labels = list(dict.fromkeys(label for counted in sides.values() for label in counted))
    shares = []
    for word, counted in sides.items():
        records = sum(counted.values()) or 1
        shares.append((word, [counted.get(label, 0) / records for label in labels]))
    title = f"{name}: {' and '.join(sides)}"
    rows = [(label, *(wording.count(counted.get(label, 0)) for counted in sides.values())) for label in labels]
    return Distribution(f"{title}, records", share_bars(title, labels, shares), ("value", *sides), rows)


def _records(column: ColumnUtility, spread: Spread) -> dict[str, int]:
    without = _EVERY_VALUE if spread is column.after and _is_generalized(column) else "(missing)"
    return {(bin_.label or "(empty text)") if bin_.HasField("label") else without: bin_.records for bin_ in spread.bins}


def _is_generalized(column: ColumnUtility) -> bool:
    """Whether a released label may stand for all values."""
    return column.HasField("loss") and not column.squared_error


def _statistics(column: ColumnUtility) -> list[tuple[str, ...]]:
    sides = (column.before, column.after)
    rows = [
        ("records", *(wording.count(side.records) for side in sides)),
        (
            "missing, or released as *" if _is_generalized(column) else "missing",
            *(wording.count(side.missing) for side in sides),
        ),
        ("different values", *(wording.count(side.distinct) for side in sides)),
    ]
    if any(side.HasField("mean") for side in sides):
        rows.append(("mean", *(number(side.mean, column.type) if side.HasField("mean") else "" for side in sides)))
        unit = " days" if _is_date(column.type) else ""
        rows.append(
            (
                "standard deviation",
                *(f"{math.sqrt(side.variance):.6g}{unit}" if side.HasField("variance") else "" for side in sides),
            )
        )
        rows.append(("variance", *(f"{side.variance:.6g}" if side.HasField("variance") else "" for side in sides)))
        # Its package loads numpy, which few commands need.
        from tableveil.usefulness import QUANTILES

        for i, share in enumerate(QUANTILES):
            name = {0.0: "least", 0.5: "median", 1.0: "greatest"}.get(share, f"{share:.0%} quantile")
            rows.append((name, *(number(side.quantiles[i], column.type) if side.quantiles else "" for side in sides)))
    return rows


def number(value: float, type_: str) -> str:
    """A number, or the day that it stands for, as people write it."""
    if _is_date(type_):
        day = math.floor(value) + datetime.date(1970, 1, 1).toordinal()
        if 1 <= day <= datetime.date.max.toordinal():
            return datetime.date.fromordinal(day).isoformat()
    return f"{value:.6g}"


def _is_date(type_: str) -> bool:
    return type_ == "DATE" or type_.startswith("TIMESTAMP")


def _square(report: UtilityReport, names: Sequence[str], word: Literal["before", "after"]) -> Markup:
    places = {name: place for place, name in enumerate(names)}
    values = {
        (places[one.first], places[one.second]): getattr(one, word) if one.HasField(word) else None
        for one in report.associations
        if one.measure == "cramers_v"
    }
    return heat_map(f"Cramér's V {word}", names, values)


def changes(report: UtilityReport) -> list[tuple[str, str, str, str, str]]:
    """Columns, measure, before, after and change, the greatest changes first; a measure undefined after is lost."""

    def change(one: utility_service_pb2.Association) -> float:
        return abs(one.after - one.before) if one.HasField("after") else abs(one.before)

    changed = sorted((one for one in report.associations if one.HasField("before")), key=change, reverse=True)
    return [
        (
            f"{one.first} and {one.second}",
            "correlation" if one.measure == "correlation" else "Cramér's V",
            f"{one.before:.3f}",
            f"{one.after:.3f}" if one.HasField("after") else "none",
            f"{one.after - one.before:+.3f}" if one.HasField("after") else "",
        )
        for one in changed[:MOST_CHANGES]
    ]
