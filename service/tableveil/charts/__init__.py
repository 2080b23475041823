"""Charts as text: SVG, and pages that hold them, with no script and nothing from elsewhere in them."""

from tableveil.charts.bar_chart import BarChart, BarSeries
from tableveil.charts.bars import AFTER, BEFORE, Bars, bars
from tableveil.charts.heat_map import HeatMap, heat_map
from tableveil.charts.line_chart import LineChart, Marker, Series, Style, svg
from tableveil.charts.page import Table, page

__all__ = [
    "AFTER",
    "BEFORE",
    "BarChart",
    "BarSeries",
    "Bars",
    "HeatMap",
    "LineChart",
    "Marker",
    "Series",
    "Style",
    "Table",
    "bars",
    "heat_map",
    "page",
    "svg",
]
