"""The annotations of google.api in the protos, held against what the server does with requests that lack a field."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import grpc
import pytest
from google.api import field_behavior_pb2, resource_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from tableveil.server import ServeSettings
from tableveil.server.server import TableveilServer
from tableveil.server.services import DESCRIPTORS
from tests import authenticated

SECONDS = 60

UNARY = {
    f"/{service.full_name}/{method.name}": method
    for service in DESCRIPTORS
    for method in service.methods
    if not method.client_streaming
}


def required(message: Descriptor) -> list[FieldDescriptor]:
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


def test_names_of_requests_are_required_and_refer_to_resources() -> None:
    known = resources()
    assert {"tableveil/Job", "tableveil/Release", "tableveil/DryRun"} <= known
    for service in DESCRIPTORS:
        for message in service.file.message_types_by_name.values():
            for field in message.fields:
                reference = field.GetOptions().Extensions[resource_pb2.resource_reference].type
                assert not reference or reference in known, field.full_name
    for method in UNARY.values():
        if method.name.startswith(("Get", "Cancel", "Delete", "Withdraw")) and method.input_type.fields:
            names = {field.name for field in required(method.input_type)}
            assert names & {"name", "releases"}, method.full_name
