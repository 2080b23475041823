"""The command line, run in this process: it says and returns what `tableveil` would."""

import json
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from tableveil.cli.main import cli


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command: its exit code and its output."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The documents that `--json` printed, line by line."""
        return [json.loads(line) for line in self.stdout.splitlines()]


def tableveil(*arguments: str, server: str = "") -> Outcome:
    """Runs a command against the server at that address, if any."""
    result = CliRunner().invoke(cli, [*arguments, *(["--server", server] if server else [])], prog_name="tableveil")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)
