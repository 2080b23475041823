"""Charts as SVG: Vega-Lite, rendered without a network or a browser; the same data give the same bytes.

Texts and axes have the colour of the text around them, so that charts can be read on light and on dark pages. The
colours of bars and lines are told apart with any colour vision (Okabe and Ito), and stand out from both.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from tableveil import wording

Series = tuple[str, Sequence[float | None]]
"""A name, and a number per label; none is left out."""

_SVG = "http://www.w3.org/2000/svg"
_COLORS = {
    "before": "#8c8c8c",
    "after": "#0072b2",
    "original": "#0072b2",
    "anonymized": "#d55e00",
    "baseline": "#8c8c8c",
}
_PALETTE = ("#0072b2", "#d55e00", "#009e73", "#8c8c8c", "#b5648f", "#a07800")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_WIDTH, _BAR = 460, 12
_LONGEST_LABEL = 24
_MOST_MARKERS = 25
_KEPT = 64
"""Charts that the process remembers: the same people open a report several times, and drawing takes 20 ms."""

_CONFIG: dict[str, Any] = {
    "aria": False,
    "background": None,
    # Arial has the widths of Liberation Sans, which the library brings along and measures by.
    "font": "Liberation Sans, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "gridColor", "domainColor", "tickColor"), "currentColor"),
        **{"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "gridOpacity": 0.2},
    },
    "legend": {
        **dict.fromkeys(("labelColor", "titleColor"), "currentColor"),
        **{"labelFontSize": 12, "labelLimit": 0, "title": None, "titleFontSize": 12, "titleFontWeight": "normal"},
    },
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points (x, y), by x; `group` has a colour and a marker, `variant` a dash."""

    label: str
    points: Sequence[tuple[float, float]]
    group: int = 0
    variant: int = 0


def share_bars(title: str, labels: Sequence[str], series: Sequence[Series], highest: float | None = None) -> Markup:
    """Lying bars of shares from 0 to 1: at each label one for each series, all of a series in one colour."""
    rows = [
        {"position": i, "series": name, "share": values[i]}
        for i in range(len(labels))
        for name, values in series
        if values[i] is not None
    ]
    names = [name for name, _ in series]
    spec = {
        "height": {"step": _BAR if len(series) > 1 else 1.5 * _BAR},
        "autosize": {"type": "fit-x", "contains": "padding"},
        # Labels may be equal: bars belong to positions.
        "params": [{"name": "labels", "value": [_short(label) for label in labels]}],
        "data": {"values": rows},
        "mark": "bar",
        "encoding": {
            "y": {
                "field": "position",
                "type": "ordinal",
                "scale": {"domain": list(range(len(labels)))},
                "axis": {"title": None, "labelExpr": "labels[datum.value]", "labelLimit": 0},
            },
            "yOffset": {"field": "series", "scale": {"domain": names}},
            "x": {
                "field": "share",
                "type": "quantitative",
                "axis": {"title": None, "format": "~%", "tickCount": 5},
                "scale": {} if highest is None else {"domain": [0, highest]},
            },
            "color": {
                "field": "series",
                "scale": {"domain": names, "range": _colors(names)},
                "legend": {"orient": "top"} if len(series) > 1 else None,
            },
        },
    }
    return _drawn(title, f"Bars for {len(labels)} labels: {', '.join(names)}.", spec)


def lines(
    title: str,
    x_label: str,
    y_label: str,
    drawn: Sequence[Line],
    x_span: tuple[float, float] | None = None,
    y_span: tuple[float, float] | None = None,
) -> Markup:
    """Lines over common axes, which differ in dash and marker, not in colour alone; parts outside the spans are cut."""
    names = [line.label for line in drawn]
    points = [
        {"line": number, "series": name, "x": x, "y": y, "marked": i % math.ceil(len(line.points) / _MOST_MARKERS) == 0}
        for number, (name, line) in enumerate(zip(names, drawn, strict=True))
        for i, (x, y) in enumerate(line.points)
    ]
    dashes = ([1, 0], [8, 4], [2, 3], [8, 3, 2, 3])

    def scale(values: Sequence[object]) -> dict[str, Any]:
        return {"field": "series", "scale": {"domain": names, "range": list(values)}}

    def axis(field: str, title: str, span: tuple[float, float] | None) -> dict[str, Any]:
        domain = {} if span is None else {"domain": span, "nice": False}
        return {"field": field, "type": "quantitative", "axis": {"title": title, "tickCount": 6}, "scale": domain}

    legend = {"orient": "bottom", "columns": 1, "symbolSize": 1200, "symbolType": "stroke"}
    colors = [_PALETTE[line.group % len(_PALETTE)] for line in drawn]
    color = scale(colors) | {"legend": legend}
    dash = scale([dashes[line.variant % len(dashes)] for line in drawn]) | {"legend": legend}
    # A layer for each line: a legend that knew of the markers would show them alone, and no dash.
    markers: list[dict[str, Any]] = [
        {
            "mark": {
                **{"type": "point", "clip": True, "filled": True, "opacity": 1, "size": 45},
                **{"shape": _SHAPES[line.group % len(_SHAPES)], "color": shade},
            },
            "transform": [{"filter": f"datum.marked && datum.line === {i}"}],
        }
        for i, (line, shade) in enumerate(zip(drawn, colors, strict=True))
    ]
    spec = {
        "height": 300,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": points},
        "encoding": {"x": axis("x", x_label, x_span), "y": axis("y", y_label, y_span)},
        "layer": [
            {
                "mark": {"type": "line", "clip": True},
                "encoding": {"color": color, "strokeDash": dash, "order": {"field": "x", "type": "quantitative"}},
            },
            *markers,
        ],
    }
    return _drawn(title, f"{y_label} against {x_label}: {', '.join(names)}.", spec)


def heat_map(title: str, names: Sequence[str], values: Mapping[tuple[int, int], float | None]) -> Markup:
    """A square of shades of values from 0 to 1 (or None) by the positions of two names; names are numbered from 1."""
    cells = [
        {"x": column + 1, "y": row + 1, "value": None if value is None else min(abs(value), 1.0)}
        for (first, second), value in values.items()
        for column, row in ((first, second), (second, first))
    ]
    axis = {"type": "ordinal", "scale": {"domain": list(range(1, len(names) + 1))}}
    spec = {
        "height": _WIDTH - 80,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": cells},
        "mark": {"type": "rect", "invalid": None, "stroke": "#8c8c8c", "strokeWidth": 0.5},
        "encoding": {
            "x": {
                **axis,
                "field": "x",
                "axis": {"title": None, "orient": "top", "labelAngle": 0, "labelOverlap": True},
            },
            "y": {**axis, "field": "y", "axis": {"title": None}},
            "color": {
                "condition": {"test": "datum.value === null", "value": "#bdbdbd"},
                "field": "value",
                "type": "quantitative",
                "scale": {"domain": [0, 1], "range": ["#f7fbff", "#08306b"]},
                "legend": {"orient": "right", "gradientLength": 120},
            },
        },
    }
    return _drawn(title, f"Each of {len(names)} columns with each other.", spec)


def _short(label: str) -> str:
    """Cut here: the library would cut a character beyond U+FFFF in two, and fail."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}\N{HORIZONTAL ELLIPSIS}"


def _colors(names: Sequence[str]) -> list[str]:
    return [_COLORS.get(name, _PALETTE[i % len(_PALETTE)]) for i, name in enumerate(names)]


def _printable(value: object) -> object:
    """All texts printable: the library aborts the process at a character that XML cannot hold."""
    if isinstance(value, str):
        return wording.printable(value)
    if isinstance(value, Mapping):
        return {name: _printable(part) for name, part in value.items()}
    return [_printable(part) for part in value] if isinstance(value, (list, tuple)) else value


def _drawn(title: str, description: str, spec: Mapping[str, Any]) -> Markup:
    """The chart as an `svg` element of a page, with names for its parts that no other chart has."""
    return _svg(title, description, json.dumps(_printable({"width": _WIDTH, "config": _CONFIG, **spec})))


@lru_cache(_KEPT)
def _svg(title: str, description: str, text: str) -> Markup:
    # It takes longer to load than most commands run.
    import vl_convert

    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(text, allowed_base_urls=[]))
    identity = f"c{hashlib.sha256((title + text).encode()).hexdigest()[:12]}"
    own: dict[str, str] = {}
    for element in root.iter():
        # HTML knows these elements without their namespace.
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        for name, value in list(element.attrib.items()):
            # The drawing is one picture to a screen reader, whose parts have no names.
            if name == "role" or name.startswith("aria-"):
                del element.attrib[name]
            # The library counts them through all charts that the process has drawn.
            elif name == "id":
                element.set(name, own.setdefault(value, f"{identity}-{len(own)}"))
            elif value.startswith("url(#"):
                element.set(name, f"url(#{own.setdefault(value[5:-1], f'{identity}-{len(own)}')})")
    for position, (name, words) in enumerate((("title", title), ("desc", description))):
        child = ElementTree.Element(name, id=f"{identity}-{name}")
        child.text = wording.printable(words)
        root.insert(position, child)
    root.set("xmlns", _SVG)
    root.set("role", "img")
    root.set("aria-labelledby", f"{identity}-title {identity}-desc")
    return Markup(ElementTree.tostring(root, encoding="unicode"))
