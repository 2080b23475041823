"""The audit over gRPC."""

from functools import partial

import grpc

from tableveil.convert.audit import audit_entry_to_proto, audit_filter_from_proto, audit_head_to_proto
from tableveil.server.call import control_of
from tableveil.server.paging import page_of_numbered
from tableveil.server.servicer_parts import ServicerParts
from tableveil.v1 import audit_service_pb2 as v1
from tableveil.v1 import audit_service_pb2_grpc


class AuditService(audit_service_pb2_grpc.AuditServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._audit = parts.stores.audit
        self._checks = parts.checks

    def ListAuditEntries(  # noqa: N802
        self, request: v1.ListAuditEntriesRequest, context: grpc.ServicerContext
    ) -> v1.ListAuditEntriesResponse:
        """A page of entries, and the head as it is now."""
        page = partial(self._audit.page, audit_filter_from_proto(request))
        entries, token = page_of_numbered("auditEntries", request, page, audit_entry_to_proto)
        return v1.ListAuditEntriesResponse(
            entries=entries, next_page_token=token, head=audit_head_to_proto(self._audit.head)
        )

    def VerifyAudit(  # noqa: N802
        self, request: v1.VerifyAuditRequest, context: grpc.ServicerContext
    ) -> v1.VerifyAuditResponse:
        """The result of reading the whole file, until that is done or the client is gone."""
        control = control_of(context)
        with self._checks.taken():
            result = self._audit.verified(request.head, request.after, control)
        return v1.VerifyAuditResponse(entries=result.entries, head=result.head, faults=result.faults)
