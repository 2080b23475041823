"""Reads a policy document into the proto message by walking the message's descriptor, and reports every fault.

The rules are the same for YAML and JSON. A scalar is a text until its field gives it a type, quoted or not. `null` and
nothing are a missing field. A field goes by its name, also as proto JSON has it (`personColumn`), an enum's value by
its own or by its short name in any case (`ROLE_QUASI_IDENTIFIER`, `quasi_identifier`). At most one member of a oneof
may be set. A row of a hierarchy is written as a list, `[02139, 0213*, "*"]`, or as `{labels: [...]}`; so are boundaries
of intervals. `elements: NONE` is `elements: {none: true}`.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from tableveil.document.json_text import parse_json
from tableveil.document.nodes import DOCUMENT, Mapping, Node, RefusedNode, UnreadableError, line_and_column
from tableveil.document.scalars import convert_scalar
from tableveil.document.yaml_text import parse_yaml
from tableveil.errors import Fault, nearest, shortened
from tableveil.v1 import policy_pb2

Syntax = Literal["yaml", "json"]

LARGEST_DOCUMENT = 64 * 2**20
"""Bytes. Larger hierarchies belong into the store or a table."""

LIST_FORMS = {
    policy_pb2.HierarchyRow.DESCRIPTOR.full_name: "labels",
    policy_pb2.Boundaries.DESCRIPTOR.full_name: "values",
}
"""Messages that a document may write as a list: the list of this field."""

WORD_FORMS = {policy_pb2.Elements.DESCRIPTOR.full_name: "none"}
"""Messages that a document may write as a word: the name of this field, which is then true."""

_FIELDS_OF_NAMES = {
    policy_pb2.TableReference.DESCRIPTOR.full_name: ("catalog", "schema", "table"),
    policy_pb2.ReleaseTarget.DESCRIPTOR.full_name: ("schema", "name"),
}
"""The fields that a name with dots stands for elsewhere."""

_PARSERS: dict[Syntax, Callable[[str], Node]] = {"yaml": parse_yaml, "json": parse_json}
_SYNTAXES: dict[str, Syntax] = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}


STDIN = Path("-")
"""Stands for standard input, in YAML or JSON."""


def load_policy(path: Path) -> tuple[policy_pb2.Policy, list[Fault]]:
    """The policy in a file, whose suffix says the syntax, and its faults; see `read_policy`. `-` is standard input."""
    if path == STDIN:
        text = sys.stdin.buffer.read(LARGEST_DOCUMENT + 1)
        return read_policy(text, "json" if text.lstrip().startswith(b"{") else "yaml")
    syntax = _SYNTAXES.get(path.suffix.lower())
    if syntax is None:
        fault = Fault(DOCUMENT, f"the file {shortened(path.name)}", f"a name that ends in {', '.join(_SYNTAXES)}")
        return policy_pb2.Policy(), [fault]
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_DOCUMENT + 1)
    except OSError as error:
        actual = f"the file {shortened(str(path))}, which cannot be read: {error.strerror}"
        return policy_pb2.Policy(), [Fault(DOCUMENT, actual, "a readable file")]
    return read_policy(text, syntax)


def read_policy(text: bytes | str, syntax: Syntax) -> tuple[policy_pb2.Policy, list[Fault]]:
    """The policy in a document, and its faults with their field paths.

    The message is complete only if there are no faults; otherwise it holds the readable parts, so that other checks can
    add faults.
    """
    policy = policy_pb2.Policy()
    return policy, read_message(policy, text, syntax, "the policy's")


def read_message(message: Message, text: bytes | str, syntax: Syntax, whose: str) -> list[Fault]:
    """Fills a message from a document, and returns the document's faults; `whose` fields it should have."""
    try:
        return fill(message, parse_document(text, syntax, whose))
    except UnreadableError as error:
        return [error.fault]


def parse_document(text: bytes | str, syntax: Syntax, whose: str) -> Mapping:
    """The fields in a document, not typed yet; `whose` fields they should be.

    Raises:
        UnreadableError: it has none.
    """
    root = _PARSERS[syntax](_decoded(text))
    if isinstance(root, Mapping):
        return root
    if isinstance(root, RefusedNode):
        raise UnreadableError(root.found, root.expected, root.hint)
    # Such a file may be anything: not even its first words are quoted.
    raise UnreadableError("only a text" if isinstance(root, str) else _kind(root), f"a mapping of {whose} fields")


def fill(message: Message, document: Mapping) -> list[Fault]:
    """Fills a message with the fields of a document, and returns its faults."""
    walk = _Walk()
    walk.message(message, document, "")
    return walk.faults


def read_field(message: Message, field: FieldDescriptor, text: str, path: str) -> list[Fault]:
    """Sets a field of a message to a value in YAML, or clears it if that is null, and returns the faults."""
    try:
        node = parse_yaml(text)
    except UnreadableError as error:
        return [replace(error.fault, field=path)]
    message.ClearField(field.containing_oneof.name if field.containing_oneof is not None else field.name)
    walk = _Walk()
    if node is not None:
        walk._field(message, field, node, path)
    return walk.faults


def _decoded(text: bytes | str) -> str:
    if len(text) > LARGEST_DOCUMENT:
        limit = LARGEST_DOCUMENT // 2**20
        hint = "Put large hierarchies into a file of their own (csv) or into a table."
        raise UnreadableError(f"more than {limit} MiB", f"at most {limit} MiB", hint)
    # Editors on Windows begin UTF-8 with a byte order mark.
    return (text if isinstance(text, str) else _from_utf8(text)).removeprefix("\ufeff")


def _from_utf8(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        readable = text[: error.start].decode("utf-8")
        where = line_and_column(readable, len(readable))
        raise UnreadableError(f"bytes that are not UTF-8 at {where}", "a text in UTF-8") from None


class _Walk:
    """Fills messages from nodes and collects the faults on the way."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def refuse(self, path: str, why: RefusedNode) -> None:
        self.faults.append(Fault(path, why.found, why.expected, why.hint))

    def message(self, message: Message, node: Mapping, path: str) -> None:
        descriptor = _descriptor(message)
        seen: set[str] = set()
        for name, child in node.entries:
            field = descriptor.fields_by_name.get(name) or descriptor.fields_by_camelcase_name.get(name)
            below = _below(path, field.name if field is not None else name)
            if isinstance(child, RefusedNode):
                self.refuse(below, child)
            elif field is None:
                self.refuse(below, _unknown(name, descriptor))
            elif field.name in seen:
                self.refuse(below, RefusedNode("the field more than once", "each field once"))
            elif child is not None:
                self._field(message, field, child, below)
            seen.add(field.name if field is not None else name)

    def _field(self, message: Message, field: FieldDescriptor, node: Node, path: str) -> None:
        if field.containing_oneof is not None:
            other = message.WhichOneof(field.containing_oneof.name)
            if other is not None:
                names = " or ".join(member.name for member in field.containing_oneof.fields)
                self.refuse(path, RefusedNode(f"{field.name} beside {other}", f"only one of {names}"))
                return
        if _is_map(field):
            self._map(getattr(message, field.name), field, node, path)
        elif field.is_repeated:
            self._repeated(getattr(message, field.name), field, node, path)
        elif field.message_type is not None:
            value = getattr(message, field.name)
            value.SetInParent()
            self._nested(value, node, path)
        else:
            scalar = self._scalar(field, node, path)
            if scalar is not None:
                setattr(message, field.name, scalar)

    def _repeated(self, values: Any, field: FieldDescriptor, node: Node, path: str) -> None:
        if not isinstance(node, list):
            self.refuse(path, RefusedNode(_kind(node), "a list"))
            return
        for index, item in enumerate(node):
            below = f"{path}[{index}]"
            # If an item has a fault, the later ones keep their positions, and with them their paths.
            if field.message_type is not None:
                self._nested(values.add(), item, below)
            else:
                scalar = self._scalar(field, item, below)
                placeholder = "" if field.cpp_type == FieldDescriptor.CPPTYPE_STRING else 0
                values.append(placeholder if scalar is None else scalar)

    def _map(self, values: Any, field: FieldDescriptor, node: Node, path: str) -> None:
        """A map of texts to scalars."""
        if not isinstance(node, Mapping):
            self.refuse(path, RefusedNode(_kind(node), "a mapping"))
            return
        key_field, value_field = (_entry(field).fields_by_name[name] for name in ("key", "value"))
        for name, child in node.entries:
            below = f"{path}[{_cut(name)}]"
            key = self._scalar(key_field, name, below)
            value = self._scalar(value_field, child, below)
            if key is not None and key in values:
                self.refuse(below, RefusedNode("the name more than once", "each name once"))
            elif key is not None:
                # A placeholder for an unreadable value, so that its name does not count as missing.
                values[key] = 0 if value is None else value

    def _nested(self, message: Message, node: Node, path: str) -> None:
        form = LIST_FORMS.get(message.DESCRIPTOR.full_name)
        word = WORD_FORMS.get(message.DESCRIPTOR.full_name)
        if isinstance(node, Mapping):
            self.message(message, node, path)
        elif word is not None and isinstance(node, str) and node.lower() == word:
            setattr(message, word, True)
        elif form is not None and isinstance(node, list):
            self._field(message, _descriptor(message).fields_by_name[form], node, f"{path}.{form}")
        elif isinstance(node, RefusedNode):
            self.refuse(path, node)
        else:
            names = ", ".join(message.DESCRIPTOR.fields_by_name) or "none"
            other = " or a list" if form else f" or {word.upper()}" if word else ""
            expected = f"a mapping with the fields {names}{other}"
            self.refuse(path, RefusedNode(_kind(node), expected, _in_parts(message, node)))

    def _scalar(self, field: FieldDescriptor, node: Node, path: str) -> str | int | float | bool | None:
        if isinstance(node, str):
            value = convert_scalar(field, node)
        elif node is None:
            value = RefusedNode("nothing", "a value", """Quote it if this text is meant: "null".""")
        else:
            value = node if isinstance(node, RefusedNode) else RefusedNode(_kind(node), "a single value")
        if not isinstance(value, RefusedNode):
            return value
        self.refuse(path, value)
        return None


def _in_parts(message: Message, node: Node) -> str:
    """The mapping that is meant by a name with dots, such as `lake.clinic.visits`."""
    fields = _FIELDS_OF_NAMES.get(message.DESCRIPTOR.full_name, ())
    parts = node.split(".", max(len(fields) - 1, 0)) if isinstance(node, str) else []
    if not parts or not fields or not all(parts):
        return ""
    written = ", ".join(f"{field}: {shortened(part)}" for field, part in zip(fields[-len(parts) :], parts, strict=True))
    return f"Write {{{written}}}."


def _descriptor(message: Message) -> Descriptor:
    # Typed as one of several implementations that look alike.
    return cast(Descriptor, message.DESCRIPTOR)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _entry(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type


def _below(path: str, name: str) -> str:
    return f"{path}.{_cut(name)}" if path else _cut(name)


def _cut(name: str) -> str:
    # A name in the document can be any text, and a path must stay readable.
    return name if len(name) <= 120 else f"{name[:120]}…"


def _unknown(name: str, descriptor: Descriptor) -> RefusedNode:
    names = list(descriptor.fields_by_name)
    expected = f"one of the fields {', '.join(names)}" if names else "no fields"
    return RefusedNode("an unknown field", expected, nearest(name, names))


def _kind(node: Node) -> str:
    match node:
        case None:
            return "nothing"
        case str():
            return shortened(node)
        case list():
            return "a list"
        case _:
            return "a mapping"
