"""The declared privacy of tables."""

from __future__ import annotations

from tableveil.client.names import table_reference
from tableveil.client.verbs.hierarchies import HierarchyVerbs
from tableveil.v1 import policy_pb2
from tableveil.v1 import privacy_service_pb2 as v1
from tableveil.v1.privacy_service_pb2_grpc import PrivacyServiceStub


class PrivacyVerbs(HierarchyVerbs):
    """Verbs about the privacy of tables."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._privacies = PrivacyServiceStub(self._channel)

    def declare_privacy(self, table: str | policy_pb2.TableReference, privacy: v1.Privacy) -> v1.TablePrivacy:
        """Declares who is a person in a table, and which role each column has; policies may leave that out then.

        Raises:
            InvalidError: With all faults of the declaration.
        """
        request = v1.DeclarePrivacyRequest(table=table_reference(table), privacy=privacy)
        return self._ask(self._privacies.DeclarePrivacy, request)

    def describe_privacy(self, table: str | policy_pb2.TableReference, version: int = 0) -> v1.TablePrivacy:
        """A version of what was declared of a table; the newest one if 0."""
        request = v1.DescribePrivacyRequest(table=table_reference(table), version=version)
        return self._ask(self._privacies.DescribePrivacy, request)
