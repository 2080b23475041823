"""Line charts as SVG, whose lines differ in dash and marker, not in colour alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from xml.etree.ElementTree import Element, SubElement, tostring

from tableveil.charts.ticks import label, ticks

WIDTH = 720
"""In the units of the drawing, which is scaled to the place it is shown in; texts are readable from 400 pixels on."""

_LEFT, _RIGHT, _TOP, _PLOT_HEIGHT, _BELOW = 84, 696, 80, 380, 66
_TITLE, _TEXT = 20, 16
_SAMPLE, _ROW, _GAP = 44, 24, 16
# Of one character, in parts of the size: what sans-serif fonts take on average.
_CHARACTER = 0.52
_MOST_MARKERS = 25
_INK, _GRID = "#333333", "#dddddd"


class Marker(StrEnum):
    """What stands at the points of a line."""

    CIRCLE = "CIRCLE"
    SQUARE = "SQUARE"
    TRIANGLE = "TRIANGLE"
    DIAMOND = "DIAMOND"
    CROSS = "CROSS"


_SHAPES = {
    Marker.CIRCLE: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    Marker.SQUARE: "M-4,-4h8v8h-8z",
    Marker.TRIANGLE: "M0,-5L5,4H-5z",
    Marker.DIAMOND: "M0,-6L5,0L0,6L-5,0z",
    Marker.CROSS: "M-4,-4L4,4M-4,4L4,-4",
}


@dataclass(frozen=True, slots=True)
class Style:
    """How a line looks: `dashes` as in SVG's stroke-dasharray, empty for a whole line; hollow or filled markers."""

    color: str
    dashes: str
    marker: Marker
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """One line: `points` are (x, y), by x."""

    label: str
    points: Sequence[tuple[float, float]]
    style: Style


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines over a common axis; parts of them below `lowest`, if given, are cut off, and the chart says so."""

    title: str
    subtitle: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    lowest: float | None = None


def svg(chart: LineChart) -> str:
    """The chart as the text of an SVG file."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(drawing(chart), encoding="unicode") + "\n"


def drawing(chart: LineChart) -> Element:
    """The chart as an `svg` element, which may stand alone or in a page."""
    xs = [x for series in chart.series for x, _ in series.points]
    ys = [y for series in chart.series for _, y in series.points]
    bottom, cut = min(ys), False
    if chart.lowest is not None and bottom < chart.lowest:
        bottom, cut = chart.lowest, True
    x_ticks, y_ticks = ticks(min(xs), max(xs)), ticks(bottom, max(ys))
    x_of, y_of = _scale(x_ticks, _LEFT, _RIGHT), _scale(y_ticks, _TOP + _PLOT_HEIGHT, _TOP)
    columns = _legend_columns(chart.series)
    legend_top = _TOP + _PLOT_HEIGHT + _BELOW + (_ROW if cut else 0)
    height = legend_top + _ROW * math.ceil(len(chart.series) / columns)
    root = _root(chart, height)
    _text(root, chart.title, _LEFT, 28, _TITLE, weight="bold")
    _text(root, chart.subtitle, _LEFT, 54, _TEXT)
    _axes(root, x_ticks, y_ticks, x_of, y_of)
    _text(root, chart.x_label, (_LEFT + _RIGHT) / 2, _TOP + _PLOT_HEIGHT + 46, _TEXT, anchor="middle")
    turned = _text(root, chart.y_label, 0, 0, _TEXT, anchor="middle")
    turned.set("transform", f"translate(20,{_TOP + _PLOT_HEIGHT / 2:g}) rotate(-90)")
    if cut:
        note = f"Lines end at {label(bottom)}: what is lower is not drawn."
        _text(root, note, (_LEFT + _RIGHT) / 2, _TOP + _PLOT_HEIGHT + 70, _TEXT, anchor="middle")
    clip = SubElement(SubElement(root, "clipPath", id="plot"), "rect")
    # A little more than the plot, so that markers on its edges are whole.
    _set(clip, x=_LEFT - 7, y=_TOP - 7, width=_RIGHT - _LEFT + 14, height=_PLOT_HEIGHT + 7 + (0 if cut else 7))
    plot = SubElement(root, "g", {"clip-path": "url(#plot)"})
    for series in chart.series:
        _line(plot, series, [(x_of(x), y_of(y)) for x, y in series.points])
    for i, series in enumerate(chart.series):
        row, column = i // columns, i % columns
        x, y = _GAP + column * (WIDTH - _GAP) / columns, legend_top + _ROW * row
        _line(root, series, [(x, y), (x + _SAMPLE / 2, y), (x + _SAMPLE, y)], markers=slice(1, 2))
        _text(root, series.label, x + _SAMPLE + 8, y + 5, _TEXT)
    return root


def _root(chart: LineChart, height: float) -> Element:
    root = Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    root.set("viewBox", f"0 0 {WIDTH} {height:g}")
    root.set("font-family", "system-ui, sans-serif")
    root.set("style", f"width:100%;max-width:{WIDTH * 1.25:g}px;height:auto;display:block;margin:0 auto")
    SubElement(root, "title").text = printable(chart.title)
    SubElement(root, "desc").text = printable(f"{chart.y_label} against {chart.x_label}. {chart.subtitle}")
    _set(SubElement(root, "rect", fill="#ffffff"), width=WIDTH, height=height)
    return root


def _axes(
    root: Element,
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    x_of: Callable[[float], float],
    y_of: Callable[[float], float],
) -> None:
    base = _TOP + _PLOT_HEIGHT
    for tick in x_ticks:
        x = x_of(tick)
        _rule(root, (x, _TOP), (x, base), _GRID)
        _text(root, label(tick), x, base + 22, _TEXT, anchor="middle")
    for tick in y_ticks:
        y = y_of(tick)
        _rule(root, (_LEFT, y), (_RIGHT, y), _INK if tick == 0 else _GRID)
        _text(root, label(tick), _LEFT - 8, y + 5, _TEXT, anchor="end")
    _rule(root, (_LEFT, _TOP), (_LEFT, base), _INK)
    _rule(root, (_LEFT, base), (_RIGHT, base), _INK)


def _scale(marks: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    low, high = marks[0], marks[-1]
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _line(parent: Element, series: Series, points: Sequence[tuple[float, float]], markers: slice | None = None) -> None:
    style = series.style
    group = SubElement(parent, "g", {"stroke": style.color, "stroke-width": "2", "fill": "none"})
    SubElement(group, "title").text = printable(series.label)
    path = SubElement(group, "path", d="M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points))
    if style.dashes:
        path.set("stroke-dasharray", style.dashes)
    fill = "#ffffff" if style.hollow else style.color
    shown = markers or slice(None, None, math.ceil(len(points) / _MOST_MARKERS))
    for x, y in points[shown]:
        SubElement(group, "path", d=_SHAPES[style.marker], transform=f"translate({x:.1f},{y:.1f})", fill=fill)


def _legend_columns(series: Sequence[Series]) -> int:
    longest = max(len(one.label) for one in series) * _CHARACTER * _TEXT
    return 2 if _SAMPLE + 8 + longest <= (WIDTH - _GAP) / 2 else 1


def _rule(parent: Element, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    _set(SubElement(parent, "line", stroke=color), x1=start[0], y1=start[1], x2=end[0], y2=end[1])


def _text(
    parent: Element, text: str, x: float, y: float, size: int, *, anchor: str = "start", weight: str = "normal"
) -> Element:
    element = SubElement(parent, "text", {"fill": _INK, "text-anchor": anchor, "font-weight": weight})
    _set(element, x=x, y=y, **{"font-size": size})
    element.text = printable(text)
    return element


def _set(element: Element, **numbers: float) -> None:
    for name, number in numbers.items():
        element.set(name, f"{number:.10g}")


def printable(text: str) -> str:
    """The text without what XML cannot hold, nor what turns the text around it."""
    return "".join(_printable(text))


def _printable(text: str) -> Iterator[str]:
    for character in text:
        yield character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
