"""The page of a utility report: every column before and after, in pictures and numbers, and how columns go together."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

from tableveil import wording
from tableveil.charts import AFTER, BEFORE, Bars, HeatMap, Table, bars, heat_map
from tableveil.charts.page import add_table, head, heading, paragraph, text_of
from tableveil.usefulness import QUANTILES
from tableveil.v1 import utility_service_pb2
from tableveil.v1.utility_service_pb2 import ColumnUtility, Spread, UtilityReport

MOST_CHANGES = 30
"""Pairs of columns whose association changed most, which are listed."""

_STYLE = """
.columns { display: flex; flex-wrap: wrap; gap: 0 2rem; align-items: flex-start; }
.columns > * { flex: 1 1 20rem; min-width: 0; max-width: 34rem; }
h3 { font-size: 1rem; font-weight: normal; margin: 0.5rem 0 0.25rem; }
.key { display: inline-block; width: 0.9rem; height: 0.7rem; overflow: hidden; margin: 0 0.3rem 0 0.8rem; }
section { border-top: 1px solid #dddddd; margin-top: 1.5rem; }
ol { columns: 12rem; }
"""


def as_html(report: UtilityReport) -> str:
    """The text of an HTML file, which is well-formed XML too."""
    title = f"Usefulness of {report.release}"
    root, body = head(title, _STYLE)
    heading(body, "h1", title)
    for note in report.notes:
        paragraph(body, note)
    key = paragraph(body, "Shares of the records:")
    for color, word in ((BEFORE, "before"), (AFTER, "after")):
        sample = SubElement(key, "span", {"class": "key", "style": f"background:{color}"})
        # An element without a text would be written in a form that HTML takes for open.
        sample.text, sample.tail = "\N{NO-BREAK SPACE}", word
    for column in report.columns:
        _column(body, column)
    _associations(body, report)
    return text_of(root)


def _column(body: Element, column: ColumnUtility) -> None:
    section = SubElement(body, "section")
    heading(section, "h2", wording.printable(column.column))
    role = column.role.lower().replace("_", "-")
    told = f"{column.type}, {role}: {column.treatment}"
    if column.HasField("loss"):
        told += f"; SSE/SST {column.loss:.4f}" if column.squared_error else f"; loss {column.loss:.4f}"
    paragraph(section, wording.printable(told))
    pictures = SubElement(section, "div", {"class": "columns"})
    for drawn in _pictures(column):
        holder = SubElement(pictures, "div")
        heading(holder, "h3", drawn.title.rpartition(": ")[2])
        holder.append(bars(drawn))
    add_table(pictures, _statistics(column))


def _pictures(column: ColumnUtility) -> Iterator[Bars]:
    before, after = _shares(column.before), _shares(column.after)
    if set(after) <= set(before):
        lengths = [(length, after.get(label, 0.0)) for label, length in before.items()]
        yield Bars(f"{column.column}: before and after", list(before), lengths, (BEFORE, AFTER))
        return
    for word, spread, color in (("before", before, BEFORE), ("after", after, AFTER)):
        yield Bars(f"{column.column}: {word}", list(spread), [(length,) for length in spread.values()], (color,))


def _shares(spread: Spread) -> dict[str, float]:
    return {
        bin_.label if bin_.HasField("label") else "(nothing)": bin_.records / (spread.records or 1)
        for bin_ in spread.bins
    }


def _statistics(column: ColumnUtility) -> Table:
    sides = (column.before, column.after)
    rows = [
        ("records", *(wording.count(side.records) for side in sides)),
        ("missing", *(wording.count(side.missing) for side in sides)),
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
        for i, share in enumerate(QUANTILES):
            name = {0.0: "least", 0.5: "median", 1.0: "greatest"}.get(share, f"{share:.0%} quantile")
            rows.append((name, *(number(side.quantiles[i], column.type) if side.quantiles else "" for side in sides)))
    return Table(("", "before", "after"), rows, frozenset((1, 2)))


def number(value: float, type_: str) -> str:
    """A number, or the day that it stands for, as people write it."""
    if _is_date(type_):
        day = math.floor(value) + datetime.date(1970, 1, 1).toordinal()
        if 1 <= day <= datetime.date.max.toordinal():
            return datetime.date.fromordinal(day).isoformat()
    return f"{value:.6g}"


def _is_date(type_: str) -> bool:
    return type_ == "DATE" or type_.startswith("TIMESTAMP")


def _associations(body: Element, report: UtilityReport) -> None:
    if not report.associations:
        return
    section = SubElement(body, "section")
    heading(section, "h2", "How columns go together")
    paragraph(
        section,
        "Cramér's V, corrected for bias: 0 if one column tells nothing of the other, 1 if it tells all. Numbers are "
        "divided into ten parts for it. Darker is stronger; grey: not defined, because a column has a single value.",
    )
    names = list(dict.fromkeys(name for one in report.associations for name in (one.first, one.second)))
    columns = SubElement(section, "div", {"class": "columns"})
    for word in ("before", "after"):
        holder = SubElement(columns, "div")
        heading(holder, "h3", word)
        values = {
            (names.index(one.first), names.index(one.second)): getattr(one, word) if one.HasField(word) else None
            for one in report.associations
            if one.measure == "cramers_v"
        }
        holder.append(heat_map(HeatMap(f"Cramér's V {word}", names, values)))
    listed = SubElement(section, "ol")
    for name in names:
        SubElement(listed, "li").text = wording.printable(name)
    heading(section, "h3", "The greatest changes")
    columns_ = ("columns", "measure", "before", "after", "change")
    add_table(section, Table(columns_, changes(report), frozenset((2, 3, 4))))


def changes(report: UtilityReport) -> list[tuple[str, str, str, str, str]]:
    """Columns, measure, before, after and change, the greatest changes first; a measure undefined after is lost."""

    def change(one: utility_service_pb2.Association) -> float:
        return abs(one.after - one.before) if one.HasField("after") else abs(one.before)

    changed = sorted((one for one in report.associations if one.HasField("before")), key=change, reverse=True)
    return [
        (
            wording.printable(f"{one.first} and {one.second}"),
            "correlation" if one.measure == "correlation" else "Cramér's V",
            f"{one.before:.3f}",
            f"{one.after:.3f}" if one.HasField("after") else "none",
            f"{one.after - one.before:+.3f}" if one.HasField("after") else "",
        )
        for one in changed[:MOST_CHANGES]
    ]
