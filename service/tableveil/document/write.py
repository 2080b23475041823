"""Writes a proto policy as a document that `read_policy` reads back exactly."""

import math
import re
from typing import Any

import yaml
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tableveil.document.read import LIST_FORMS
from tableveil.document.scalars import enum_prefix
from tableveil.v1 import policy_pb2

# Texts that no person and no YAML reader of any version could misread; all others are quoted.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
_RESERVED = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


def to_document(policy: policy_pb2.Policy) -> dict[str, Any]:
    """The policy as plain dicts, lists, texts and numbers; unset fields are left out, enums have their short names.

    Rows of hierarchies are plain lists. `json.dumps` of it reads back exactly, too.
    """
    return _fields(policy)


def to_yaml(policy: policy_pb2.Policy) -> str:
    """The policy as YAML, fields in the proto's order; texts like `02139` and `NO` are quoted for other readers."""
    return dumped(to_document(policy))


def dumped(document: dict[str, Any]) -> str:
    """A document, or a part of one, as `to_yaml` writes it."""
    return yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=math.inf
    )


def _fields(message: Message) -> dict[str, Any]:
    return {field.name: _value(field, value) for field, value in message.ListFields()}


def _value(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        # A map has no order of its own.
        return dict(sorted(value.items()))
    return [_single(field, item) for item in value] if field.is_repeated else _single(field, value)


def _single(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        form = LIST_FORMS.get(field.message_type.full_name)
        return _Row(getattr(value, form)) if form else _fields(value)
    if field.name == "source_query":
        return _Query(value)
    if field.enum_type is not None:
        enum_value = field.enum_type.values_by_number.get(value)
        # A number this version does not know; it reads back as a fault.
        return str(value) if enum_value is None else enum_value.name.removeprefix(enum_prefix(field.enum_type))
    return value


class _Row(list[str]):
    """A list that YAML shows in one line."""


class _Query(str):
    """A text of which YAML shows each line in a line of its own."""


class _Dumper(yaml.SafeDumper):
    """Quotes by the rules above and never writes anchors, which `read_policy` refuses."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        # Items of a list stand below its name, indented.
        super().increase_indent(flow, indentless=False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _RESERVED
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


def _represent_row(dumper: yaml.SafeDumper, row: _Row) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", row, flow_style=True)


def _represent_query(dumper: yaml.SafeDumper, text: _Query) -> yaml.ScalarNode:
    # YAML has more ends of lines than this one, and a block does not tell them apart.
    if not all(map(str.isprintable, text.split("\n"))):
        return _represent_text(dumper, str(text))
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(_Query, _represent_query)
_Dumper.add_representer(_Row, _represent_row)
