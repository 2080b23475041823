"""The page of the configuration, from the options of the programs that run on."""

from collections.abc import Iterator
from importlib import import_module

import click

from tests.reference.markdown import head, table
from tests.reference.options import default, form

PROGRAMS = {
    "serve": "The service. [operator.md](../guides/operator.md) leads through it.",
    "endpoint": "The endpoint for analysts, which answers queries of [what is published](publishing.md).",
    "console": "The service in a browser: [console.md](console.md).",
}

INTRODUCTION = """\
Each program takes its options on the command line, or from a TOML file by `--config FILE`. A key of the file is the
name of the option with underscores, and one that may be repeated is a list. The command line wins over the file. A key
that is no option is refused, and so is a value of another type. Relative paths start at the directory in which the
program was started. Environment variables do not count.
"""


def page() -> Iterator[str]:
    """A section for each program."""
    yield head("Configuration", "This page has every option of the programs that run on.", "their definitions")
    yield INTRODUCTION
    for name, words in PROGRAMS.items():
        command: click.Command = getattr(import_module(f"tableveil.cli.{name}"), name)
        yield f"## {name}\n"
        yield f"{words}\n"
        options = [option for option in command.params if isinstance(option, click.Option)]
        yield from table(["option", "value", "default", "meaning"], map(_row, options))


def _row(option: click.Option) -> list[str]:
    value = "flag" if option.is_flag else f"`{form(option)}`"
    shown = "required" if option.required else default(option)
    return [f"`{option.opts[0]}`", value, shown or "-", option.help or ""]
