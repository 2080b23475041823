"""The record of calls."""

from __future__ import annotations

from datetime import datetime

from tableveil.client.connection import Connection
from tableveil.client.listing import Listing
from tableveil.v1 import audit_service_pb2 as v1
from tableveil.v1.audit_service_pb2_grpc import AuditServiceStub


class AuditVerbs(Connection):
    """Verbs about the audit."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._audit = AuditServiceStub(self._channel)

    def list_audit_entries(
        self, principal: str = "", method: str = "", code: str = "", since: datetime | None = None
    ) -> Listing[v1.AuditEntry]:
        """Entries of the audit, newest first, fetched as they are read.

        Args:
            principal: Only those about this principal.
            method: Only calls of this method, such as `SubmitJob`.
            code: Only calls with this gRPC status or reason of failure.
            since: Only those from this time on, which needs a time zone.
        """
        request = v1.ListAuditEntriesRequest(principal=principal, method=method, code=code)
        if since is not None:
            request.since.FromDatetime(since)
        return self._listed(self._audit.ListAuditEntries, request, lambda page: page.entries)

    def verify_audit(self, head: str = "", after: str = "") -> v1.VerifyAuditResponse:
        """Verifies the server's file of the audit there, against a `head` that was kept elsewhere if it is stated."""
        return self._ask(self._audit.VerifyAudit, v1.VerifyAuditRequest(head=head, after=after))
