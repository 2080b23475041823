"""Line charts as SVG, whose lines differ in dash and marker, not in colour alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from xml.etree.ElementTree import Element, SubElement, tostring

from tableveil.charts.shapes import (
    CHARACTER,
    GRID,
    INK,
    TEXT,
    TITLE,
    WIDTH,
    add_rule,
    add_text,
    fitting,
    new_drawing,
    printable,
    put,
)
from tableveil.charts.ticks import label, ticks

_LEFT, _TOP, _PLOT_HEIGHT, _BELOW = 84, 80, 380, 66
_MARGIN = 24
_SAMPLE, _ROW, _GAP = 44, 24, 16
_MOST_MARKERS = 25


class Marker(StrEnum):
    """The shape at the points of a line."""

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
    """The look of a line: `dashes` as in SVG's stroke-dasharray, empty for a solid line; hollow or filled markers."""

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
    """Lines over a common axis; parts of them below `lowest`, if given, are cut off, and the chart says so.

    `width` is that of the drawing, `WIDTH` or `NARROW`. The axes span the lines' points, and `x_span` and `y_span` too,
    if given.
    """

    title: str
    subtitle: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    lowest: float | None = None
    width: int = WIDTH
    x_span: tuple[float, ...] = ()
    y_span: tuple[float, ...] = ()


def svg(chart: LineChart) -> str:
    """The chart as the text of an SVG file."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(drawing(chart), encoding="unicode") + "\n"


def drawing(chart: LineChart, identity: str = "plot") -> Element:
    """The chart as an `svg` element, which may stand alone or in a page, where each has another `identity`."""
    xs = [*chart.x_span, *(x for series in chart.series for x, _ in series.points)]
    ys = [*chart.y_span, *(y for series in chart.series for _, y in series.points)]
    bottom, cut = min(ys), False
    if chart.lowest is not None and bottom < chart.lowest:
        bottom, cut = chart.lowest, True
    right = chart.width - _MARGIN
    x_ticks, y_ticks = ticks(min(xs), max(xs)), ticks(bottom, max(ys))
    x_of, y_of = _scale(x_ticks, _LEFT, right), _scale(y_ticks, _TOP + _PLOT_HEIGHT, _TOP)
    columns = _legend_columns(chart)
    legend_top = _TOP + _PLOT_HEIGHT + _BELOW + (_ROW if cut else 0)
    height = legend_top + _ROW * math.ceil(len(chart.series) / columns)
    root = new_drawing(chart.title, f"{chart.y_label} against {chart.x_label}. {chart.subtitle}", height, chart.width)
    add_text(root, fitting(chart.title, TITLE, right - _LEFT), _LEFT, 28, TITLE, weight="bold")
    add_text(root, fitting(chart.subtitle, TEXT, right - _LEFT), _LEFT, 54, TEXT)
    _axes(root, x_ticks, y_ticks, x_of, y_of, right)
    add_text(root, chart.x_label, (_LEFT + right) / 2, _TOP + _PLOT_HEIGHT + 46, TEXT, anchor="middle")
    turned = add_text(root, chart.y_label, 0, 0, TEXT, anchor="middle")
    turned.set("transform", f"translate(20,{_TOP + _PLOT_HEIGHT / 2:g}) rotate(-90)")
    if cut:
        note = f"Lines end at {label(bottom)}: what is lower is not drawn."
        add_text(root, note, (_LEFT + right) / 2, _TOP + _PLOT_HEIGHT + 70, TEXT, anchor="middle")
    clip = SubElement(SubElement(root, "clipPath", id=identity), "rect")
    # A little more than the plot, so that markers on its edges are whole.
    put(clip, x=_LEFT - 7, y=_TOP - 7, width=right - _LEFT + 14, height=_PLOT_HEIGHT + 7 + (0 if cut else 7))
    plot = SubElement(root, "g", {"clip-path": f"url(#{identity})"})
    for series in chart.series:
        _line(plot, series, [(x_of(x), y_of(y)) for x, y in series.points])
    for i, series in enumerate(chart.series):
        row, column = i // columns, i % columns
        x, y = _GAP + column * (chart.width - _GAP) / columns, legend_top + _ROW * row
        _line(root, series, [(x, y), (x + _SAMPLE / 2, y), (x + _SAMPLE, y)], markers=slice(1, 2))
        add_text(root, series.label, x + _SAMPLE + 8, y + 5, TEXT)
    return root


def _axes(
    root: Element,
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    x_of: Callable[[float], float],
    y_of: Callable[[float], float],
    right: float,
) -> None:
    base = _TOP + _PLOT_HEIGHT
    for tick in x_ticks:
        x = x_of(tick)
        add_rule(root, (x, _TOP), (x, base), GRID)
        add_text(root, label(tick), x, base + 22, TEXT, anchor="middle")
    for tick in y_ticks:
        y = y_of(tick)
        add_rule(root, (_LEFT, y), (right, y), INK if tick == 0 else GRID)
        add_text(root, label(tick), _LEFT - 8, y + 5, TEXT, anchor="end")
    add_rule(root, (_LEFT, _TOP), (_LEFT, base), INK)
    add_rule(root, (_LEFT, base), (right, base), INK)


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


def _legend_columns(chart: LineChart) -> int:
    longest = max(len(one.label) for one in chart.series) * CHARACTER * TEXT
    return 2 if _SAMPLE + 8 + longest <= (chart.width - _GAP) / 2 else 1
