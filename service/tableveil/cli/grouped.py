"""The options of a command as one frozen dataclass, each a field that its option or setting annotates."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click

from tableveil.serving.setting import Setting

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def grouped(kind: type[Any], name: str = "options") -> Decorator:
    """Gives a command the options of a dataclass, and calls it with an instance, by that name.

    The type of a field is annotated with the option: a decorator of click, whose parameter has the field's name, or a
    `Setting`. A field that is a dataclass has options of its own; one without an annotation has none.
    """
    parameters = list(_parameters(kind))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(**stated: Any) -> Any:
            return function(**{name: _made(kind, stated)}, **stated)

        command: Callable[..., Any] = run
        for parameter in reversed(parameters):
            command = parameter(command)
        return command

    return decorate


def _stated(kind: type[Any]) -> Iterator[tuple[Field[Any], Any, Any]]:
    """Each field that is stated, with its type and its annotation, which is None for a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield field, hint, None
        elif get_origin(hint) is Annotated:
            yield field, *get_args(hint)


def _parameters(kind: type[Any]) -> Iterator[Decorator]:
    for field, type_, annotation in _stated(kind):
        if annotation is None:
            yield from _parameters(type_)
        elif callable(annotation):
            yield annotation
        else:
            yield _option(field, type_, annotation)


def _made(kind: type[Any], stated: dict[str, Any]) -> Any:
    """An instance of the dataclass; what it takes is no longer in `stated`."""
    values = {}
    for field, type_, annotation in _stated(kind):
        if annotation is None:
            values[field.name] = _made(type_, stated)
        elif callable(annotation):
            values[field.name] = stated.pop(field.name)
        else:
            values[field.name] = _taken(_plain(type_), annotation, stated.pop(annotation.name or field.name))
    return kind(**values)


def _plain(hint: Any) -> Any:
    """The type of a value, if there is one."""
    parts = [part for part in get_args(hint) if part is not NoneType] if isinstance(hint, UnionType) else [hint]
    return parts[0]


def _taken(type_: Any, setting: Setting, value: Any) -> Any:
    """The value of a setting, as its option has it."""
    if value is None:
        return None
    if get_origin(type_) is tuple:
        return tuple(map(setting.read, value))
    if issubclass(type_, Enum):
        return type_(value)
    return type_(value * setting.unit) if type_ in (int, float) else value


def _option(field: Field[Any], hint: Any, setting: Setting) -> Decorator:
    """The option of a setting, by the type of its field."""
    type_ = _plain(hint)
    default = None if field.default is MISSING else field.default
    attributes: dict[str, Any] = {"required": field.default is MISSING, "help": setting.help}
    if setting.metavar is not None:
        attributes["metavar"] = setting.metavar
    if type_ is bool:
        attributes["is_flag"] = True
    elif get_origin(type_) is tuple:
        attributes |= {"multiple": True, "default": default, "show_default": bool(default)}
    elif issubclass(type_, Path):
        directory = setting.is_directory
        attributes["type"] = click.Path(path_type=Path, dir_okay=directory, file_okay=not directory)
    elif issubclass(type_, Enum):
        choices = click.Choice([member.value for member in type_])
        attributes |= {"type": choices, "default": default and default.value, "show_default": True}
    elif type_ in (int, float):
        counted = None if default is None else int(default) // setting.unit
        attributes |= {"type": click.IntRange(min=1), "default": counted, "show_default": default is not None}
    else:
        attributes |= {"default": default, "show_default": default is not None}
    return click.option(f"--{(setting.name or field.name).replace('_', '-')}", **attributes)
