"""Policy drafts over gRPC."""

from collections.abc import Mapping, Sequence

import grpc

from tableveil.convert.drafts import declare, policy_draft_to_proto
from tableveil.convert.names import DEFAULT_SCHEMA, table_from_proto
from tableveil.convert.privacies import table_privacy_to_proto
from tableveil.convert.related_drafts import related_draft_to_proto
from tableveil.drafting import PolicyDraft
from tableveil.errors import InvalidError, shortened
from tableveil.policy import Role, TableReference
from tableveil.policy.methods.related_tables import MOST_EVENT_TABLES
from tableveil.server.call import control_of
from tableveil.server.declared import completed, widen
from tableveil.server.servicer_parts import ServicerParts
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
        _check(request)
        control = control_of(context)
        named = {Role.QUASI_IDENTIFIER: request.quasi_identifiers, Role.SENSITIVE: request.sensitive}
        tables = {"table": request.table, **{f"events[{i}]": one for i, one in enumerate(request.events)}}
        references = {field: table_from_proto(one) for field, one in tables.items()}
        with self._checks.taken():
            if request.events:
                guessed = self._drafts.related(references, control)
            else:
                guessed = [self._drafts.draft(references["table"], control, request.source_query, named)]
        declared = [
            (one, self._declared(table, one, request.source_query, named))
            for table, one in zip(references.values(), guessed, strict=True)
        ]
        if not request.events:
            return declared[0][1]
        return related_draft_to_proto(declared, request.key, [*request.event_keys])

    def _declared(
        self, table: TableReference, guessed: PolicyDraft, query: str, named: Mapping[Role, Sequence[str]]
    ) -> v1.DraftPolicyResponse:
        draft = policy_draft_to_proto(guessed)
        privacy = None if query else self._privacies.find(table)
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


def _check(request: v1.DraftPolicyRequest) -> None:
    """Raises `InvalidError` for statements on one table beside event tables, or on these without any."""
    if len(request.events) > MOST_EVENT_TABLES:
        found = f"{len(request.events)} tables"
        raise InvalidError.of("DRAFT_INVALID", "events", found, f"at most {MOST_EVENT_TABLES}")
    names = [(one.schema or DEFAULT_SCHEMA, one.table) for one in (request.table, *request.events)]
    for i, name in enumerate(names[1:]):
        if name in names[: i + 1]:
            again = f"{shortened(name[1])}, which is named twice"
            raise InvalidError.of(
                "DRAFT_INVALID", f"events[{i}].table", again, "a table of events, beside the people's"
            )
    alone = ("source_query", "quasi_identifiers", "sensitive") if request.events else ("key", "event_keys")
    for field in alone:
        if getattr(request, field):
            found = f"a statement {'beside' if request.events else 'without'} events"
            raise InvalidError.of("DRAFT_INVALID", field, found, "one of them" if request.events else "events as well")
