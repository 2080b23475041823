"""An error as people read it: one block that lists every fault with what was found, what was expected, what to do."""

import re
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tableveil.errors import FailureKind, Fault, InfeasibleError, Relaxation, TableveilError
from tableveil.wording import printable, short

_ATTRIBUTE = re.compile(r"attributes\[(\d{1,9})\]")

# Their messages say it better.
_WITHOUT_WORD = {"", FailureKind.INTERNAL, FailureKind.UNAUTHENTICATED, FailureKind.DENIED}


def error_block(error: TableveilError, columns: Sequence[str] = ()) -> RenderableType:
    """The error; its message is left out if it only repeats that of the only fault.

    `columns` are those of the attributes of the policy in question.
    """
    word = "Failed" if error.kind in _WITHOUT_WORD else error.kind.replace("_", " ").capitalize()
    heading = Text(word, style="bold red")
    # A server cuts long texts.
    if len(error.faults) != 1 or not error.message.startswith(f"{error.faults[0].field}: found "):
        heading.append(f": {printable(error.message)}", style="not bold default")
    heading.append(f" ({printable(error.code)})", style="not bold dim")
    parts = [_fault(fault, columns) for fault in error.faults]
    if isinstance(error, InfeasibleError) and error.relaxations:
        parts.append(_relaxations(error.relaxations))
    return Group(heading, *(Padding(part, (0, 0, 0, 2), expand=False) for part in parts))


def _relaxations(relaxations: Sequence[Relaxation]) -> RenderableType:
    """One row each; the changes of a row go together."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(overflow="fold")
    rows.add_column(style="dim")
    for relaxation in relaxations:
        rows.add_row(Text(printable(str(relaxation))), "nearest" if relaxation.nearest else "found so far")
    return Group(Text("feasible would be", style="bold"), Padding(rows, (0, 0, 0, 2), expand=False))


def _fault(fault: Fault, columns: Sequence[str]) -> RenderableType:
    details = Table.grid(padding=(0, 2))
    details.add_column(style="dim")
    details.add_column(overflow="fold")
    for word, text in (("found", fault.found), ("expected", fault.expected), ("hint", fault.hint)):
        if text:
            details.add_row(word, Text(printable(text)))
    heading = Text(printable(fault.field), style="bold", overflow="fold")
    attribute = _ATTRIBUTE.match(fault.field)
    position = int(attribute[1]) if attribute else len(columns)
    # An attribute that could not be read has no column.
    if position < len(columns) and columns[position]:
        heading.append(f"  column {short(columns[position])}", style="not bold dim")
    return Group(heading, Padding(details, (0, 0, 0, 2), expand=False))
