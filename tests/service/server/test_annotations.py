"""The annotations of google.api in the protos, held against what the server does with requests that lack a field."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import grpc
import pytest
from google.api import field_behavior_pb2, resource_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import BadRequest
from google.rpc.status_pb2 import Status

from tableveil.server import ServeSettings
from tableveil.server.server import TableveilServer
from tableveil.server.services import DESCRIPTORS
from tableveil.v1.comments import comments
from tests import authenticated

SECONDS = 60

NAMES = {f"tableveil/{name}": f"{name.lower()}s" for name in ("Token", "Grant", "Worksheet", "Job", "Release")}

UNARY = {
    f"/{service.full_name}/{method.name}": method
    for service in DESCRIPTORS
    for method in service.methods
    if not method.client_streaming
}


def required(message: Descriptor | None) -> list[FieldDescriptor]:
    assert message is not None
    wanted = field_behavior_pb2.REQUIRED
    return [
        field for field in message.fields if wanted in field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    ]


def resources() -> set[str]:
    messages = {message for service in DESCRIPTORS for message in service.file.message_types_by_name.values()}
    return {message.GetOptions().Extensions[resource_pb2.resource].type for message in messages} - {""}


@pytest.fixture(scope="module")
def channel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[grpc.Channel]:
    folder = tmp_path_factory.mktemp("annotated")
    (folder / "backups").mkdir()
    settings = ServeSettings(folder / "clinic.duckdb", ("127.0.0.1:0",), threads=1, backup_directory=folder / "backups")
    with closing(TableveilServer(settings)) as server, authenticated.channel(server.address) as channel:
        yield channel


# The faults of a policy are the answer to checking it.
ASKED = [path for path, method in UNARY.items() if required(method.input_type) and method.name != "CheckPolicy"]


@pytest.mark.parametrize("path", ASKED)
def test_a_request_without_its_required_fields_is_refused(channel: grpc.Channel, path: str) -> None:
    asked, answer = GetMessageClass(UNARY[path].input_type), GetMessageClass(UNARY[path].output_type)
    call: Any = channel.unary_stream if UNARY[path].server_streaming else channel.unary_unary
    with pytest.raises(grpc.RpcError) as raised:
        list(call(path, asked.SerializeToString, answer.FromString)(asked(), timeout=SECONDS))
    assert raised.value.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)


def refused_fields(error: Any) -> list[str]:
    """The paths of the fields that a call was refused for."""
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    paths = []
    for detail in Status.FromString(details).details:
        bad = BadRequest()
        if detail.Unpack(bad):
            paths += [violation.field for violation in bad.field_violations]
    return paths


def unset(request: Message, path: str) -> tuple[Message, FieldDescriptor] | None:
    """The field at a path that the request leaves empty, and the message that has it; None if there is none."""
    within: Any = request
    for name in path.split("."):
        field = within.DESCRIPTOR.fields_by_name.get(name)
        if field is None or (field.is_repeated and within.DESCRIPTOR is request.DESCRIPTOR and getattr(within, name)):
            return None
        if not getattr(within, name) or (field.message_type and not field.is_repeated and not within.HasField(name)):
            return within, field
        within = getattr(within, name)
        if field.is_repeated or field.message_type is None:
            return None
    return None


def fill(message: Message, field: FieldDescriptor) -> None:
    """Puts a value that is not empty into a field."""
    resource = field.GetOptions().Extensions[resource_pb2.resource_reference].type
    text = f"{NAMES.get(resource, 'releases')}/999" if resource else "x"
    value: Any = {FieldDescriptor.TYPE_STRING: text, FieldDescriptor.TYPE_BYTES: b"x"}.get(field.type, 1)
    if field.message_type is not None:
        (getattr(message, field.name).add if field.is_repeated else getattr(message, field.name).SetInParent)()
    elif field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


def refused_while_empty(channel: grpc.Channel, path: str) -> Iterator[FieldDescriptor]:
    """The fields for whose absence a method refuses a request, which gets them one after the other."""
    asked, answer = GetMessageClass(UNARY[path].input_type), GetMessageClass(UNARY[path].output_type)
    request, refused = asked(), [""]
    while refused:
        # A stream of answers fails by itself.
        call: Any = channel.unary_stream if UNARY[path].server_streaming else channel.unary_unary
        called = call(path, asked.SerializeToString, answer.FromString)
        try:
            list(called(request, timeout=2) if UNARY[path].server_streaming else [called(request, timeout=2)])
            return
        except grpc.RpcError as error:
            refused = refused_fields(error) if error.code() == grpc.StatusCode.INVALID_ARGUMENT else []
        empty = [found for place in refused if (found := unset(request, place)) is not None]
        for within, field in empty:
            yield field
            fill(within, field)
        if not empty:
            return


def test_fields_whose_absence_is_refused_are_required(channel: grpc.Channel) -> None:
    found = {field.full_name: field for path in UNARY for field in refused_while_empty(channel, path)}
    # A policy, with what is shared with it, states its rules itself; of a oneof any member does.
    own = {
        name: field
        for name, field in found.items()
        if field.containing_type is not None
        and field.containing_type.file.name.endswith("_service.proto")
        and field.containing_oneof is None
    }
    assert len(own) > 40
    # The name of a resource is its identifier, which requests to change it need.
    missing = {name for name, field in own.items() if field not in required(field.containing_type)}
    missing -= {"tableveil.v1.Worksheet.name"}
    assert not missing


def test_names_of_requests_are_required_and_refer_to_resources() -> None:
    known = resources()
    assert {"tableveil/Job", "tableveil/Release", "tableveil/DryRun"} <= known
    for service in DESCRIPTORS:
        for message in service.file.message_types_by_name.values():
            for field in message.fields:
                reference = field.GetOptions().Extensions[resource_pb2.resource_reference].type
                assert not reference or reference in known, field.full_name
                said = comments().get(field.full_name, "")
                assert not reference or re.search(r"\b[a-zA-Z]+/\{\w+\}", said), field.full_name
    for method in UNARY.values():
        if method.name.startswith(("Get", "Cancel", "Delete", "Withdraw")) and method.input_type.fields:
            names = {field.name for field in required(method.input_type)}
            assert names & {"name", "releases"}, method.full_name
