"""The page of remote procedure calls, from the protos: what each does, and who may call it."""

import re
from collections.abc import Iterator, Sequence

from google.api import field_behavior_pb2
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor, ServiceDescriptor

from tableveil.server.call import UNDECLARED, declared
from tableveil.server.services import DESCRIPTORS
from tableveil.v1.comments import comments
from tests.reference.markdown import head, names, table

ON_SERVER = " of the whole server"

INTRODUCTION = """\
Each method declares its roles in its proto. Any one of them suffices, on the tables, releases and jobs that the request
names: the column *about* has these fields. *Of the whole server* means that a role on a part of it does not suffice.
[doors.md](doors.md) says how a caller gets a role. ExecuteStatement also asks for the roles of the methods that its
statement stands for. [grpc.md](grpc.md) shows how a client calls the service.
"""


def page() -> Iterator[str]:
    """A table of what to call, then one for each service."""
    yield head("Remote procedure calls", "This page has every method of the service.", "the protos")
    yield "The first table says which method to call, and which fields a request needs. Names have parts in braces.\n"
    methods = sorted(((_task(method), method) for service in DESCRIPTORS for method in service.methods), key=_by_task)
    yield from table(
        ["to do this", "call", "with"], ([task, _linked(method), _needed(method)] for task, method in methods)
    )
    yield INTRODUCTION
    for service in DESCRIPTORS:
        yield f"## {service.name}\n"
        if text := comments().get(service.full_name):
            yield f"{text}\n"
        path = f"../../proto/{service.file.name}"
        yield f"The messages are in [{service.file.name.rpartition('/')[2]}]({path}).\n"
        yield from table(["method", "roles", "about", "meaning"], map(_row, service.methods))
        if rows := list(_behaviors(service)):
            yield from table(["fields", "set by the server", "never changes"], rows)
    yield "## Health and reflection\n"
    yield f"Anybody may ask for the health, and every known caller for the reflection: {names(UNDECLARED)}.\n"


def _row(method: MethodDescriptor) -> list[str]:
    access = declared([method.containing_service])[f"/{method.containing_service.full_name}/{method.name}"]
    roles = ", ".join(sorted(map(str.lower, access.roles))) + ON_SERVER * access.whole_server
    streamed = [*["takes a stream"] * method.client_streaming, *["answers with a stream"] * method.server_streaming]
    kind = f" It {' and '.join(streamed)}." if streamed else ""
    text = comments().get(method.full_name, "")
    return [f"`{method.name}`", roles, names(access.resources), f"{text}{kind}".strip()]


def _by_task(row: tuple[str, MethodDescriptor]) -> tuple[str, str]:
    return re.sub("^[A-Z][a-z]+", "", row[1].name), row[1].name


def _task(method: MethodDescriptor) -> str:
    """The first sentence of the method's comment, or what the name of a standard method says."""
    text = comments().get(method.full_name, "")
    first = re.split(r"(?<=[.:;]) ", text, maxsplit=1)[0].rstrip(".:;")
    verb, words = re.match(r"([A-Z][a-z]+)(.*)", method.name).groups()  # type: ignore[union-attr]
    thing = re.sub(r"(?<!^)(?=[A-Z])", " ", words).lower()
    return first if first and verb not in ("Get", "List") else f"{_STANDARD.get(verb, verb)} {thing}"


_STANDARD = {"Get": "Read one:", "List": "List"}


def _linked(method: MethodDescriptor) -> str:
    return f"[`{method.name}`](#{method.containing_service.name.lower()})"


def _needed(method: MethodDescriptor) -> str:
    """The required fields, each with the form of its value where the comment gives it."""
    fields = [field for field in method.input_type.fields if field_behavior_pb2.REQUIRED in _behavior(field)]
    return ", ".join(f"`{field.name}`{_form(field)}" for field in fields) or "-"


def _form(field: FieldDescriptor) -> str:
    said = comments().get(field.full_name, "")
    forms = re.findall(r"\b[a-zA-Z]+/\{\w+\}(?:@\{\w+\})?", said)
    return f" ({' or '.join(f'`{form}`' for form in forms)})" if forms else ""


def _behavior(field: FieldDescriptor) -> Sequence[int]:
    found: Sequence[int] = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    return found


def _behaviors(service: ServiceDescriptor) -> Iterator[list[str]]:
    for message in service.file.message_types_by_name.values():
        kinds = [
            names([field.name for field in message.fields if kind in _behavior(field)])
            for kind in (field_behavior_pb2.OUTPUT_ONLY, field_behavior_pb2.IMMUTABLE)
        ]
        if set(kinds) != {"-"}:
            yield [f"`{message.name}`", *kinds]
