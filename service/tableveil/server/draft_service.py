"""Policy drafts over gRPC."""

import grpc

from tableveil.convert.drafts import declare, policy_draft_to_proto
from tableveil.convert.privacies import table_privacy_to_proto
from tableveil.convert.tables import table_from_proto
from tableveil.policy import Role
from tableveil.server.caller import control_of
from tableveil.server.declared import completed
from tableveil.server.servicer_parts import ServicerParts
from tableveil.server.widened import widen
from tableveil.v1 import draft_service_pb2 as v1
from tableveil.v1 import draft_service_pb2_grpc


class DraftService(draft_service_pb2_grpc.DraftServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._privacies = parts.stores.privacies
        self._drafts = parts.stores.drafts
        self._widening = parts.stores.widening
        self._checks = parts.checks

    def DraftPolicy(  # noqa: N802
        self, request: v1.DraftPolicyRequest, context: grpc.ServicerContext
    ) -> v1.DraftPolicyResponse:
        """Reads the table or the query until it is done, or the client is gone."""
        control = control_of(context)
        with self._checks.taken():
            table = table_from_proto(request.table)
            named = {Role.QUASI_IDENTIFIER: request.quasi_identifiers, Role.SENSITIVE: request.sensitive}
            draft = policy_draft_to_proto(self._drafts.draft(table, control, request.source_query, named))
        privacy = self._privacies.find(table) if request.HasField("table") else None
        if privacy is not None:
            declare(draft, table_privacy_to_proto(table, privacy), named)
        return draft

    def WidenPolicy(  # noqa: N802
        self, request: v1.WidenPolicyRequest, context: grpc.ServicerContext
    ) -> v1.WidenPolicyResponse:
        """Reads the source until it is done, or the client is gone."""
        control = control_of(context)
        with self._checks.taken():
            completed(request.policy, self._privacies)
            columns = widen(request.policy, self._widening, control)
        return v1.WidenPolicyResponse(policy=request.policy, columns=columns)
