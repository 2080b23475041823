"""The text of a statement: places of columns in it, edits, and names and texts as they may be written."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

Edit = tuple[int, int, str]
"""The first character, the one after the last, and the text in place of those between."""


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with parts of it replaced; of two edits of one place the first counts."""
    parts, done = list[str](), 0
    for start, end, replacement in sorted(set(edits)):
        if start >= done:
            parts += [text[done:start], replacement]
            done = end
    return "".join([*parts, text[done:]])


def end_of(column: exp.Expr) -> int | None:
    """The place behind a column in the text."""
    # sqlglot puts a table before a column that was written without one.
    parts = [part for part in column.parts if "end" in part.meta] if isinstance(column, exp.Column) else []
    return int(parts[-1].meta["end"]) + 1 if parts else None


def quoted(name: str, quote: str = '"') -> str:
    """A name as an identifier in quotes, or a text as a literal."""
    return quote + name.replace(quote, quote * 2) + quote
