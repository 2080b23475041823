"""Pages: headings, paragraphs, tables, and charts in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from tableveil.charts.line_chart import LineChart, drawing
from tableveil.charts.shapes import printable

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
    """The text of an HTML file with a chart and its numbers; it is well-formed XML, too."""
    root, body = head(chart.title)
    body.append(drawing(chart))
    add_table(body, table)
    return text_of(root)


def head(title: str, style: str = "") -> tuple[Element, Element]:
    """The root of a page, and its empty body; `style` is added to what all pages look like."""
    root = Element("html", lang="en")
    element = SubElement(root, "head")
    SubElement(element, "meta", charset="utf-8")
    SubElement(element, "meta", name="viewport", content="width=device-width, initial-scale=1")
    SubElement(element, "title").text = printable(title)
    SubElement(element, "style").text = _STYLE + style
    return root, SubElement(root, "body")


def heading(parent: Element, kind: str, text: str) -> Element:
    """A heading, `kind` being `h1`, `h2` or `h3`."""
    element = SubElement(parent, kind)
    element.text = printable(text)
    return element


def paragraph(parent: Element, text: str) -> Element:
    """A paragraph."""
    element = SubElement(parent, "p")
    element.text = printable(text)
    return element


def text_of(root: Element) -> str:
    """The page as the text of a file."""
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode") + "\n"


def add_table(parent: Element, table: Table) -> None:
    """A table, which scrolls by itself where it is too wide."""
    element = SubElement(SubElement(parent, "div"), "table")
    _row(SubElement(element, "thead"), "th", table.columns, table.numbers)
    body = SubElement(element, "tbody")
    for cells in table.rows:
        _row(body, "td", cells, table.numbers)


def _row(parent: Element, kind: str, cells: Sequence[str], numbers: frozenset[int]) -> None:
    row = SubElement(parent, "tr")
    for i, cell in enumerate(cells):
        element = SubElement(row, kind, {"class": "number" if i in numbers else "text"})
        # An element without a text would be written in a form that HTML takes for open.
        element.text = printable(cell) or "\N{NO-BREAK SPACE}"
