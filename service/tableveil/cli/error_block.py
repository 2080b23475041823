"""An error as people read it: one block that lists every fault with what was found, what was expected, what to do."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tableveil.cli.wording import printable
from tableveil.client import UnreachableError
from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    Fault,
    InfeasibleError,
    InvalidError,
    NotFoundError,
    TableveilError,
)

_WORDS: dict[type[TableveilError], str] = {
    InvalidError: "Invalid",
    InfeasibleError: "Infeasible",
    ConflictError: "Conflict",
    BusyError: "Busy",
    CancelledError: "Cancelled",
    NotFoundError: "Not found",
    UnreachableError: "Unreachable",
}


def error_block(error: TableveilError) -> RenderableType:
    """The error; its message is left out where it is that of the only fault."""
    heading = Text(_WORDS.get(type(error), "Failed"), style="bold red")
    # A server cuts long texts.
    if len(error.faults) != 1 or not error.message.startswith(f"{error.faults[0].field}: found "):
        heading.append(f": {printable(error.message)}", style="not bold default")
    heading.append(f" ({printable(error.code)})", style="not bold dim")
    return Group(heading, *(Padding(_fault(fault), (0, 0, 0, 2), expand=False) for fault in error.faults))


def _fault(fault: Fault) -> RenderableType:
    details = Table.grid(padding=(0, 2))
    details.add_column(style="dim")
    details.add_column(overflow="fold")
    for word, text in (("found", fault.found), ("expected", fault.expected), ("hint", fault.hint)):
        if text:
            details.add_row(word, Text(printable(text)))
    return Group(
        Text(printable(fault.field), style="bold", overflow="fold"), Padding(details, (0, 0, 0, 2), expand=False)
    )
