"""Horizontal bars as SVG: shares, with one or two bars per label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from tableveil.charts.shapes import printable

BAR_WIDTH = 380
"""In the units of the drawing: about as many pixels as a small screen has."""

_TEXT, _ROW, _LABEL, _NUMBER = 13, 22, 148, 52
_MOST_CHARACTERS = 18
_INK = "#333333"

# Colours that people with any colour vision tell apart (Okabe and Ito).
BEFORE, AFTER = "#999999", "#0072b2"


@dataclass(frozen=True, slots=True)
class Bars:
    """The lengths of the bars at each label, from 0 to 1, one or more of the same colours in the same order."""

    title: str
    labels: Sequence[str]
    lengths: Sequence[Sequence[float]]
    colors: Sequence[str]


def bars(drawn: Bars) -> Element:
    """The bars as an `svg` element; each shows its share under the pointer."""
    thick = 7 if len(drawn.colors) > 1 else 14
    row = max(_ROW, thick * len(drawn.colors) + 6)
    height = row * max(len(drawn.labels), 1)
    root = Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    root.set("viewBox", f"0 0 {BAR_WIDTH} {height}")
    root.set("font-family", "system-ui, sans-serif")
    root.set("style", f"width:100%;max-width:{BAR_WIDTH * 1.2:g}px;height:auto;display:block")
    SubElement(root, "title").text = printable(drawn.title)
    longest = max((max(lengths) for lengths in drawn.lengths), default=0.0) or 1.0
    space = BAR_WIDTH - _LABEL - _NUMBER
    for i, (label, lengths) in enumerate(zip(drawn.labels, drawn.lengths, strict=True)):
        group = SubElement(root, "g")
        SubElement(group, "title").text = printable(f"{label}: {' / '.join(share(length) for length in lengths)}")
        middle = i * row + row / 2
        _text(group, _shortened(label), _LABEL - 6, middle + 4, "end")
        top = middle - thick * len(lengths) / 2
        for j, (length, color) in enumerate(zip(lengths, drawn.colors, strict=True)):
            bar = SubElement(group, "rect", fill=color)
            for name, value in (
                ("x", _LABEL),
                ("y", top + j * thick),
                ("width", max(length / longest * space, 0.5 if length else 0.0)),
                ("height", thick - 1),
            ):
                bar.set(name, f"{value:g}")
        _text(group, share(lengths[-1]), _LABEL + lengths[-1] / longest * space + 4, middle + 4, "start")
    return root


def share(length: float) -> str:
    """A share in percent, with enough places to differ from nothing."""
    return f"{length:.1%}" if length >= 0.001 or length == 0 else "< 0.1%"


def _shortened(label: str) -> str:
    shown = printable(label) or "(empty)"
    return shown if len(shown) <= _MOST_CHARACTERS else f"{shown[: _MOST_CHARACTERS - 1]}…"


def _text(parent: Element, text: str, x: float, y: float, anchor: str) -> None:
    element = SubElement(parent, "text", {"fill": _INK, "text-anchor": anchor, "font-size": str(_TEXT)})
    element.set("x", f"{x:g}")
    element.set("y", f"{y:g}")
    element.text = printable(text)
