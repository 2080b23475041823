"""A small writer of SVG for tables and graphs: the same calls give the same bytes.

The colours suit light and dark pages. A picture stands in an `<img>`, so it asks the browser which of both it is on.
"""

from xml.sax.saxutils import escape, quoteattr

WIDTH_OF_CHARACTER = 7.3
"""In the font at 13 pixels: an estimate, which leaves room to either side of a text."""

_STYLE = """
text { font: 13px "Source Sans 3", "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.small { font-size: 11.5px }
.soft { fill: #59636e }
.strong { font-weight: 600 }
.marked { fill: #0a5f9e; font-weight: 600 }
.gone { fill: #8a5a00 }
.line { stroke: #8c959f; stroke-width: 1; fill: none }
.edge { stroke: #b8c0c8; stroke-width: 1; fill: none }
.box { stroke: #8c959f; stroke-width: 1; fill: none }
.hidden { stroke: #8c959f; stroke-width: 1; stroke-dasharray: 4 3; fill: none }
.mark { stroke: #0072b2; stroke-width: 1.5; fill: #0072b2; fill-opacity: 0.13 }
.warn { stroke: #b35c00; stroke-width: 1; fill: #d55e00; fill-opacity: 0.10 }
.dot { fill: #0072b2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.soft { fill: #a0a9b3 }
.marked { fill: #79c0ff }
.gone { fill: #e3a64b }
.line, .box, .hidden { stroke: #7d8590 }
.edge { stroke: #4d555e }
.mark { stroke: #58a6ff; fill: #58a6ff; fill-opacity: 0.22 }
.warn { stroke: #e3a64b; fill: #e3a64b; fill-opacity: 0.14 }
.dot { fill: #58a6ff }
}
"""


class Picture:
    """A picture of fixed size, to which shapes are added from the back to the front."""

    def __init__(self, title: str, width: int, height: int) -> None:
        self._title, self._width, self._height = title, width, height
        self._shapes: list[str] = []

    def text(self, x: float, y: float, text: str, style: str = "", anchor: str = "start") -> None:
        """A line of text, whose baseline begins, has its middle or ends there."""
        self._shapes.append(
            f'<text x="{x:g}" y="{y:g}"{_styled(style)} text-anchor={quoteattr(anchor)}>{escape(text)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, style: str = "box") -> None:
        """A rectangle with round corners."""
        self._shapes.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"{_styled(style)}/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "line") -> None:
        """A straight line."""
        self._shapes.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"{_styled(style)}/>')

    def arrow(self, x1: float, y: float, x2: float) -> None:
        """A level arrow to the right."""
        self._shapes.append(f'<path d="M{x1:g} {y:g}H{x2:g}m-7 -5l7 5l-7 5" class="line"/>')

    def dot(self, x: float, y: float, radius: float = 5) -> None:
        """A filled circle."""
        self._shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" class="dot"/>')

    def __str__(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self._width} {self._height}" '
            f'width="{self._width}" height="{self._height}" role="img">'
        )
        return "\n".join(
            [head, f"<title>{escape(self._title)}</title>", f"<style>{_STYLE}</style>", *self._shapes, "</svg>", ""]
        )


def _styled(style: str) -> str:
    return f" class={quoteattr(style)}" if style else ""
