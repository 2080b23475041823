"""Charts: ticks are round and span the data, lines differ without colour, and no text becomes markup."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.charts import BarChart, BarSeries, LineChart, Marker, Series, Style, Table, page, svg
from tableveil.charts.bar_chart import draw_bars
from tableveil.charts.shapes import NARROW
from tableveil.charts.ticks import MOST_TICKS, label, ticks

SVG = "{http://www.w3.org/2000/svg}"
MINUS = "\N{MINUS SIGN}"
HOSTILE = '</text><script>alert("1")</script>&amp;\x1b[31m\x00\u202e'
STYLES = (Style("#000000", "", Marker.CIRCLE), Style("#ff0000", "8 4", Marker.CROSS, hollow=True))
CHART = LineChart(
    "Title",
    "Subtitle",
    "gain",
    "payout",
    [Series(f"series {i}", [(0, 100), (500, 50 - i), (1000, 20)], style) for i, style in enumerate(STYLES)],
)


def texts(drawn: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


def places(drawn: str) -> list[tuple[float, float]]:
    """Where the lines' points are, the legend's included."""
    # Markers are moved to their places.
    lines = [path for path in ElementTree.fromstring(drawn).iter(f"{SVG}path") if path.get("transform") is None]
    pairs = [pair.split(",") for line in lines for pair in line.get("d", "").removeprefix("M").split("L")]
    return [(float(x), float(y)) for x, y in pairs]


@given(st.floats(-1e12, 1e12), st.floats(0, 1e12))
def test_ticks_span_the_data_and_are_few(low: float, span: float) -> None:
    high = low + span
    found = ticks(low, high)
    slack = 1e-6 * max(abs(low), abs(high), 1e-3)
    assert found[0] <= low + slack
    assert found[-1] >= high - slack
    assert found == sorted(set(found))
    assert 2 <= len(found) <= MOST_TICKS + 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 2000, [0, 500, 1000, 1500, 2000]),
        (-30, 100, [-40, -20, 0, 20, 40, 60, 80, 100]),
        (0, 0.7, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        (300, 300, [300, 310]),
        (0, 0, [0, 0.1]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_labels() -> None:
    assert [label(value) for value in (0.0, 1500.0, -0.25, 0.1 + 0.2, 2e12)] == [
        "0",
        "1,500",
        f"{MINUS}0.25",
        "0.3",
        "2e+12",
    ]


def test_a_chart_says_what_it_shows() -> None:
    said = texts(svg(CHART))
    assert {"Title", "Subtitle", "gain", "payout", "series 0", "series 1", "0", "1,000", "100"} <= set(said)


def test_lines_differ_in_dash_and_marker() -> None:
    root = ElementTree.fromstring(svg(CHART))
    plot = next(group for group in root.iter(f"{SVG}g") if group.get("clip-path"))
    looks = []
    for group in plot:
        line, *markers = group.findall(f"{SVG}path")
        assert len(markers) == 3
        looks.append((line.get("stroke-dasharray"), markers[0].get("d"), markers[0].get("fill")))
    (whole, *first), (dashed, *second) = looks
    assert (whole, dashed) == (None, "8 4")
    assert all(a != b for a, b in zip(first, second, strict=True))


def test_everything_is_inside() -> None:
    root = ElementTree.fromstring(svg(CHART))
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places(svg(CHART)))
    assert all(0 <= float(text.get("y", "0")) <= height for text in root.iter(f"{SVG}text"))


def test_larger_is_higher_and_to_the_right() -> None:
    (x0, y0), (x1, y1), (x2, y2), *_ = places(svg(CHART))
    assert x0 < x1 < x2
    assert y0 < y1 < y2
    assert x2 - x1 == pytest.approx(x1 - x0)


def test_what_is_too_low_is_cut_off_and_said() -> None:
    low = replace(CHART, series=[Series("low", [(0, 100), (1, -10_000)], STYLES[0])], lowest=-50)
    assert f"Lines end at {MINUS}50: what is lower is not drawn." in texts(svg(low))
    assert f"{MINUS}10,000" not in texts(svg(low))
    assert not any("what is lower" in text for text in texts(svg(replace(CHART, lowest=-50))))


def test_one_point_is_a_chart() -> None:
    assert places(svg(replace(CHART, series=[Series("one", [(300, 0)], STYLES[0])])))


def test_nothing_in_it_is_markup_or_comes_from_elsewhere() -> None:
    hostile = LineChart(HOSTILE, HOSTILE, HOSTILE, HOSTILE, [Series(HOSTILE, [(0, 1), (1, 2)], STYLES[0])])
    for drawn in (svg(hostile), page(hostile, Table((HOSTILE,), [(HOSTILE,)]))):
        root = ElementTree.fromstring(drawn)
        assert not [element for element in root.iter() if element.tag.rpartition("}")[2] == "script"]
        assert not set(drawn) & set("\x1b\x00\u202e")
        assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
        assert "src=" not in drawn
        assert "href" not in drawn
    assert any('<script>alert("1")</script>&amp;' in text for text in texts(svg(hostile)))


def test_a_page_has_the_numbers() -> None:
    made = page(CHART, Table(("gain", "levels"), [("1,000", ""), ("2,000", "1 2")], frozenset({0})))
    root = ElementTree.fromstring(made)
    assert made.startswith("<!DOCTYPE html>\n<html")
    assert root.find(f".//{SVG}svg") is not None
    assert [[(cell.get("class"), (cell.text or "").strip()) for cell in row] for row in root.iter("tr")] == [
        [("number", "gain"), ("text", "levels")],
        [("number", "1,000"), ("text", "")],
        [("number", "2,000"), ("text", "1 2")],
    ]
    # Elements that HTML would leave open.
    assert not re.search(r"<(td|th|title|style|div)\b[^>]*/>", made)


BARS = BarChart(
    "Title",
    "Subtitle",
    "share",
    ["first", "second, with a name that does not fit"],
    [BarSeries("before", [0.5, None], "#767676", hollow=True), BarSeries("after", [0.25, 1.0], "#0072b2")],
    highest=1.0,
)


def bars_of(chart: BarChart) -> tuple[list[str], list[tuple[float, float]]]:
    """The chart's texts; where each bar starts, and its width."""
    root = draw_bars(chart)
    found = [bar for bar in root.iter("rect") if bar.find("title") is not None]
    places = [(float(bar.get("x", "")), float(bar.get("width", ""))) for bar in found]
    return [element.text or "" for element in root.iter("text")], places


def test_bars_are_as_long_as_their_values() -> None:
    said, [(_, half), (_, quarter), (_, whole)] = bars_of(BARS)
    assert whole == pytest.approx(2 * half) == pytest.approx(4 * quarter)
    assert {"Title", "Subtitle", "share", "first", "before", "after", "0.5", "0.25", "1", "none"} <= set(said)
    assert any(text.startswith("second, with") and text.endswith("…") for text in said)
    lower = replace(BARS, bars=[BarSeries("change", [-1.0, 1.0], "#000000")])
    _, [(left, below), (right, above)] = bars_of(lower)
    assert left + below == pytest.approx(right)
    assert below == pytest.approx(above)


def test_axes_span_what_they_are_told_to() -> None:
    narrow = replace(CHART, width=NARROW, x_span=(0, 3000), y_span=(-100, 200))
    assert {"3,000", f"{MINUS}100", "200"} <= set(texts(svg(narrow)))
    root = ElementTree.fromstring(svg(narrow))
    assert (root.get("viewBox") or "").split()[2] == str(NARROW)
    assert all(0 <= x <= NARROW for x, _ in places(svg(narrow)))
