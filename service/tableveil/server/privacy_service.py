"""The privacy of tables over gRPC."""

from __future__ import annotations

from collections.abc import Iterator

import grpc

from tableveil.convert import canonical_json, policy_from_proto
from tableveil.convert.privacies import policy_of_privacy, table_privacy_to_proto
from tableveil.convert.tables import table_from_proto
from tableveil.errors import Fault, InvalidError
from tableveil.server.caller import caller, control_of
from tableveil.server.servicer_parts import ServicerParts
from tableveil.v1 import privacy_service_pb2 as v1
from tableveil.v1 import privacy_service_pb2_grpc

_JUDGED = ("attributes", "default_role", "person", "rows_are_people", "source")
"""The first letters of fields that a declaration shares with policies."""


class PrivacyService(privacy_service_pb2_grpc.PrivacyServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._jobs = parts.jobs
        self._privacies = parts.stores.privacies

    def DeclarePrivacy(  # noqa: N802
        self, request: v1.DeclarePrivacyRequest, context: grpc.ServicerContext
    ) -> v1.TablePrivacy:
        """Checks a declaration as part of a policy, without the table's rows, and keeps it."""
        if faults := [fault for fault in self._faults(request, context) if fault.field.startswith(_JUDGED)]:
            raise InvalidError.about("PRIVACY_INVALID", "the privacy is invalid", faults)
        table = table_from_proto(request.table)
        declared = self._privacies.declare(table, canonical_json(request.privacy), caller().name)
        return table_privacy_to_proto(table, declared)

    def DescribePrivacy(  # noqa: N802
        self, request: v1.DescribePrivacyRequest, context: grpc.ServicerContext
    ) -> v1.TablePrivacy:
        """One version."""
        table = table_from_proto(request.table)
        return table_privacy_to_proto(table, self._privacies.get(table, request.version))

    def _faults(self, request: v1.DeclarePrivacyRequest, context: grpc.ServicerContext) -> Iterator[Fault]:
        policy, faults = policy_from_proto(policy_of_privacy(request.table, request.privacy))
        yield from faults
        if policy is not None:
            yield from self._jobs.check(policy, control_of(context), rows=False).faults
