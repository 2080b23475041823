"""Random messages: valid ones that are changed at random, and ones that are random throughout."""

from collections.abc import Sequence
from random import Random
from typing import cast

from google.api.resource_pb2 import resource_reference
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.campaign.fuzz.fixtures import NAMES, is_map, parts

DOUBLING = "WITH " + ", ".join(
    f"c{i} AS (SELECT a.tag FROM {before} AS a JOIN {before} AS b USING (tag))"
    for i, before in enumerate(["people", *(f"c{i}" for i in range(24))])
)
"""Each names the one before twice: the expansion doubles with each."""

HOSTILE = (
    f"{DOUBLING} SELECT * FROM c24",
    "SELECT people" + ".a" * 9_000 + " FROM people",
    "SELECT * FROM people AS a0" + "".join(f" JOIN people AS a{i} ON TRUE" for i in range(400)),
    "",
    " ",
    "*",
    "\0",
    "\u200b",
    "\u202egnp.exe",
    "e\u0301",
    "'; DROP TABLE people; --",
    '"',
    "main.people",
    "people",
    "tableveil",
    "jobs/1",
    "jobs/999999999999999999999999",
    "releases/-1",
    "../../etc/passwd",
    "%s%n{0}",
    "NaN",
    "-0",
    "1e999999",
    "0." + "0" * 300 + "1",
    "9" * 5_000,
    "0.5",
    "1",
    "2024-02-30",
    "SELECT * FROM people",
    "SELECT " + "(" * 300 + "1" + ")" * 300 + " AS a",
    "WITH a AS (SELECT * FROM people) SELECT * FROM a, a AS b, a AS c",
    "x" * 70_000,
    "🦆" * 500,
)
WHOLE = (0, 1, -1, 2, 3, 7, 100, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
FRACTIONS = (0.0, -0.0, 1.0, 0.5, -1.0, 1e308, 5e-324, float("nan"), float("inf"), float("-inf"))

DEEP = 90
"""How deep messages are nested: protobuf itself refuses more than 100."""

MANY = 3_000
"""How often an entry of a list is repeated, at most."""


def random_message(random: Random, kind: Descriptor, seeds: Sequence[Message], depth: int = 0) -> Message:
    """A message of the kind; if a seed fits, it is mostly taken and changed."""
    fitting = [seed for seed in seeds if seed.DESCRIPTOR is kind]
    if fitting and random.random() < 0.9:
        found = GetMessageClass(kind)()
        found.CopyFrom(random.choice(fitting))
        for _ in range(random.choice([0, 1, 1, 1, 2, 3, 8])):
            change(random, found, seeds)
        return found
    message = GetMessageClass(kind)()
    # With all of its fields, nearly every message is refused for the first of them.
    share = random.choice((0.2, 0.4, 0.7)) if depth == 0 else 0.3
    for field in kind.fields:
        if random.random() < (0.9 if depth == 0 and names_of(field) is not NAMES else share):
            fill(random, message, field, seeds, depth)
    return message


def change(random: Random, message: Message, seeds: Sequence[Message]) -> None:
    """One change, somewhere in the message."""
    target = random.choice(parts(message))
    fields = fields_of(target)
    if not fields:
        return
    field = random.choice(fields)
    match random.randrange(6):
        case 0:
            target.ClearField(field.name)
        case 1 if field.is_repeated and not is_map(field) and len(getattr(target, field.name)):
            entries = getattr(target, field.name)
            entry = random.choice(list(entries))
            entries.extend([entry] * random.choice([1, 2, 30, MANY]))
        case 2 if field.message_type is target.DESCRIPTOR or field.message_type is not None:
            nest(random, target, field)
        case _:
            fill(random, target, field, seeds, 1)


def nest(random: Random, message: Message, field: FieldDescriptor) -> None:
    """Goes down through messages that contain messages of their own kind, as deep as the wire allows."""
    for _ in range(random.choice([3, DEEP])):
        if field.is_repeated:
            return
        message = getattr(message, field.name)
        message.SetInParent()
        deeper = [f for f in fields_of(message) if f.message_type is not None and not f.is_repeated]
        if not deeper:
            return
        # The fields that lead back to the starting kind.
        field = next((f for f in deeper if f.name in ("combination", "rest")), random.choice(deeper))


def fill(random: Random, message: Message, field: FieldDescriptor, seeds: Sequence[Message], depth: int) -> None:
    """Gives one field another value."""
    if is_map(field) and field.message_type is not None:
        entry = {part.name: part for part in fields_of(GetMessageClass(field.message_type)())}
        if entry["value"].message_type is None:
            getattr(message, field.name)[value_of(random, entry["key"])] = value_of(random, entry["value"])
    elif field.message_type is not None:
        if depth > 6:
            return
        part = random_message(random, field.message_type, seeds, depth + 1)
        if field.is_repeated:
            getattr(message, field.name).append(part)
        else:
            getattr(message, field.name).CopyFrom(part)
    elif field.is_repeated:
        getattr(message, field.name).extend(value_of(random, field) for _ in range(random.randint(1, 4)))
    else:
        setattr(message, field.name, value_of(random, field))


def value_of(random: Random, field: FieldDescriptor) -> object:
    """A value that the wire can carry."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return random.random() < 0.5
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return random.choice(FRACTIONS)
        case FieldDescriptor.CPPTYPE_ENUM:
            assert field.enum_type is not None
            return random.choice([*(value.number for value in field.enum_type.values), 99, -1])
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return random.randbytes(random.choice([0, 1, 100, 5_000]))
        case FieldDescriptor.CPPTYPE_STRING:
            names = names_of(field)
            return random.choice(names if random.random() < (0.4 if names is NAMES else 0.85) else HOSTILE)
        case FieldDescriptor.CPPTYPE_INT32:
            return random.choice([number for number in WHOLE if -(2**31) <= number < 2**31])
        case FieldDescriptor.CPPTYPE_INT64:
            return random.choice(WHOLE)
    return abs(random.choice(WHOLE[:8]))


def names_of(field: FieldDescriptor) -> Sequence[str]:
    """The names of the resource that a field takes, or all."""
    _, _, kind = field.GetOptions().Extensions[resource_reference].type.rpartition("/")
    stem = kind[:1].lower() + kind[1:-1]
    return [name for name in NAMES if kind and name.startswith(stem)] or NAMES


def fields_of(message: Message) -> list[FieldDescriptor]:
    """The fields that a message of this kind may have."""
    return [cast(FieldDescriptor, field) for field in message.DESCRIPTOR.fields]
