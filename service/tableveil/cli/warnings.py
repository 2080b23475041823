"""Warnings for people: the most severe first, a few unless all are asked for."""

from collections.abc import Sequence

import click
from rich.text import Text

from tableveil import wording
from tableveil.v1 import faults_pb2

MOST_SHOWN = 5

ALL = click.option(
    "--all", "everything", is_flag=True, help=f"Show all warnings, not the {MOST_SHOWN} most severe only."
)

_STYLES: dict[int, str] = {faults_pb2.WARNING_RANK_MUST_BE_DECIDED: "bold red", faults_pb2.WARNING_RANK_NOTE: ""}


def warnings(texts: Sequence[str], ranks: Sequence[int], rest: str, *, everything: bool = False) -> list[Text]:
    """A line for each warning and its rank; `rest` is the command that shows those that are left out."""
    shown = list(wording.ranked(texts, ranks))
    lines = [
        Text.assemble((f"{word}: ", _STYLES.get(rank, "yellow")), wording.printable(text))
        for rank, word, text in (shown if everything else shown[:MOST_SHOWN])
    ]
    if left := len(shown) - len(lines):
        lines.append(Text(f"{left} more, none more severe: {rest}"))
    return lines
