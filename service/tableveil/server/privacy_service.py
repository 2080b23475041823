"""The privacy of tables over gRPC."""

from collections.abc import Iterator

import grpc

from tableveil.backend import folded
from tableveil.convert import canonical_json, policy_from_proto
from tableveil.convert.hierarchies import hierarchy_to_proto
from tableveil.convert.names import table_from_proto
from tableveil.convert.privacies import policy_of_privacy, table_privacy_to_proto
from tableveil.errors import Fault, InvalidError
from tableveil.server.call import caller, control_of
from tableveil.server.servicer_parts import ServicerParts
from tableveil.v1 import policy_pb2, privacy_service_pb2_grpc
from tableveil.v1 import privacy_service_pb2 as v1

_JUDGED = ("attributes", "default_role", "person", "rows_are_people", "source")
"""The first letters of fields that a declaration shares with policies."""


class PrivacyService(privacy_service_pb2_grpc.PrivacyServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._jobs = parts.jobs
        self._privacies = parts.stores.privacies
        self._drafts = parts.stores.drafts
        self._checks = parts.checks

    def DeclarePrivacy(  # noqa: N802
        self, request: v1.DeclarePrivacyRequest, context: grpc.ServicerContext
    ) -> v1.TablePrivacy:
        """Checks a declaration as part of a policy, and keeps it; rows are read for hierarchies that it leaves out."""
        table = table_from_proto(request.table)
        self._draft_hierarchies(request, context)
        if faults := [fault for fault in self._faults(request, context) if fault.field.startswith(_JUDGED)]:
            raise InvalidError.about("PRIVACY_INVALID", "the privacy is invalid", faults)
        declared = self._privacies.declare(table, canonical_json(request.privacy), caller().name)
        return table_privacy_to_proto(table, declared)

    def DescribePrivacy(  # noqa: N802
        self, request: v1.DescribePrivacyRequest, context: grpc.ServicerContext
    ) -> v1.TablePrivacy:
        """One version."""
        table = table_from_proto(request.table)
        return table_privacy_to_proto(table, self._privacies.get(table, request.version))

    def _draft_hierarchies(self, request: v1.DeclarePrivacyRequest, context: grpc.ServicerContext) -> None:
        bare = {
            folded(one.column): one.hierarchy
            for one in request.privacy.attributes
            if one.role == policy_pb2.ROLE_QUASI_IDENTIFIER and not one.HasField("hierarchy")
        }
        if not bare:
            return
        with self._checks.taken():
            drafted = self._drafts.hierarchies(table_from_proto(request.table), bare, control_of(context))
        for name, hierarchy in bare.items():
            # The check says where a column is not there.
            hierarchy.suppression_only.SetInParent()
            if name in drafted:
                hierarchy.CopyFrom(hierarchy_to_proto(drafted[name]))

    def _faults(self, request: v1.DeclarePrivacyRequest, context: grpc.ServicerContext) -> Iterator[Fault]:
        policy, faults = policy_from_proto(policy_of_privacy(request.table, request.privacy))
        yield from faults
        if policy is not None:
            yield from self._jobs.check(policy, control_of(context), rows=False).faults
