"""A page as what it says: sections of parts, which know nothing of HTML."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tableveil import wording
from tableveil.pages import share_bars


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentences:
    """A list of sentences, or of names with numbers."""

    texts: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms, each with its text."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; `numbers` are the positions of columns that hold numbers.

    The columns of a `matrix` are of one kind, and there may be many of them.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    matrix: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, drawn when a page needs it: its title stands above it, its note below, its numbers beside it."""

    draw: Callable[[], str]
    title: str = ""
    note: str = ""
    numbers: Grid | None = None


def shares(title: str, of: str, labels: tuple[str, ...], series: tuple[tuple[str, tuple[float, ...]], ...]) -> Figure:
    """A chart of shares of records, from 0 to 1, with one or more series."""
    columns = (of, *(name for name, _ in series))
    rows = tuple((label, *(wording.share(values[i]) for _, values in series)) for i, label in enumerate(labels))
    grid = Grid(title, columns, rows, frozenset(range(1, len(columns))))
    return Figure(partial(share_bars, title, labels, series), numbers=grid)


@dataclass(frozen=True, slots=True)
class Blanks:
    """Lines to fill in by hand."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Columns of parts, beside each other where there is room."""

    columns: tuple[tuple[Words | Sentences | Terms | Grid | Figure, ...], ...]


Part = Heading | Words | Sentences | Terms | Grid | Figure | Blanks | SideBySide


@dataclass(frozen=True, slots=True)
class Section:
    """A section under a heading; the identity is its anchor, if it has one."""

    identity: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole page: `verdict` and the `first` sections stand on the first printed sheet, by themselves.

    The `opening` stands above the sections, without a heading. The attachment is a file by its name and text: it is in
    a PDF beside the pages, and in HTML folded.
    """

    title: str
    edition: str = ""
    verdict: tuple[str, ...] = ()
    first: tuple[Section, ...] = ()
    opening: tuple[Part, ...] = ()
    sections: tuple[Section, ...] = ()
    made_by: str = "Made by Tableveil."
    attachment: tuple[str, str] | None = None
