"""The common parts of all charts: the drawing, its texts and lines, and the characters that may be in them."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

WIDTH, NARROW = 720, 480
"""In the units of the drawing, which is scaled to its place on the page; texts are readable from 400 pixels on."""

TITLE, TEXT = 20, 16
"""Sizes of texts."""

CHARACTER = 0.52
"""The average width of a character in sans-serif fonts, in parts of the size."""

INK, GRID = "#333333", "#dddddd"


def new_drawing(title: str, description: str, height: float, width: int = WIDTH) -> Element:
    """An `svg` element of that size, white, which may stand alone or in a page."""
    root = Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    root.set("viewBox", f"0 0 {width} {height:g}")
    root.set("font-family", "system-ui, sans-serif")
    root.set("style", f"width:100%;max-width:{width * 1.25:g}px;height:auto;display:block;margin:0 auto")
    SubElement(root, "title").text = printable(title)
    SubElement(root, "desc").text = printable(description)
    put(SubElement(root, "rect", fill="#ffffff"), width=width, height=height)
    return root


def add_text(
    parent: Element, text: str, x: float, y: float, size: int, *, anchor: str = "start", weight: str = "normal"
) -> Element:
    """A text whose baseline starts, ends or has its middle at a place."""
    element = SubElement(parent, "text", {"fill": INK, "text-anchor": anchor, "font-weight": weight})
    put(element, x=x, y=y, **{"font-size": size})
    element.text = printable(text)
    return element


def fitting(text: str, size: int, space: float) -> str:
    """The part of the text that fits into that space, with an ellipsis if it is cut."""
    most = int(space / (CHARACTER * size))
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def add_rule(parent: Element, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    """A straight line."""
    put(SubElement(parent, "line", stroke=color), x1=start[0], y1=start[1], x2=end[0], y2=end[1])


def put(element: Element, **numbers: float) -> None:
    """Sets attributes."""
    for name, number in numbers.items():
        element.set(name, f"{number:.10g}")


def printable(text: str) -> str:
    """The text without characters that XML cannot hold, or that reverse the text around them."""
    return "".join(_printable(text))


def _printable(text: str) -> Iterator[str]:
    for character in text:
        yield character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
