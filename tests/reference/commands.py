"""The page of commands, from their definitions: what each does, its arguments, its options."""

from collections.abc import Iterable, Iterator

import click

from tableveil.cli.commands import SECTIONS
from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.main import cli
from tableveil.cli.verb import verb
from tests.reference.markdown import head, table
from tests.reference.options import called, meaning, usage

_OF_ALL = click.command()(verb(lambda session: None)).params
"""Options of all commands that ask a server."""

_CONFIGURED = ("serve", "endpoint", "console")
"""Their options stand on the page of the configuration."""


def page() -> Iterator[str]:
    """Sections by who uses the commands, then the common options and the exit codes."""
    yield head(
        "Commands",
        "This page has every command of `tableveil`, as `tableveil COMMAND --help` shows it.",
        "the definitions of the commands",
    )
    context = click.Context(cli, info_name="tableveil")
    for section, listed in SECTIONS.items():
        yield f"## {section}\n"
        for name, command in listed.items():
            defined = cli.get_command(context, name)
            assert defined is not None
            yield from _command(defined, name, command.summary)
    yield "## Options of all commands\n"
    yield "Commands that ask a server have these options beside their own.\n"
    yield from _options(_OF_ALL)
    yield "## Exit codes\n"
    yield "A scheduler can branch on them: they are stable. [errors.md](errors.md) has the errors behind them.\n"
    yield from table(["code", "meaning"], ([str(code.value), code.meaning] for code in ExitCode))


def _command(command: click.Command, name: str, summary: str) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{_help(command) or summary}\n"
    yield f"```text\ntableveil {name} {usage(command)}".rstrip() + "\n```\n"
    if name in _CONFIGURED:
        yield f"[configuration.md](configuration.md#{name}) has its options.\n"
    else:
        common = {option.name for option in _OF_ALL}
        yield from _options(option for option in command.params if option.name not in common)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from _command(below, f"{name} {below.name}", "")


def _help(command: click.Command) -> str:
    """The help without the marks for line breaks: their lines become a block."""
    paragraphs = []
    for part in (command.help or "").split("\n\n"):
        if part.startswith("\b"):
            paragraphs.append("```text\n" + part.removeprefix("\b").strip("\n") + "\n```")
        else:
            paragraphs.append(" ".join(part.split()))
    return "\n\n".join(paragraphs)


def _options(params: Iterable[click.Parameter]) -> Iterator[str]:
    options = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    if options:
        yield from table(["option", "meaning"], ([called(option), meaning(option)] for option in options))
