"""Markdown that every generated page has: its head, and tables."""

from collections.abc import Iterable, Iterator, Sequence


def head(title: str, subject: str, source: str) -> str:
    """The title, what the page is about, and where it comes from."""
    return f"# {title}\n\n{subject} `make reference` writes this page from {source}.\n"


def cell(text: str) -> str:
    """A text as one line of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table, and the empty line behind it."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |".replace("|  |", "| |")
    yield ""


def names(of: Iterable[str], otherwise: str = "-") -> str:
    """Names as code, or what stands for none."""
    return ", ".join(f"`{name}`" for name in of) or otherwise
