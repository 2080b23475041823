"""The entry point: all commands under one name."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from tableveil.cli.demo import demo
from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.hierarchies import hierarchies
from tableveil.cli.jobs import cancel, jobs, watch
from tableveil.cli.policies import check_policy, submit
from tableveil.cli.releases import export, releases, show
from tableveil.cli.serve import serve

# \b keeps click from joining the lines.
_EPILOG = "\b\nExit codes:\n" + "\n".join(f"{code.value:5}  {code.meaning}" for code in ExitCode)


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tableveil")
def cli() -> None:
    """Anonymize tables where they live: submit a policy, follow its job, use its release."""


for command in (serve, submit, jobs, watch, cancel, releases, show, export, check_policy, hierarchies, demo):
    cli.add_command(command)


def main() -> None:
    """Runs the command line."""
    # A plain kill leaves no half-written files either.
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        # Better a question mark than no output where the encoding is narrow.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # they are text files here
    cli(prog_name="tableveil")


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
