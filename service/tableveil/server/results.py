"""The service of one kind of job: it submits jobs for requests, and gets and lists their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil.convert import result_number
from tableveil.lookups import Privacies, Results
from tableveil.runtime import JobManager
from tableveil.server.call import control_of
from tableveil.server.kinds import SUBMISSIONS, submit
from tableveil.server.paging import page_of_numbered
from tableveil.state.jobs import KINDS, JobKind


def service_of(kind: JobKind) -> ServiceDescriptor:
    """The service in the proto of the kind's request."""
    service: ServiceDescriptor
    (service,) = SUBMISSIONS[kind].request.DESCRIPTOR.file.services_by_name.values()
    return service


def result_service(
    kind: JobKind, jobs: JobManager, results: Results[Any], privacies: Privacies
) -> grpc.GenericRpcHandler:
    """Handles the methods of the kind's service, by their requests and names: there are several of each."""
    service = service_of(kind)
    return grpc.method_handlers_generic_handler(
        service.full_name, {method.name: _handler(kind, method, jobs, results, privacies) for method in service.methods}
    )


def _handler(
    kind: JobKind, method: MethodDescriptor, jobs: JobManager, results: Results[Any], privacies: Privacies
) -> grpc.RpcMethodHandler[Any, Any]:
    entry, answer = SUBMISSIONS[kind], GetMessageClass(method.output_type)
    read, write = GetMessageClass(method.input_type).FromString, answer.SerializeToString

    def ask(request: Any, context: grpc.ServicerContext) -> Message:
        return submit(jobs, privacies, request, control_of(context))

    def get(request: Any, context: grpc.ServicerContext) -> Message:
        return entry.to_proto(results.get(result_number(kind, request.name)))

    def list_page(request: Any, context: grpc.ServicerContext) -> Message:
        messages, token = page_of_numbered(KINDS[kind].collection, request, results.page, entry.to_proto)
        return answer(**{answer.DESCRIPTOR.fields[0].name: messages, "next_page_token": token})

    def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Message]:
        return entry.streams[method.name](results, request)

    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(stream, read, write)
    behaviour: Callable[[Any, grpc.ServicerContext], Message]
    if method.input_type is entry.request.DESCRIPTOR:
        behaviour = ask
    else:
        behaviour = list_page if method.name.startswith("List") else get
    return grpc.unary_unary_rpc_method_handler(behaviour, read, write)
