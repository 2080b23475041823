"""Statements over gRPC."""

from typing import Any

import grpc
from google.protobuf.message import Message

from tableveil.server.repeated import answering_once
from tableveil.server.servicer_parts import ServicerParts
from tableveil.statements import changes, execute
from tableveil.v1 import statement_service_pb2 as v1
from tableveil.v1 import statement_service_pb2_grpc


class StatementService(statement_service_pb2_grpc.StatementServiceServicer):
    """Executes statements by calls of the other services, through the same access control."""

    def __init__(self, parts: ServicerParts) -> None:
        self._handlers = parts.handlers
        self._access_control = parts.access_control
        (method,) = v1.DESCRIPTOR.services_by_name["StatementService"].methods
        self._execute_once = answering_once(parts.stores.answered, method, self._execute)

    def ExecuteStatement(  # noqa: N802
        self, request: v1.ExecuteStatementRequest, context: grpc.ServicerContext
    ) -> v1.ExecuteStatementResponse:
        """The answer of what the statement stands for."""
        once = request.request_id and changes(request.statement)
        answer: v1.ExecuteStatementResponse = (self._execute_once if once else self._execute)(request, context)
        return answer

    def _execute(
        self, request: v1.ExecuteStatementRequest, context: grpc.ServicerContext
    ) -> v1.ExecuteStatementResponse:
        def call(asked: Message) -> Any:
            method, handle = self._handlers.of(asked)
            return self._access_control.call_again(method, asked, lambda entered: handle(entered, context))

        return execute(request, call)
