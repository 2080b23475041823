"""Values in statements: the nodes of a policy document, written as SQL, with the place of each.

A list is `[1, 2]`, a message `{field: value}`. A message that is one of several kinds is a call, such as
`intervals(0, 105, widths => [5, 10])`: arguments without a name are the kind's first fields, by their numbers.
"""

from collections.abc import Mapping as AnyMapping
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from tableveil.document.nodes import DEEPEST, Mapping, Node
from tableveil.errors import Fault
from tableveil.statements.tokens import StatementTokens

KIND: Final = "kind"
"""The oneof of messages that are one of several kinds."""


class FieldPlaces:
    """Where in a statement the fields of its policy stand."""

    def __init__(self, tokens: StatementTokens) -> None:
        self._tokens = tokens
        self._offsets: dict[str, int] = {}

    def note(self, path: str, offset: int | None = None) -> None:
        """The field at a path begins with the next token, or at a place before."""
        self._offsets[path] = self._tokens.offset if offset is None else offset

    def __contains__(self, path: str) -> bool:
        return path in self._offsets

    def of(self, fault: Fault) -> Fault:
        """The fault, with the place of its field, or of the part of the statement that has it."""
        path = fault.field
        while path and path not in self._offsets:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        place = self._tokens.place(self._offsets.get(path, 0))
        return Fault(f"{place} ({fault.field})", fault.found, fault.expected, fault.hint)


class Values:
    """Reads values."""

    def __init__(self, tokens: StatementTokens, places: FieldPlaces) -> None:
        self._tokens = tokens
        self._places = places
        self._depth = 0

    def value(self, path: str, field: FieldDescriptor | None = None) -> Node:
        """The next value, for a field if it is known."""
        tokens = self._tokens
        if path not in self._places:
            self._places.note(path)
        if self._depth == DEEPEST:
            tokens.refuse(tokens.offset, f"more than {DEEPEST} levels of nesting", "a policy")
        self._depth += 1
        try:
            if tokens.accept("["):
                return [self.value(f"{path}[{position}]", field) for position in tokens.items("]")]
            message = None if field is None else message_of(field)
            if tokens.accept("{"):
                return Mapping(
                    [self.named(path, message.fields_by_name if message else {}, ":") for _ in tokens.items("}")]
                )
            if message is not None and KIND in message.oneofs_by_name:
                return self.call(path, message)
            return tokens.scalar()
        finally:
            self._depth -= 1

    def call(self, path: str, *messages: Descriptor) -> Mapping:
        """A call of a kind of one of the messages."""
        tokens = self._tokens
        kinds = {field.name: field for message in messages for field in message.oneofs_by_name[KIND].fields}
        kind = kinds.get(tokens.peek.text) if tokens.peek else None
        if kind is None:
            tokens.refuse_next(f"one of {', '.join(kinds)}", *kinds)
        below = f"{path}.{kind.name}"
        self._places.note(below)
        tokens.take()
        tokens.expect("(")
        message = message_of(kind)
        assert message is not None
        left, arguments = positional(message), Mapping()
        for _ in tokens.items(")"):
            if tokens.is_named("=>"):
                left = []
                arguments.entries.append(self.named(below, message.fields_by_name, "=>"))
            elif left:
                field = left.pop(0)
                arguments.entries.append((field.name, self.value(f"{below}.{field.name}", field)))
            else:
                tokens.refuse_next(f"name => value, with one of the names {', '.join(message.fields_by_name)}")
        return Mapping([(kind.name, arguments)])

    def named(self, path: str, fields: AnyMapping[str, FieldDescriptor], sign: str) -> tuple[str, Node]:
        """The name of one of the fields, a sign, and its value."""
        offset, name = self._tokens.offset, self._tokens.name("a name")
        self._tokens.expect(sign)
        below = f"{path}.{name}" if path else name
        self._places.note(below, offset)
        return name, self.value(below, fields.get(name))


def message_of(field: FieldDescriptor) -> Descriptor | None:
    """The message of a field; None for scalars and maps."""
    message = field.message_type
    return None if message is None or message.GetOptions().map_entry else message


def positional(message: Descriptor) -> list[FieldDescriptor]:
    """The fields of a message in the order of arguments without names."""
    return sorted(message.fields, key=lambda field: field.number)
