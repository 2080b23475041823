"""Writes Markdown tables."""

from collections.abc import Iterable, Sequence


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first column is aligned left, the others right."""
    lines = [headers, [":--", *["--:"] * (len(headers) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def seconds(value: float) -> str:
    """Seconds, to the millisecond."""
    return f"{value:.3f}"


def times(value: float) -> str:
    """A multiple."""
    return f"{value:.1f} x"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
