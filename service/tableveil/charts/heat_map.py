"""A square of shades as SVG: how strongly each of several things is associated with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from tableveil.charts.shapes import printable

_CELL, _EDGE, _TEXT = 22, 26, 12
_INK, _NONE = "#333333", "#f2f2f2"
_DARKEST = (0, 62, 116)


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Values from 0 to 1 (or None) by the positions of two names, the lesser first; names stand beside it, numbered."""

    title: str
    names: Sequence[str]
    values: Mapping[tuple[int, int], float | None]


def heat_map(drawn: HeatMap) -> Element:
    """The square as an `svg` element; each cell shows its value under the pointer."""
    number = len(drawn.names)
    side = _EDGE + number * _CELL
    root = Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    root.set("viewBox", f"0 0 {side} {side}")
    root.set("font-family", "system-ui, sans-serif")
    root.set("style", f"width:100%;max-width:{min(side * 1.3, 460):g}px;height:auto;display:block")
    SubElement(root, "title").text = printable(drawn.title)
    for i in range(number):
        centre = _EDGE + i * _CELL + _CELL / 2
        _text(root, str(i + 1), centre, _EDGE - 8)
        _text(root, str(i + 1), _EDGE / 2, centre + 4)
        for j in range(number):
            if i == j:
                continue
            value = drawn.values.get((min(i, j), max(i, j)))
            cell = SubElement(root, "rect", fill=_shade(value))
            cell.set("x", f"{_EDGE + j * _CELL}")
            cell.set("y", f"{_EDGE + i * _CELL}")
            cell.set("width", f"{_CELL - 1}")
            cell.set("height", f"{_CELL - 1}")
            told = "not defined" if value is None else f"{value:.3f}"
            SubElement(cell, "title").text = printable(f"{drawn.names[i]} and {drawn.names[j]}: {told}")
    return root


def _shade(value: float | None) -> str:
    if value is None:
        return _NONE
    weight = min(max(abs(value), 0.0), 1.0)
    red, green, blue = (round(255 + (dark - 255) * weight) for dark in _DARKEST)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _text(parent: Element, text: str, x: float, y: float) -> None:
    element = SubElement(parent, "text", {"fill": _INK, "text-anchor": "middle", "font-size": str(_TEXT)})
    element.set("x", f"{x:g}")
    element.set("y", f"{y:g}")
    element.text = text
