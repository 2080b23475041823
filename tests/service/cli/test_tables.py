"""Lists of things: columns of whole words, or blocks of lines where the terminal is too narrow."""

import io

import pytest
from rich.console import Console

from tableveil.cli.tables import listing

COLUMNS = ("release", "source", "created", "records", "withdrawn")
ROW = ("releases/2", "clinic.main.discharges", "2026-11-21 21:11:27Z", "100,000", "")


def shown(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(listing(COLUMNS, [ROW], "None.", numbers=("records",)))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_one_line_each_where_there_is_room() -> None:
    assert shown(120) == [
        "release     source                  created               records  withdrawn",
        "releases/2  clinic.main.discharges  2026-11-21 21:11:27Z  100,000",
    ]


def test_lines_break_between_words() -> None:
    assert [line.split() for line in shown(70)] == [
        ["release", "source", "created", "records", "withdrawn"],
        ["releases/2", "clinic.main.discharges", "2026-11-21", "100,000"],
        ["21:11:27Z"],
    ]


def test_blocks_where_words_would_be_split() -> None:
    assert shown(60) == [
        "releases/2",
        "  source   clinic.main.discharges",
        "  created  2026-11-21 21:11:27Z",
        "  records  100,000",
    ]


@pytest.mark.parametrize("width", range(34, 130))
def test_names_are_whole_at_any_width(width: int) -> None:
    assert {"releases/2", "clinic.main.discharges", "100,000"} <= set(" ".join(shown(width)).split())
