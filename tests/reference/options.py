"""Arguments and options of commands as text, which does not depend on the version of click."""

import click

from tests.reference.markdown import names


def form(param: click.Parameter) -> str:
    """The form of a value: `FILE`, `NUMBER`, `csv|parquet`; empty for a flag."""
    if isinstance(param, click.Option) and param.is_flag:
        return ""
    if isinstance(param.metavar, str):
        return param.metavar
    match param.type:
        case click.Choice():
            return "|".join(str(getattr(choice, "value", choice)) for choice in param.type.choices)
        case click.Path():
            return "DIRECTORY" if not param.type.file_okay else "FILE"
        case click.IntRange() | click.types.IntParamType():
            return "NUMBER"
        case click.FloatRange() | click.types.FloatParamType():
            return "NUMBER"
    return (param.name or "").upper() if isinstance(param, click.Argument) else "TEXT"


def default(option: click.Option) -> str:
    """The default as the help shows it; empty if it shows none."""
    if not option.show_default or option.is_flag:
        return ""
    values = option.default if isinstance(option.default, list | tuple) else [option.default]
    return names(str(getattr(value, "value", value)) for value in values if value is not None)


def meaning(option: click.Option) -> str:
    """The help of an option, with its default, its variable and whether it must be given."""
    parts = [option.help or ""]
    if option.required:
        parts.append("Required.")
    if shown := default(option):
        parts.append(f"Default: {shown}.")
    if option.envvar:
        parts.append(f"Variable: `{option.envvar}`.")
    return " ".join(parts)


def called(option: click.Option) -> str:
    """All names of an option, with the form of its value."""
    shown = names([*option.opts, *option.secondary_opts])
    return f"{shown} `{form(option)}`" if form(option) else shown


def usage(command: click.Command) -> str:
    """The part behind the command's name: options and arguments."""
    pieces = ["[OPTIONS]"] if any(isinstance(param, click.Option) for param in command.params) else []
    for argument in command.params:
        if isinstance(argument, click.Argument):
            shown = form(argument) + ("…" if argument.nargs != 1 else "")
            pieces.append(shown if argument.required or shown.startswith("[") else f"[{shown}]")
    if isinstance(command, click.Group):
        pieces.append("COMMAND")
    return " ".join(pieces)
