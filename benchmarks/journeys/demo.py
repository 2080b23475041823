"""The demo's report in sheets of A4, and its account in screens of 80 columns and 50 lines."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from weasyprint import HTML

from tableveil.cli.account import account
from tableveil.cli.own_server import client_of_own_server
from tableveil.cli.warnings import MOST_SHOWN
from tableveil.demo.place import DATABASE

COLUMNS, LINES = 80, 50
MOST_SHEETS, MOST_SCREENS, MOST_WARNINGS = 7, 2, 3


@dataclass(frozen=True, slots=True)
class Demo:
    """The sheets of the report and of the page to decide by, the lines of the account, and the warnings in it."""

    sheets: int
    sheets_to_decide: int
    lines: int
    warnings: int

    @property
    def problems(self) -> Iterator[str]:
        """Each number that is above what an officer or a steward would read."""
        if self.sheets > MOST_SHEETS:
            yield f"the report has {self.sheets} sheets"
        if self.sheets_to_decide != 1:
            yield f"the page to decide by takes {self.sheets_to_decide} sheets"
        if self.lines > MOST_SCREENS * LINES:
            yield f"the account has {self.lines} lines"
        if self.warnings > MOST_WARNINGS:
            yield f"the account has {self.warnings} warnings"


def shown(place: Path) -> Demo:
    """The demo, run in a folder."""
    directory = place / "demo"
    subprocess.run(
        [sys.executable, "-m", "tableveil.cli", "demo", "--directory", str(directory)], check=True, capture_output=True
    )
    with client_of_own_server(directory / DATABASE) as client:
        release = client.get_release("1")
        html = client.get_report("1").content.decode()
    text = io.StringIO()
    Console(file=text, width=COLUMNS, highlight=False).print(account(release))
    # Each sheet knows the identities of the sections that begin on it.
    sheets = [set(page.anchors) for page in HTML(string=html).render().pages]
    annex = next(number for number, sections in enumerate(sheets) if "limits" in sections)
    return Demo(len(sheets), annex, len(text.getvalue().splitlines()), min(len(release.warnings), MOST_SHOWN))
