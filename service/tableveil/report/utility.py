"""The page of a utility report: every column before and after, in pictures and numbers, and how columns go together."""

import datetime
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from tableveil import wording
from tableveil.pages import heat_map, share_bars
from tableveil.report.model import Figure, Grid, Part, Report, Section, Sentences, SideBySide, Words
from tableveil.v1 import utility_service_pb2
from tableveil.v1.utility_service_pb2 import ColumnUtility, Spread, UtilityReport

MOST_CHANGES = 30
"""Pairs of columns whose association changed most, which are listed."""

CHANGE = ("columns", "measure", "before", "after", "change")
"""The heads of their table's columns."""

ABOUT_RATES = (
    "A rate is the share of a label's records that have a value, of labels that at least 30 people have in the source "
    "and in the release. A reader of the release computes the second one."
)

_MOST_DRAWN = 30
"""Columns with charts; the numbers of all others are there."""

_SIDES: tuple[Literal["before"], Literal["after"]] = ("before", "after")

_EVERY_VALUE = "* (any value)"

_ABOUT_SQUARES = (
    "Cramér\N{RIGHT SINGLE QUOTATION MARK}s V, corrected for bias: 0 if one column tells nothing of the other, 1 if it "
    "tells all. Numbers are divided into ten parts for it. Darker is stronger; grey: not defined, because a column has "
    "a single value. The table below has the numbers."
)


def page(report: UtilityReport) -> Report:
    """The page of a report."""
    return Report(
        title=f"Usefulness of {report.release}",
        edition="For the owner of the source: it shows values of the source.",
        opening=(Sentences(tuple(report.notes)), *_drawn(report)),
        sections=tuple(_sections(report)),
    )


def _drawn(report: UtilityReport) -> Iterator[Words]:
    if len(report.columns) > _MOST_DRAWN:
        yield Words(f"The first {_MOST_DRAWN} of {len(report.columns)} columns have charts; all have their numbers.")


def _sections(report: UtilityReport) -> Iterator[Section]:
    for i, column in enumerate(report.columns):
        drawn = distributions(column) if i < _MOST_DRAWN else ()
        rows = tuple(_statistics(column))
        figures = Grid(f"{column.column}: figures", ("", *_SIDES), rows, frozenset({1, 2}))
        yield Section("", column.column, (Words(_about(column)), *drawn, figures))
    if report.rates:
        rates = moved_rates(report)
        yield Section("", rates.caption, (Words(ABOUT_RATES), rates))
    if report.associations:
        yield Section("", "How columns go together", tuple(_together(report)))


def _together(report: UtilityReport) -> Iterator[Part]:
    names = tuple(dict.fromkeys(name for one in report.associations for name in (one.first, one.second)))
    yield Words(_ABOUT_SQUARES)
    yield SideBySide(tuple((Figure(partial(_square, report, names, side), side),) for side in _SIDES))
    yield Sentences(names, numbered=True)
    yield Grid("The greatest changes", CHANGE, changes(report, MOST_CHANGES), frozenset({2, 3, 4}))


def _about(column: ColumnUtility) -> str:
    text = f"{column.type}, {column.role.lower().replace('_', '-')}: {column.treatment}"
    if column.HasField("loss"):
        text += f"; SSE/SST {column.loss:.4f}" if column.squared_error else f"; loss {column.loss:.4f}"
    return text


def distributions(column: ColumnUtility) -> Iterator[Figure]:
    """One chart of both sides, or two if no label of the source was released."""
    sides = {"before": _records(column, column.before), "after": _records(column, column.after)}
    before, after = sides.values()
    if not after or set(before) & set(after):
        yield _distribution(column.column, sides)
        return
    for word, counted in sides.items():
        yield _distribution(column.column, {word: counted})


def _distribution(name: str, sides: Mapping[str, Mapping[str, int]]) -> Figure:
    labels = list(dict.fromkeys(label for counted in sides.values() for label in counted))
    shares = []
    for word, counted in sides.items():
        records = sum(counted.values()) or 1
        shares.append((word, [counted.get(label, 0) / records for label in labels]))
    title = f"{name}: {' and '.join(sides)}"
    rows = tuple((label, *(wording.count(counted.get(label, 0)) for counted in sides.values())) for label in labels)
    numbers = Grid(f"{title}, records", ("value", *sides), rows, frozenset({1, 2}))
    return Figure(partial(share_bars, title, labels, shares), numbers=numbers)


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


def columns(report: UtilityReport) -> Grid:
    """A row for each column, with what it was and what it became."""
    heads = ("column", "treatment", "loss", "different values", "mean", "standard deviation", "median")
    rows = tuple(
        (
            column.column,
            column.treatment,
            f"{column.loss:.4f}" if column.HasField("loss") else "",
            _both(column, lambda side, _: wording.count(side.distinct)),
            _both(column, _mean),
            _both(column, lambda side, _: f"{math.sqrt(side.variance):.6g}" if side.HasField("variance") else ""),
            _both(column, _median),
        )
        for column in report.columns
    )
    return Grid(f"{report.name} of {report.release}: before → after", heads, rows, frozenset(range(2, 7)))


def _both(column: ColumnUtility, told: Callable[[Spread, str], str]) -> str:
    first, second = told(column.before, column.type), told(column.after, column.type)
    return first if first == second else f"{first or 'none'} → {second or 'none'}"


def _mean(side: Spread, type_: str) -> str:
    return number(side.mean, type_) if side.HasField("mean") else ""


def _median(side: Spread, type_: str) -> str:
    # Its package loads numpy, which the command does not need before it shows numbers.
    from tableveil.usefulness import QUANTILES

    return number(side.quantiles[QUANTILES.index(0.5)], type_) if side.quantiles else ""


def number(value: float, type_: str) -> str:
    """A number, or the day that it stands for, as people write it."""
    if _is_date(type_):
        day = math.floor(value) + datetime.date(1970, 1, 1).toordinal()
        if 1 <= day <= datetime.date.max.toordinal():
            return datetime.date.fromordinal(day).isoformat()
    return f"{value:.6g}"


def _is_date(type_: str) -> bool:
    return type_ == "DATE" or type_.startswith("TIMESTAMP")


def _square(report: UtilityReport, names: Sequence[str], word: Literal["before", "after"]) -> str:
    places = {name: place for place, name in enumerate(names)}
    values = {
        (places[one.first], places[one.second]): getattr(one, word) if one.HasField(word) else None
        for one in report.associations
        if one.measure == "cramers_v"
    }
    return heat_map(f"Cramér's V {word}", names, values)


def changes(report: UtilityReport, most: int) -> tuple[tuple[str, ...], ...]:
    """Columns, measure, before, after and change, the greatest changes first; a measure undefined after is lost."""

    def change(one: utility_service_pb2.Association) -> float:
        return abs(one.after - one.before) if one.HasField("after") else abs(one.before)

    changed = sorted((one for one in report.associations if one.HasField("before")), key=change, reverse=True)
    return tuple(
        (
            f"{one.first} and {one.second}",
            "correlation" if one.measure == "correlation" else "Cramér's V",
            f"{one.before:.3f}",
            f"{one.after:.3f}" if one.HasField("after") else "none",
            f"{one.after - one.before:+.3f}" if one.HasField("after") else "",
        )
        for one in changed[:most]
    )


def moved_rates(report: UtilityReport) -> Grid:
    """The rates of values under labels that moved most."""
    rows = tuple(
        (
            _named(one.column, one.label if one.HasField("label") else None),
            _named(one.of, one.value if one.HasField("value") else None),
            f"{wording.share(one.having_before / one.records_before)} of {wording.count(one.records_before)}",
            f"{wording.share(one.having_after / one.records_after)} of {wording.count(one.records_after)}",
        )
        for one in report.rates
    )
    return Grid("Rates that moved most", ("label", "value", "source", "release"), rows, frozenset({2, 3}))


def _named(column: str, text: str | None) -> str:
    shown = "NULL" if text is None else "(empty text)" if text == "" else wording.short(text)
    return f"{wording.short(column)}: {shown}"
