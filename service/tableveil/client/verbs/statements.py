"""Statements."""

from __future__ import annotations

from tableveil.client.connection import Connection
from tableveil.v1 import statement_service_pb2 as v1
from tableveil.v1.statement_service_pb2_grpc import StatementServiceStub


class StatementVerbs(Connection):
    """Verbs said in SQL."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._statements = StatementServiceStub(self._channel)

    def execute(self, statement: str, request_id: str = "") -> v1.ExecuteStatementResponse:
        """The answer of what a statement stands for; docs/reference/statements.md has the grammar.

        Jobs are not waited for.

        Raises:
            InvalidError: With lines and columns of the statement as fields of its faults.
        """
        request = v1.ExecuteStatementRequest(statement=statement, request_id=request_id)
        return self._ask(self._statements.ExecuteStatement, request)
