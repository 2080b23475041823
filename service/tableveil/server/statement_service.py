"""Statements over gRPC."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf.message import Message

from tableveil.server.access_control import AccessControl
from tableveil.server.handlers import Handlers
from tableveil.statements import execute
from tableveil.v1 import statement_service_pb2 as v1
from tableveil.v1 import statement_service_pb2_grpc


class StatementService(statement_service_pb2_grpc.StatementServiceServicer):
    """Executes statements by calls of the other services, through the same access control."""

    def __init__(self, handlers: Handlers, access_control: AccessControl) -> None:
        self._handlers = handlers
        self._access_control = access_control

    def ExecuteStatement(  # noqa: N802
        self, request: v1.ExecuteStatementRequest, context: grpc.ServicerContext
    ) -> v1.ExecuteStatementResponse:
        """The answer of what the statement stands for."""

        def call(asked: Message) -> Any:
            method, handle = self._handlers.of(asked)
            return self._access_control.call_again(method, asked, lambda entered: handle(entered, context))

        return execute(request, call)
