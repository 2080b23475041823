"""All pages alike: texts of tables stay texts, nothing comes from elsewhere, equal data give equal bytes."""

import base64
import hashlib
import re
import sys

import pytest
from jinja2 import Template, UndefinedError

from tableveil import wording
from tableveil.errors import InvalidError
from tableveil.pages import Line, as_pdf, environment, heat_map, lines, share_bars

HOSTILE = "</style><script>alert('x')</script>\"&amp;{{ 7 * 7 }}\N{RIGHT-TO-LEFT OVERRIDE}\x00"
PAGE = """{% extends "base.html" %}{% import "parts.html" as parts %}
{% block title %}{{ name }}{% endblock %}
{% block content %}
<section><h2>{{ name }}</h2>{{ parts.facts([(name, name)]) }}{{ parts.points([name]) }}{{ parts.blanks([name]) }}
{{ parts.charted(chart, name, ("", name), [(name, name)], (1,)) }}</section>
{% endblock %}"""


def template() -> Template:
    return environment().from_string(PAGE)


def page(name: str = HOSTILE) -> str:
    chart = share_bars(name, [name, name], [("before", (0.5, 0.5)), (name, (1.0, None))])
    return template().render(name=name, chart=chart)


def test_texts_of_tables_stay_texts() -> None:
    html = page()
    assert "<script" not in html
    assert html.count("</style>") == 1
    assert "{{ 7 * 7 }}" in html
    assert not {"\x00", "\N{RIGHT-TO-LEFT OVERRIDE}"} & set(html)
    assert "\\u202e" in html, "hidden characters can be seen"


def test_the_stylesheet_is_written_as_it_is_and_nothing_else_may_apply() -> None:
    html = page()
    (style,) = re.findall("<style>(.*?)</style>", html, flags=re.DOTALL)
    assert ".facts > div" in style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in html.replace("&#39;", "'")
    assert " style=" not in html, "an attribute that the policy lets no browser obey"


def test_nothing_comes_from_elsewhere() -> None:
    html = page().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.findall(r"(?i)https?:|//\w|@import|\ssrc=|<link|url\((?!#)", html)


def test_an_unknown_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="chart"):
        template().render(name="x")


def test_charts_are_the_same_bytes_whatever_was_drawn_before() -> None:
    def drawn() -> tuple[str, str, str]:
        return (
            share_bars("shares", ["a"], [("before", (0.5,)), ("after", (0.25,))]),
            lines("curves", "x", "y", [Line("one", [(0.0, 0.0), (1.0, 1.0)])], (0.0, 1.0), (0.0, 1.0)),
            heat_map("pairs", ["a", "b"], {(0, 1): None}),
        )

    first = drawn()
    assert drawn() == first
    ids = [name for svg in first for name in re.findall(r'\bid="([^"]*)"', svg)]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"(?:url\(#|labelledby=\")([^)\" ]*)", "".join(first))) <= set(ids)


def test_bars_with_equal_labels_stay_apart() -> None:
    once, twice = (share_bars("x", labels, [("before", (0.5,) * len(labels))]) for labels in (["a"], ["a", "a"]))
    assert twice.count(">a</text>") == 2 * once.count(">a</text>")


# The library that draws them fails where it cuts an emoji in two, and ends the process at characters that XML has not.
@pytest.mark.parametrize("labels", [[], ["only"], ["\N{GRINNING FACE}" * 60], ["\x00\ud800\uffff"]])
def test_charts_are_drawn_whatever_their_labels_are(labels: list[str]) -> None:
    assert "<svg" in share_bars("x", labels, [("before", (0.0,) * len(labels))])


def test_no_character_that_xml_lacks_gets_into_a_chart() -> None:
    """All code points; once all that get through were also drawn, 20 to a label, which takes half an hour."""
    shown = wording.printable("".join(map(chr, range(sys.maxunicode + 1))))
    assert re.fullmatch("[\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*", shown)
    several = [chr(code) for code in range(0, sys.maxunicode, 4999)]
    labels = ["".join(several[i : i + 24]) for i in range(0, len(several), 24)]
    assert "<svg" in share_bars("x", labels, [("before", (0.5,) * len(labels))])


def test_pdf_is_the_same_bytes_each_time() -> None:
    html = page("people")
    made = as_pdf(html)
    assert made.startswith(b"%PDF")
    assert as_pdf(html) == made


def test_pdf_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(InvalidError, match="PDF") as refused:
        as_pdf(page("people"))
    assert "tableveil[pdf]" in refused.value.faults[0].hint
