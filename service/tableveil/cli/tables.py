"""Tables as all commands draw them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text


def listing(
    columns: Sequence[str], rows: Sequence[Sequence[str]], if_empty: str, numbers: Collection[str] = ()
) -> RenderableType:
    """One row per thing; the columns named in `numbers` are aligned to the right."""
    if not rows:
        return Text(if_empty)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """One named fact per line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name), Text(value))
    return grid
