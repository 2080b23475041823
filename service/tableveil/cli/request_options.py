"""Options that set fields of a request: their types come from its descriptor, and their help from its comments."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import click
from google.api import field_behavior_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tableveil.v1.comments import comments
from tableveil.wording import enum_word

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class Stated:
    """The option of a field: its path in the request, its name if it has another one, and what else click is told."""

    path: str
    flag: str
    note: str
    attributes: Mapping[str, Any]

    @property
    def parameter(self) -> str:
        """The name by which click hands over the value."""
        return self.flag.partition("/")[0].lstrip("-").replace("-", "_")


def option(path: str, flag: str = "", note: str = "", **attributes: Any) -> Stated:
    """The option of a field; a `note` is a sentence behind the comment, `help` one in its place."""
    return Stated(path, flag or f"--{path.replace('.', '-').replace('_', '-')}", note, attributes)


def request_options(kind: type[Message], name: str, *fields: Stated | str, about: str = "") -> Decorator:
    """Gives a command options of fields, and calls it with the request that they make, by that name.

    The help of each begins with what all of them are `about`.
    """
    stated = [option(each) if isinstance(each, str) else each for each in fields]
    flags = {each.path.rpartition(".")[2]: each.flag for each in stated}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(**values: Any) -> Any:
            request, chosen = kind(), dict[object, str]()
            for each in stated:
                value = values.pop(each.parameter)
                if value or (value == 0 and value is not False):
                    _refuse_another(chosen, _field(kind, each.path), each.flag)
                    _set(request, each.path, value)
            return function(**{name: request}, **values)

        command: Callable[..., Any] = run
        for each in reversed(stated):
            command = _of_field(kind, each, flags, about)(command)
        return command

    return decorate


def request_option(kind: type[Message], path: str, flag: str = "", note: str = "", **attributes: Any) -> Decorator:
    """The option of a single field, as a parameter of the command."""
    return _of_field(kind, option(path, flag, note, **attributes))


def _of_field(
    kind: type[Message], stated: Stated, flags: Mapping[str, str] = MappingProxyType({}), about: str = ""
) -> Decorator:
    field, attributes = _field(kind, stated.path), dict(stated.attributes)
    if field_behavior_pb2.REQUIRED in field.GetOptions().Extensions[field_behavior_pb2.field_behavior]:
        attributes.setdefault("required", True)
    if field.is_repeated:
        attributes.setdefault("multiple", True)
    if field.enum_type is not None:
        numbers = _numbers(field)
        attributes |= {"type": click.Choice([*numbers]), "callback": functools.partial(_numbered, numbers)}
    elif field.message_type is not None and field.message_type.GetOptions().map_entry:
        attributes.setdefault("callback", pairs)
    elif field.type == field.TYPE_BOOL:
        attributes["is_flag"] = True
    elif field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
        attributes.setdefault("type", int)
    if "help" not in attributes:
        again = "May be repeated." if attributes.get("multiple") else ""
        attributes["help"] = " ".join(filter(None, (about and f"{about}:", _help(field, flags), stated.note, again)))
    return click.option(stated.flag, **attributes)


def _help(field: FieldDescriptor, flags: Mapping[str, str]) -> str:
    """The comment without its refusals, which the server tells; other fields go by the names of their options."""
    text = re.sub(r"\s*\bRefused\b.*", "", comments()[field.full_name])
    names = {**flags, **({word.upper(): word for word in _numbers(field)} if field.enum_type is not None else {})}
    return re.sub(r"`([^`]+)`", lambda match: names.get(match[1], match[1]), text)


def _field(kind: type[Message], path: str) -> FieldDescriptor:
    message: Any = kind.DESCRIPTOR
    *parents, last = path.split(".")
    for name in parents:
        message = message.fields_by_name[name].message_type
    field: FieldDescriptor = message.fields_by_name[last]
    return field


def _numbers(field: FieldDescriptor) -> dict[str, int]:
    """The values of an enum by their words."""
    values = field.enum_type.values if field.enum_type is not None else ()
    prefix = values[0].name.removesuffix("UNSPECIFIED")
    return {enum_word(value.name, prefix).replace(" ", "-"): value.number for value in values if value.number}


def _numbered(numbers: Mapping[str, int], _: click.Context, __: click.Parameter, chosen: Any) -> Any:
    if chosen is None or isinstance(chosen, str):
        return None if chosen is None else numbers[chosen]
    return [numbers[word] for word in chosen]


def pairs(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Texts such as `COLUMN=TYPE`; names may contain an equals sign, values do not."""
    found = {}
    for one in values:
        name, equals, value = one.rpartition("=")
        if not (name and equals and value):
            raise click.BadParameter(f"{one!r} is not {param.metavar}", param_hint=param.opts[0])
        found[name] = value
    return found


def _refuse_another(chosen: dict[object, str], field: FieldDescriptor, flag: str) -> None:
    """Refuses a second option of those that one value decides."""
    if field.containing_oneof is not None and (other := chosen.setdefault(field.containing_oneof, flag)) != flag:
        raise click.UsageError(f"{other} and {flag} say the same in two ways: use one of them")


def _set(message: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        message = getattr(message, parent)
    message.MergeFrom(type(message)(**{last: value}))
