"""The first page of a report as plain text, for a terminal."""

import textwrap
from collections.abc import Iterator
from itertools import chain

from tableveil import wording
from tableveil.report.model import Grid, Part, Report, Sentences, SideBySide, Terms, Words

WIDTH = 80


def first_page_text(report: Report) -> str:
    """The page; what is to be filled in by hand is left out."""
    lines = [report.title, *_wrapped(report.edition, "")]
    for sentence in report.verdict:
        lines += _wrapped(sentence, "")
    for section in report.first:
        shown = [line for part in section.parts for line in _lines(part)]
        if shown:
            lines += ["", section.title, *shown]
    return "\n".join(map(wording.printable, lines)) + "\n"


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Words(text):
            yield from _wrapped(text)
        case Sentences(texts):
            for text in texts:
                yield from _wrapped(text)
        case Terms(rows):
            for name, text in rows:
                yield from _wrapped(f"{name}: {text}")
        case Grid(_, columns, rows):
            yield from _table(columns, rows)
        case SideBySide(columns):
            for one in chain.from_iterable(columns):
                yield from _lines(one)


def _table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    """In columns where they fit, else a paragraph for each row."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    if sum(widths) + 2 * len(widths) <= WIDTH:
        for row in (columns, *rows):
            yield "  " + "  ".join(map(str.ljust, row, widths)).rstrip()
        return
    for first, *others in rows:
        yield from _wrapped(f"{first}: {'; '.join(cell for cell in others if cell)}")


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent))
