"""Statements over gRPC."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf.message import Message

from tableveil.server.servicer_parts import ServicerParts
from tableveil.statements import execute
from tableveil.v1 import statement_service_pb2 as v1
from tableveil.v1 import statement_service_pb2_grpc


class StatementService(statement_service_pb2_grpc.StatementServiceServicer):
    """Executes statements by calls of the other services, through the same access control."""

    def __init__(self, parts: ServicerParts) -> None:
        self._handlers = parts.handlers
        self._access_control = parts.access_control

    def ExecuteStatement(  # noqa: N802
        self, request: v1.ExecuteStatementRequest, context: grpc.ServicerContext
    ) -> v1.ExecuteStatementResponse:
        """The answer of what the statement stands for."""

        def call(asked: Message) -> Any:
            method, handle = self._handlers.of(asked)
            return self._access_control.call_again(method, asked, lambda entered: handle(entered, context))

        return execute(request, call)
