"""The services of the protos, each with its servicer: the class of its name, in the module of the proto's name."""

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from tableveil import v1
from tableveil.server.kinds import REQUESTS_OF_JOBS
from tableveil.server.repeated import answering_once
from tableveil.server.results import result_service, service_of
from tableveil.server.servicer_parts import ServicerParts
from tableveil.state.jobs import JobKind
from tableveil.v1.statement_service_pb2 import ExecuteStatementRequest


def _in_protos() -> Iterator[ServiceDescriptor]:
    for module in pkgutil.iter_modules(v1.__path__):
        if module.name.endswith("_service_pb2"):
            yield from import_module(f"tableveil.v1.{module.name}").DESCRIPTOR.services_by_name.values()


def _module(service: ServiceDescriptor) -> str:
    return PurePosixPath(service.file.name).stem


def _is_change(method: MethodDescriptor) -> bool:
    """Whether its request ids name changes; jobs are known by theirs, and a statement may stand for one."""
    own = (*REQUESTS_OF_JOBS, ExecuteStatementRequest.DESCRIPTOR)
    return "request_id" in method.input_type.fields_by_name and method.input_type not in own


DESCRIPTORS = tuple(_in_protos())

NAMES = tuple(service.full_name for service in DESCRIPTORS)

# The services of other kinds of jobs need no servicer: see `results`.
_OF_RESULTS = {service_of(kind) for kind in JobKind if kind is not JobKind.RELEASE}

_SERVICERS: dict[ServiceDescriptor, Callable[[ServicerParts], Any]] = {
    service: getattr(import_module(f"tableveil.server.{_module(service)}"), service.name)
    for service in DESCRIPTORS
    if service not in _OF_RESULTS
}


def add_services(parts: ServicerParts, server: grpc.Server) -> None:
    """Adds all of them to a server."""
    for service, servicer in _SERVICERS.items():
        generated = import_module(f"tableveil.v1.{_module(service)}_pb2_grpc")
        handlers = servicer(parts)
        for method in filter(_is_change, service.methods):
            once = answering_once(parts.stores.answered, method, getattr(handlers, method.name))
            setattr(handlers, method.name, once)
        getattr(generated, f"add_{service.name}Servicer_to_server")(handlers, server)
    for kind, results in parts.stores.results.items():
        server.add_generic_rpc_handlers((result_service(kind, parts.jobs, results, parts.stores.privacies),))
