"""Bar charts as SVG: groups of lying bars, each with its number, one bar per thing that is compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from tableveil.charts.shapes import GRID, INK, NARROW, TEXT, TITLE, add_rule, add_text, fitting, new_drawing, put
from tableveil.charts.ticks import label, ticks

_GAP = 16
_LABELS, _VALUES = 160, 64
_LEFT, _RIGHT, _TOP = _LABELS + _GAP, NARROW - _VALUES, 80
_BAR, _BETWEEN = 20, 12
_AXIS, _ROW, _BOX = 56, 24, 16


@dataclass(frozen=True, slots=True)
class BarSeries:
    """One bar in each group, all of one colour, hollow or filled; None where there is no number."""

    label: str
    values: Sequence[float | None]
    color: str
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class BarChart:
    """Groups of bars from 0 on, from top to bottom, with the bars of each in the order of `bars`.

    The axis goes up to `highest`, if given, else to the greatest value. `written` gives the text of a value, at the end
    of its bar.
    """

    title: str
    subtitle: str
    value_label: str
    groups: Sequence[str]
    bars: Sequence[BarSeries]
    highest: float | None = None
    written: Callable[[float], str] = label


def draw_bars(chart: BarChart) -> Element:
    """The chart as an `svg` element, which may stand alone or in a page."""
    values = [value for bars in chart.bars for value in bars.values if value is not None]
    marks = ticks(min([0.0, *values]), max(values, default=1.0) if chart.highest is None else chart.highest)
    low, high = marks[0], marks[-1]

    def x_of(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT)

    group_height = _BAR * len(chart.bars) + _BETWEEN
    bottom = _TOP + group_height * len(chart.groups)
    legend_top = bottom + _AXIS + _GAP
    height = legend_top + _ROW * len(chart.bars)
    root = new_drawing(chart.title, f"{chart.value_label}. {chart.subtitle}", height, NARROW)
    add_text(root, fitting(chart.title, TITLE, NARROW - 2 * _GAP), _GAP, 28, TITLE, weight="bold")
    add_text(root, fitting(chart.subtitle, TEXT, NARROW - 2 * _GAP), _GAP, 54, TEXT)
    for tick in marks:
        add_rule(root, (x_of(tick), _TOP), (x_of(tick), bottom), INK if tick == 0 else GRID)
        add_text(root, label(tick), x_of(tick), bottom + 22, TEXT, anchor="middle")
    add_text(root, chart.value_label, (_LEFT + _RIGHT) / 2, bottom + 46, TEXT, anchor="middle")
    for i, name in enumerate(chart.groups):
        top = _TOP + group_height * i + _BETWEEN / 2
        add_text(
            root, fitting(name, TEXT, _LABELS), _LEFT - 8, top + _BAR * len(chart.bars) / 2 + 5, TEXT, anchor="end"
        )
        for j, bars in enumerate(chart.bars):
            _bar(root, chart, bars, i, top + _BAR * j, x_of)
    for j, bars in enumerate(chart.bars):
        y = legend_top + _ROW * j
        box = SubElement(root, "rect", _look(bars))
        put(box, x=_GAP, y=y - _BOX / 2, width=_BOX, height=_BOX)
        add_text(root, bars.label, _GAP + _BOX + 8, y + 5, TEXT)
    return root


def _bar(
    root: Element, chart: BarChart, bars: BarSeries, group: int, top: float, x_of: Callable[[float], float]
) -> None:
    value = bars.values[group]
    if value is None:
        add_text(root, "none", x_of(0) + 6, top + _BAR / 2 + 5, TEXT)
        return
    start, end = sorted((x_of(0), x_of(value)))
    bar = SubElement(root, "rect", _look(bars))
    put(bar, x=start, y=top + 1, width=end - start, height=_BAR - 3)
    written = chart.written(value)
    SubElement(bar, "title").text = f"{chart.groups[group]}, {bars.label}: {written}"
    add_text(root, written, end + 6, top + _BAR / 2 + 5, TEXT)


def _look(bars: BarSeries) -> dict[str, str]:
    return {"fill": "#ffffff" if bars.hollow else bars.color, "stroke": bars.color, "stroke-width": "2"}
