"""The demo as people read it: its report in sheets of A4, and its account in screens of 80 columns and 50 lines."""

import io
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from weasyprint import HTML

from tableveil.cli.account import account
from tableveil.cli.own_server import client_of_own_server
from tableveil.cli.warnings import MOST_SHOWN
from tableveil.demo.place import DATABASE
from tableveil.v1 import faults_pb2

COLUMNS, LINES = 80, 50
MOST_SHEETS, MOST_SCREENS, MOST_WARNINGS = 7, 2, 3


@dataclass(frozen=True, slots=True)
class Demo:
    """The sheets of the report, on which one each section begins, and the lines and warnings of the account."""

    sheets: int
    sheet_of: Mapping[str, int]
    lines: int
    warnings: tuple[str, ...]

    @property
    def sheets_to_decide(self) -> int:
        """The sheets before the annex."""
        return self.sheet_of["limits"] - 1

    @property
    def problems(self) -> Iterator[str]:
        """Each number that is above what an officer or a steward would read."""
        if self.sheets > MOST_SHEETS:
            yield f"the report has {self.sheets} sheets"
        if self.sheets_to_decide != 1:
            yield f"the page to decide by takes {self.sheets_to_decide} sheets"
        if self.lines > MOST_SCREENS * LINES:
            yield f"the account has {self.lines} lines"
        if len(self.warnings) > MOST_WARNINGS:
            yield f"the account has {len(self.warnings)} warnings"


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
    sheets = HTML(string=html).render().pages
    sheet_of = {section: number for number, sheet in enumerate(sheets, 1) for section in sheet.anchors}
    # A note asks nothing of anybody.
    warned = [one for one in release.ranked_warnings[:MOST_SHOWN] if one.rank != faults_pb2.WARNING_RANK_NOTE]
    return Demo(len(sheets), sheet_of, len(text.getvalue().splitlines()), tuple(one.text for one in warned))
