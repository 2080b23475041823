"""Policy drafts over gRPC: a bad table is said, and a client that is gone is not worked for."""

import threading
from unittest.mock import Mock

import grpc
import pytest

from tableveil.control import Control, Stopped
from tableveil.drafting import PolicyDraft
from tableveil.policy import Role, TableReference
from tableveil.v1 import draft_service_pb2 as v1
from tableveil.v1.draft_service_pb2_grpc import DraftServiceStub
from tableveil.v1.policy_pb2 import TableReference as Table

PEOPLE = Table(table="people")
VISITS = Table(table="visits")
REQUEST = v1.DraftPolicyRequest(table=PEOPLE)


def test_a_draft(channel: grpc.Channel, drafts: Mock) -> None:
    drafts.draft.return_value = PolicyDraft(TableReference("db", "main", "people"), (), None, 5, ())
    answer = DraftServiceStub(channel).DraftPolicy(REQUEST)
    assert drafts.draft.call_args.args[0] == TableReference("", "main", "people")
    DraftServiceStub(channel).DraftPolicy(v1.DraftPolicyRequest(source_query="SELECT 1", sensitive=["a"]))
    assert drafts.draft.call_args.args[3] == {Role.QUASI_IDENTIFIER: [], Role.SENSITIVE: ["a"]}
    assert answer.proposal.source == Table(schema="main", table="people")
    assert (answer.proposal.rows_are_people, answer.policy.WhichOneof("person")) == (True, None)
    assert (len(answer.proposal.privacy_models), len(answer.policy.privacy_models)) == (1, 0)


def test_a_client_that_is_gone_ends_the_work(channel: grpc.Channel, drafts: Mock) -> None:
    started, stopped = threading.Event(), threading.Event()

    def draft(table: TableReference, control: Control, query: str, named: object) -> PolicyDraft:
        started.set()
        while not control.must_stop:
            stopped.wait(0.01)
        stopped.set()
        raise Stopped

    drafts.draft.side_effect = draft
    call = DraftServiceStub(channel).DraftPolicy.future(REQUEST)
    assert started.wait(10)
    call.cancel()
    assert stopped.wait(10)
    with pytest.raises(grpc.FutureCancelledError):
        call.result()


@pytest.mark.parametrize(
    ("field", "request_"),
    [
        ("events", v1.DraftPolicyRequest(table=PEOPLE, events=[PEOPLE] * 4)),
        ("events[0].table", v1.DraftPolicyRequest(table=PEOPLE, events=[Table(schema="main", table="people")])),
        ("events[1].table", v1.DraftPolicyRequest(table=PEOPLE, events=[VISITS, VISITS])),
        ("source_query", v1.DraftPolicyRequest(source_query="SELECT 1", events=[VISITS])),
        ("sensitive", v1.DraftPolicyRequest(table=PEOPLE, events=[VISITS], sensitive=["a"])),
        ("key", v1.DraftPolicyRequest(table=PEOPLE, key="a")),
    ],
)
def test_event_tables_go_with_people_alone(channel: grpc.Channel, field: str, request_: v1.DraftPolicyRequest) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        DraftServiceStub(channel).DraftPolicy(request_)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert field in str(refused.value.details())
