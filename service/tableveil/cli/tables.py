"""Tables as all commands draw them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tableveil import wording

if TYPE_CHECKING:
    from tableveil.report.model import Grid

_GAP = 2
"""Columns between columns."""


def listing(
    columns: Sequence[str], rows: Sequence[Sequence[str]], if_empty: str, numbers: Collection[str] = ()
) -> RenderableType:
    """One row per thing; the columns named in `numbers` are aligned to the right.

    If lines are too short for whole words in columns, each thing has a block of lines instead.
    """
    return _Listing(columns, rows, numbers) if rows else Text(if_empty)


def below(grid: Grid, if_empty: str = "") -> list[RenderableType]:
    """A table of a report below its caption, after an empty line."""
    columns, *rows = (tuple(map(wording.printable, row)) for row in (grid.columns, *grid.rows))
    numbers = [columns[i] for i in grid.numbers]
    return [Text(""), Text(grid.caption, style="bold"), listing(columns, rows, if_empty, numbers=numbers)]


@dataclass(frozen=True, slots=True)
class _Listing:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Collection[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths(console, options.max_width)
        yield self._table(widths) if widths else Group(*map(self._block, self.rows))

    def _widths(self, console: Console, available: int) -> list[int]:
        """The widths of the columns, so that no word is split; empty if there are none."""
        cells = [[Text(cell).__rich_measure__(console, console.options) for cell in column] for column in self._cells()]
        least = [max(cell.minimum for cell in column) for column in cells]
        widths = [max(cell.maximum for cell in column) for column in cells]
        excess = sum(widths) + _GAP * (len(widths) - 1) - available
        if excess > sum(widths) - sum(least):
            return []
        for _ in range(excess):
            widest = max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))
            widths[widest] -= 1
        return widths

    def _cells(self) -> Iterator[tuple[str, ...]]:
        yield from zip(self.columns, *self.rows, strict=True)

    def _table(self, widths: Sequence[int]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for column, width in zip(self.columns, widths, strict=True):
            table.add_column(
                column, justify="right" if column in self.numbers else "left", overflow="fold", width=width
            )
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def _block(self, row: Sequence[str]) -> RenderableType:
        rest = [(name, cell) for name, cell in zip(self.columns[1:], row[1:], strict=True) if cell]
        return Group(Text(row[0], style="bold"), Padding(facts(rest), (0, 0, 0, 2), expand=False))


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """One named fact per line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name), Text(value))
    return grid
