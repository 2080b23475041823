"""The entry point: all commands under one name."""

import signal
import sys
from importlib import import_module
from types import FrameType
from typing import NoReturn

import click

from tableveil.cli.commands import COMMANDS, SECTIONS
from tableveil.cli.exit_codes import ExitCode
from tableveil.errors import nearest, shortened

# \b keeps click from joining the lines.
_EPILOG = "\b\nExit codes:\n" + "\n".join(f"{code.value:5}  {code.meaning}" for code in ExitCode)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                # Equal first columns in all sections.
                rows = [(name.ljust(width), command.summary) for name, command in commands.items()]
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click would propose only commands that are loaded.
        if args[0] not in COMMANDS and not ctx.resilient_parsing and (hint := nearest(args[0], COMMANDS)):
            ctx.fail(f"No such command {shortened(args[0])}. {hint}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"tableveil.cli.{COMMANDS[cmd_name].module}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        command.short_help = COMMANDS[cmd_name].summary
        return command


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tableveil")
def cli() -> None:
    """Anonymize tables where they live: submit a policy, follow its job, use its release."""


def main() -> None:
    """Runs the command line."""
    # A plain kill must leave no half-written files either.
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        # A question mark is better than no output where the encoding is narrow.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # they are text files here
    cli(prog_name="tableveil")


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
