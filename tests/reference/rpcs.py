"""The page of remote procedure calls, from the protos: what each does, and who may call it."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor import MethodDescriptor

from tableveil.server.methods import UNDECLARED, declared
from tableveil.server.services import DESCRIPTORS
from tests.reference.markdown import head, names, table
from tests.reference.protos import comments

ON_SERVER = " of the whole server"

INTRODUCTION = """\
Each method declares its roles in its proto. Any one of them suffices, on the tables, releases and jobs that the request
names: the column *about* has these fields. *Of the whole server* means that a role on a part of it does not suffice.
[doors.md](doors.md) says how a caller gets a role. ExecuteStatement also asks for the roles of the methods that its
statement stands for. [grpc.md](grpc.md) shows how a client calls the service.
"""


def page() -> Iterator[str]:
    """A table for each service."""
    yield head("Remote procedure calls", "This page has every method of the service.", "the protos")
    yield INTRODUCTION
    for service in DESCRIPTORS:
        yield f"## {service.name}\n"
        if text := comments().get(service.name):
            yield f"{text}\n"
        path = f"../../proto/{service.file.name}"
        yield f"The messages are in [{service.file.name.rpartition('/')[2]}]({path}).\n"
        yield from table(["method", "roles", "about", "meaning"], map(_row, service.methods))
    yield "## Health and reflection\n"
    yield f"Anybody may ask for the health, and every known caller for the reflection: {names(UNDECLARED)}.\n"


def _row(method: MethodDescriptor) -> list[str]:
    access = declared([method.containing_service])[f"/{method.containing_service.full_name}/{method.name}"]
    roles = ", ".join(sorted(map(str.lower, access.roles))) + ON_SERVER * access.whole_server
    streamed = [
        *["takes a stream"] * method.client_streaming,
        *["answers with a stream"] * method.server_streaming,
    ]
    kind = f" It {' and '.join(streamed)}." if streamed else ""
    text = comments().get(f"{method.containing_service.name}.{method.name}", "")
    return [f"`{method.name}`", roles, names(access.resources), f"{text}{kind}".strip()]
