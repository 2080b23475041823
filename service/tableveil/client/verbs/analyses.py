"""Analyses of tables, policies and releases: drafts, and everything that jobs find out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from google.api import resource_pb2
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil.client.listing import Listing
from tableveil.client.names import Name, resource_name, source_reference
from tableveil.client.verbs.hierarchies import HierarchyVerbs
from tableveil.v1 import draft_service_pb2, job_service_pb2, policy_pb2, risk_service_pb2
from tableveil.v1.draft_service_pb2_grpc import DraftServiceStub
from tableveil.v1.risk_service_pb2_grpc import RiskServiceStub

if TYPE_CHECKING:
    import pyarrow as pa

Result = TypeVar("Result", bound=Message)

_REQUEST = "a request of a job, such as SubmitProposalRequest"
_RESULT = "the result of a job, such as Proposal"


class AnalysisVerbs(HierarchyVerbs):
    """Verbs that measure, compare and draft."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._drafts = DraftServiceStub(self._channel)
        self._risks = RiskServiceStub(self._channel)

    def draft_policy(
        self,
        source: policy_pb2.TableReference | str,
        quasi_identifiers: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        events: Iterable[policy_pb2.TableReference | str] = (),
        key: str = "",
    ) -> draft_service_pb2.DraftPolicyResponse:
        """A guessed policy for a table, or for the rows of a SELECT, with a remark on each guess.

        Nothing is stored. A text with a blank or parenthesis is a SELECT, any other the name of a table. The columns
        `quasi_identifiers` get that role and a hierarchy, whatever is guessed of them, and those of `sensitive` that
        role, with elements where cells seem to be lists.

        With tables of `events` of the people in the source, the policy is for all of them, joined by the `key`.
        """
        request = draft_service_pb2.DraftPolicyRequest(
            quasi_identifiers=quasi_identifiers, sensitive=sensitive, events=map(source_reference, events), key=key
        )
        if isinstance(source, str) and re.search(r"[\s(]", source):
            request.source_query = source
        else:
            request.table.CopyFrom(source_reference(source))
        return self._ask(self._drafts.DraftPolicy, request)

    def widen_policy(self, policy: policy_pb2.Policy) -> draft_service_pb2.WidenPolicyResponse:
        """The policy with intervals and dates that cover all values of its source, and the columns that changed."""
        return self._ask(self._drafts.WidenPolicy, draft_service_pb2.WidenPolicyRequest(policy=policy))

    def submit_analysis(self, request: Message, base_directory: Path = Path()) -> job_service_pb2.Job:
        """Queues a job for a request, such as `SubmitFrontierRequest`; wait for it as for any other.

        Args:
            request: The request of any kind of job. If it has a policy, its CSV hierarchies are stored first.
            base_directory: Where the paths of CSV hierarchies start.

        Raises:
            InvalidError: With all faults of the request.
        """
        if "policy" in request.DESCRIPTOR.fields_by_name:
            request = type(request).FromString(request.SerializeToString())
            request.policy.CopyFrom(self.prepare(request.policy, base_directory))  # type: ignore[attr-defined]
        submit = _only(
            request.DESCRIPTOR,
            lambda one: one.input_type is request.DESCRIPTOR,
            "a request of a job, such as SubmitProposalRequest",
        )
        job: job_service_pb2.Job = self._ask(self._method(submit), request)
        return job

    def get_result(self, kind: type[Result], name: Name) -> Result:
        """The result of a job, such as a `Frontier`, by its name or number: the owner's, not for publication."""
        get = _only(
            kind.DESCRIPTOR, lambda one: one.output_type is kind.DESCRIPTOR, "the result of a job, such as Proposal"
        )
        request = GetMessageClass(get.input_type)(name=resource_name(collection_of(kind), name))
        result: Result = self._ask(self._method(get), request)
        return result

    def list_results(self, kind: type[Result]) -> Listing[Result]:
        """All results of a kind, such as `Frontier`, newest first, fetched as they are read."""
        listing = _only(
            kind.DESCRIPTOR, lambda one: one.name.startswith("List"), "the result of a job, such as Proposal"
        )
        request, (items, *_) = GetMessageClass(listing.input_type)(), listing.output_type.fields
        return self._listed(self._method(listing), request, lambda page: getattr(page, items.name))

    def read_record_risks(self, risk_analysis: str) -> pa.RecordBatchReader:
        """The risks of each combination of values, with the values, as a stream of batches; close it to stop early."""
        from tableveil.client.objects import ObjectReader

        name = resource_name(collection_of(risk_service_pb2.RiskAnalysis), risk_analysis)
        return ObjectReader(
            self._risks.ReadRecordRisks(risk_service_pb2.ReadRecordRisksRequest(name=name)), self._error_of
        )

    def _method(self, method: Any) -> Any:
        asked, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        path = f"/{method.containing_service.full_name}/{method.name}"
        return self._channel.unary_unary(path, asked.SerializeToString, answer.FromString)


def collection_of(kind: type[Message]) -> str:
    """The collection of a resource, as its proto declares it: `frontiers` for a `Frontier`."""
    pattern: str = kind.DESCRIPTOR.GetOptions().Extensions[resource_pb2.resource].pattern[0]
    return pattern.partition("/")[0]


def _only(message: Any, fits: Callable[[Any], bool], expected: str) -> Any:
    """The one method that fits, of the services in the proto of a message; raises `TypeError` if there is none."""
    for service in message.file.services_by_name.values():
        for method in filter(fits, service.methods):
            return method
    raise TypeError(f"found a message {message.name}; expected {expected}")
