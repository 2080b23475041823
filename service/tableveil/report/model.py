"""A report as what it says: sections of parts, which know nothing of HTML."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentences:
    """A list of sentences."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms, each with its text."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; `numbers` are the positions of columns that hold numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Shares:
    """A chart of shares of records, from 0 to 1, with one or more series; its numbers stand beside it."""

    title: str
    of: str
    labels: tuple[str, ...]
    series: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class Blanks:
    """Lines to fill in by hand."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two parts, beside each other where there is room."""

    left: tuple[Words | Sentences | Terms | Grid, ...]
    right: tuple[Words | Sentences | Terms | Grid, ...]


Part = Words | Sentences | Terms | Grid | Shares | Blanks | SideBySide


@dataclass(frozen=True, slots=True)
class Section:
    """A section under a heading; the identity is its anchor."""

    identity: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report: `verdict` and the `first` sections stand on the first printed page, by themselves.

    The attachment is a file by its name and text: it is in a PDF beside the pages, and in HTML folded.
    """

    title: str
    edition: str
    verdict: tuple[str, ...]
    first: tuple[Section, ...]
    sections: tuple[Section, ...]
    made_by: str
    attachment: tuple[str, str] | None = None
