"""Options from a TOML file: each key is an option's name with underscores, and the command line wins over it."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from tableveil.cli.output import Output
from tableveil.errors import Fault, InvalidError, NotFoundError, nearest, shortened

_NAMES = {bool: "true or false", int: "an integer", str: "a text", list: "a list of texts"}


def _load(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    if path is not None:
        with Output().reporting():
            context.default_map = read_configuration(path, context.command)


# Eager, so that the file is read before the other options take their defaults.
CONFIG = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_load,
    expose_value=False,
    is_eager=True,
    help="A TOML file of options, such as concurrent_jobs = 4; those of the command line win.",
)


def read_configuration(path: Path, command: click.Command) -> dict[str, Any]:
    """The options of a command that a file sets.

    Raises:
        NotFoundError: there is no such file.
        InvalidError: it is no TOML, or has keys that are no options, or values of wrong types.
    """
    try:
        answer = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFoundError.of("CONFIG_NOT_FOUND", "config", shortened(str(path)), "an existing file") from None
    except OSError as error:
        raise InvalidError.of(
            "CONFIG_INVALID", "config", f"{shortened(str(path))}: {error.strerror}", "a file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8"
        raise InvalidError.of("CONFIG_INVALID", "config", f"{shortened(str(path))}: {reason}", "TOML") from None
    options = {option.name: option for option in command.params if option.name and option.expose_value}
    faults = list(_faults(answer, options))
    if faults:
        raise InvalidError.about("CONFIG_INVALID", f"{shortened(str(path))} is no configuration", faults)
    return answer


def _faults(found: Mapping[str, Any], options: Mapping[str, click.Parameter]) -> Iterator[Fault]:
    for key, value in found.items():
        if key not in options:
            yield Fault(key, "a key that is no option", "an option's name, with underscores", nearest(key, options))
            continue
        wanted = _type(options[key])
        if not _fits(value, wanted):
            yield Fault(key, shortened(repr(value)), _NAMES[wanted])


def _fits(value: Any, wanted: type) -> bool:
    if wanted is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    # The exact type: Python counts true as an integer.
    return type(value) is wanted


def _type(option: click.Parameter) -> type:
    if isinstance(option, click.Option) and option.multiple:
        return list
    if isinstance(option, click.Option) and option.is_flag:
        return bool
    return int if isinstance(option.type, click.types.IntParamType) else str
