"""No message ends in an internal error, or tells a neighbour what is there: `make campaign` makes 100,000 calls."""

from collections.abc import Iterator
from typing import Any, cast

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from tableveil.audit.entry import read_line
from tableveil.v1 import audit_service_pb2 as v1
from tableveil.v1 import frontier_service_pb2
from tableveil.v1.faults_pb2 import Failure, Fault
from tableveil.v1.proposal_service_pb2 import ProposalRequest
from tests.campaign.fuzz.campaign import answer, compared, fuzz
from tests.campaign.fuzz.fixtures import NAMES, ghost, level
from tests.service.access.house import Fields, House, opened

FEW, MANY = 60, 5_000


@pytest.mark.parametrize(("calls", "cases"), [(FEW, 2), pytest.param(MANY, 40, marks=pytest.mark.long)])
def test_no_message_breaks_the_server(calls: int, cases: int) -> None:
    report = fuzz(seed=20, seconds=7_200, calls=calls, cases=cases)
    assert report.broken == []
    assert report.calls == calls


def test_two_names_that_nothing_has_stay_two() -> None:
    """A proposal that names one column twice has a fault more."""
    asked = ProposalRequest(leave_out=NAMES)
    assert len({*cast(ProposalRequest, ghost(asked)).leave_out}) == len(NAMES)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("fuzzed")) as house:
        yield house


def test_a_ghost_whose_longer_name_leaves_no_room_for_a_fault_is_told_alike(house: House) -> None:
    method = frontier_service_pb2.DESCRIPTOR.services_by_name["FrontierService"].methods_by_name["SubmitFrontier"]
    asked = frontier_service_pb2.SubmitFrontierRequest(suppression_limits=["jobs/1"] * 100)
    (_, _, one), (_, _, other) = (
        answer(house.channels["ann"], method, [sent.SerializeToString()]) for sent in (asked, ghost(asked))
    )
    assert len(one.faults) > len(other.faults)
    assert one.omitted_faults
    first, second = compared(house.channels["ann"], method, [asked])
    assert first == second


def test_a_fault_more_is_told_where_there_is_room_for_it() -> None:
    one, other = (Failure(faults=[Fault(field=f"k[{i}]") for i in range(number)]) for number in (2, 3))
    level([one, other])
    assert one != other


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        *(
            ("StatementService/ExecuteStatement", {"statement": text})
            for text in ("'; DROP TABLE x;--", '"', "/*", "$$")
        ),
        ("AccessService/AddGrant", {"rule": {"principal": "x", "role": 77}}),
        ("AccessService/AddGrant", {"rule": {"group": "x", "role": -1}}),
        ("AuditService/ListAuditEntries", {"page_token": "W1tb" * 50_000}),
    ],
)
def test_bad_input_is_no_internal_error(house: House, method: str, fields: Fields) -> None:
    assert house.ask("admin", method, **fields)[0] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("since", [{"nanos": -1}, {"nanos": 2**31 - 1}, {"seconds": 2**62}, {"seconds": -(2**62)}])
def test_moments_that_no_clock_shows(house: House, since: dict[str, int]) -> None:
    request = v1.ListAuditEntriesRequest(since=Timestamp(**since))
    call: Any = house.channels["admin"].unary_unary(
        "/tableveil.v1.AuditService/ListAuditEntries", type(request).SerializeToString
    )
    with pytest.raises(grpc.RpcError, match="no moment"):
        call(request)


def test_a_line_of_the_audit_may_be_anything() -> None:
    for line in (b"[" * 200_000, b'{"a":' * 200_000, b"9" * 5_000, b"{}", b"1"):
        with pytest.raises(ValueError, match=r"entry|JSON|integer|Extra data|Expecting"):
            read_line(line + b"\n")
