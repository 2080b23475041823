"""Charts as text: SVG, and pages that hold one, with no script and nothing from elsewhere in them."""

from tableveil.charts.line_chart import LineChart, Marker, Series, Style, svg
from tableveil.charts.page import Table, page

__all__ = ["LineChart", "Marker", "Series", "Style", "Table", "page", "svg"]
