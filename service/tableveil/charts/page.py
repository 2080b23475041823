"""A page that holds a chart and the numbers it is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from tableveil.charts.line_chart import LineChart, drawing, printable

_STYLE = """
body { font-family: system-ui, sans-serif; color: #333333; background: #ffffff; margin: 1rem auto; max-width: 75rem;
  padding: 0 0.5rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem auto; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.6rem; border-bottom: 1px solid #dddddd; white-space: nowrap; }
.number { text-align: right; }
.text { text-align: left; }
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells below their columns' names; columns whose position is in `numbers` are aligned to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()


def page(chart: LineChart, table: Table) -> str:
    """The text of an HTML file, which is well-formed XML too."""
    root = Element("html", lang="en")
    head = SubElement(root, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    SubElement(head, "title").text = printable(chart.title)
    SubElement(head, "style").text = _STYLE
    body = SubElement(root, "body")
    body.append(drawing(chart))
    _table(SubElement(body, "div"), table)
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode") + "\n"


def _table(parent: Element, table: Table) -> None:
    element = SubElement(parent, "table")
    _row(SubElement(element, "thead"), "th", table.columns, table.numbers)
    body = SubElement(element, "tbody")
    for cells in table.rows:
        _row(body, "td", cells, table.numbers)


def _row(parent: Element, kind: str, cells: Sequence[str], numbers: frozenset[int]) -> None:
    row = SubElement(parent, "tr")
    for i, cell in enumerate(cells):
        element = SubElement(row, kind, {"class": "number" if i in numbers else "text"})
        # An element without a text would be written as one that HTML takes for open.
        element.text = printable(cell) or "\N{NO-BREAK SPACE}"
