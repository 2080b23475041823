"""A parsed document of either syntax: texts, lists and mappings, without types yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from tableveil.errors import Fault

DEEPEST = 64
"""Levels of nesting a document may have; a policy needs eight."""

DOCUMENT = "document"
"""The field of faults about the text as a whole."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping as written: entries in order, repeated keys included."""

    entries: list[tuple[str, Node]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RefusedNode:
    """A piece of the document that no field of a policy may hold."""

    found: str
    expected: str
    hint: str = ""


Node = str | None | list["Node"] | Mapping | RefusedNode
"""A scalar is its source text; None is a missing value (`null`, `~`, nothing)."""


class UnreadableError(Exception):
    """The text has no structure to look for more faults in."""

    def __init__(self, found: str, expected: str, hint: str = "") -> None:
        super().__init__(found)
        self.fault = Fault(DOCUMENT, found, expected, hint)


def line_and_column(text: str, position: int) -> str:
    """Where a character is, as people count."""
    line = text.count("\n", 0, position) + 1
    return place(line, position - text.rfind("\n", 0, position))


def place(line: int, column: int) -> str:
    """A place in messages; the text there is not quoted, for it may be data."""
    return f"line {line}, column {column}"


def too_deep() -> UnreadableError:
    """The error for a document nested deeper than any policy."""
    return UnreadableError(f"more than {DEEPEST} levels of nesting", "a policy")
