"""Hierarchies over a real channel: they come in pieces, whole or not at all, and not without bounds."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from unittest.mock import Mock

import grpc
import pytest

from tableveil.dictionary import Coverage, Preview, PreviewRequest
from tableveil.hierarchy import InlineLevels, PreviewGroup, PreviewLevel, StoredLevels
from tableveil.policy import TableReference
from tableveil.server import hierarchy_service
from tableveil.server.endpoint import ServerEndpoint
from tableveil.serving import settings
from tableveil.state.compare_hierarchies import HierarchyComparison, LevelDifference
from tableveil.state.hierarchies import Stored
from tableveil.v1 import hierarchy_service_pb2 as v1
from tableveil.v1 import hierarchy_service_pb2_grpc, policy_pb2
from tests import authenticated

SECONDS = 20.0
"""How long a test waits for what takes less than one on an idle machine."""


def chunk(name: str, *rows: tuple[str, ...], of: int | None = None) -> v1.CreateHierarchyRequest:
    """A message with some rows of all `of`, by default the only ones."""
    messages = [policy_pb2.HierarchyRow(labels=row) for row in rows]
    return v1.CreateHierarchyRequest(name=name, rows=messages, row_count=len(rows) if of is None else of)


def stored(name: str, version: int = 1) -> Stored:
    return Stored(1, name, version, 2, 3, datetime(2024, 1, 1))


@pytest.fixture
def stub(channel: grpc.Channel) -> hierarchy_service_pb2_grpc.HierarchyServiceStub:
    return hierarchy_service_pb2_grpc.HierarchyServiceStub(channel)


def test_chunks_make_one_hierarchy(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.create.return_value = stored("zip", 4)
    chunks = [chunk("zip", ("02139", "0213*", "*"), of=3), chunk("ignored", ("02138", "0213*", "*"), ()), chunk("")]
    assert stub.CreateHierarchy(iter(chunks)).version == 4
    rows = [("02139", "0213*", "*"), ("02138", "0213*", "*"), ()]
    assert hierarchies.create.call_args.args == ("zip", rows, "")


def test_nothing_at_all(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.create.return_value = stored("x")
    stub.CreateHierarchy(iter([]))
    assert hierarchies.create.call_args.args == ("", [], "")


@pytest.mark.parametrize(("announced", "code"), [(2, grpc.StatusCode.CANCELLED), (0, grpc.StatusCode.INVALID_ARGUMENT)])
def test_as_many_rows_as_announced_or_none(
    stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock, announced: int, code: grpc.StatusCode
) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.CreateHierarchy(iter([chunk("zip", ("02139", "*"), of=announced)]))
    assert raised.value.code() is code
    hierarchies.create.assert_not_called()


@pytest.mark.parametrize(("limit", "value"), [("MOST_HIERARCHY_ROWS", 10), ("LARGEST_HIERARCHY", 100)])
def test_bounds(
    stub: hierarchy_service_pb2_grpc.HierarchyServiceStub,
    hierarchies: Mock,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
) -> None:
    monkeypatch.setattr(hierarchy_service, limit, value)
    with pytest.raises(grpc.RpcError) as raised:
        stub.CreateHierarchy(chunk("zip", *[(f"{i:05}", "*")] * 4) for i in range(100))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "more than" in str(raised.value.details())
    hierarchies.create.assert_not_called()


@pytest.mark.parametrize("leave", ["cancel", "disconnect"])
def test_a_client_that_goes_away_leaves_nothing(
    start: Callable[..., ServerEndpoint], hierarchies: Mock, leave: str
) -> None:
    address = start().addresses[0]
    hierarchies.create.return_value = stored("zip")
    for _ in range(50):
        with authenticated.channel(address) as other:
            sent, left = threading.Event(), threading.Event()

            def chunks(
                sent: threading.Event = sent, left: threading.Event = left
            ) -> Iterator[v1.CreateHierarchyRequest]:
                yield chunk("zip", ("02139", "*"), of=2)
                sent.set()
                left.wait(SECONDS)

            call = hierarchy_service_pb2_grpc.HierarchyServiceStub(other).CreateHierarchy.future(chunks())
            assert sent.wait(SECONDS)
            if leave == "cancel":
                call.cancel()
        left.set()
    # All slots come back.
    with authenticated.channel(address) as channel:
        for _ in range(settings.UPLOADS_AT_ONCE + 1):
            upload(hierarchy_service_pb2_grpc.HierarchyServiceStub(channel), chunk("other", ("a", "*")))
    assert {call.args[0] for call in hierarchies.create.call_args_list} == {"other"}


def upload(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, *chunks: v1.CreateHierarchyRequest) -> None:
    """Tries until there is a slot."""
    for _ in range(400):
        call = stub.CreateHierarchy.future(iter(chunks))
        if call.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
            call.result()
            return
        time.sleep(0.05)
    pytest.fail("no slot came back")


def test_uploads_are_bounded(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.create.return_value = stored("zip")
    go_on = threading.Event()
    refused = threading.Event()

    def chunks() -> Iterator[v1.CreateHierarchyRequest]:
        yield chunk("zip")
        go_on.wait(SECONDS)

    calls = [stub.CreateHierarchy.future(chunks()) for _ in range(settings.UPLOADS_AT_ONCE + 1)]
    for call in calls:
        call.add_done_callback(lambda _: refused.set())
    assert refused.wait(SECONDS)
    go_on.set()
    codes = Counter(call.code() for call in calls)
    assert codes == {grpc.StatusCode.OK: settings.UPLOADS_AT_ONCE, grpc.StatusCode.RESOURCE_EXHAUSTED: 1}


def test_pages(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.page.return_value = [stored("b", 2), stored("b", 1), stored("c")]
    page = stub.ListHierarchies(v1.ListHierarchiesRequest(page_size=2))
    assert [(found.name, found.version) for found in page.hierarchies] == [("b", 2), ("b", 1)]
    assert hierarchies.page.call_args.args == (("", 0), 3)
    hierarchies.page.return_value = []
    last = stub.ListHierarchies(v1.ListHierarchiesRequest(page_token=page.next_page_token))
    assert hierarchies.page.call_args.args == (("b", 1), 51)
    assert last.next_page_token == ""


def test_where_rows_come_from_is_told_and_kept(
    stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock
) -> None:
    hierarchies.create.return_value = replace(stored("zip"), origin="zip.csv")
    first, further = chunk("zip", ("1", "*"), of=2), chunk("", ("2", "*"))
    first.origin, further.origin = "zip.csv", "ignored"
    assert stub.CreateHierarchy(iter([first, further])).origin == "zip.csv"
    assert hierarchies.create.call_args.args == ("zip", [("1", "*"), ("2", "*")], "zip.csv")


# --- looks ----------------------------------------------------------------------------------------------------------


def look(
    *rows: tuple[str, ...], of: int = 0, inline: Sequence[tuple[str, ...]] = (), **fields: Any
) -> v1.PreviewHierarchyRequest:
    """A request for a preview of an inline hierarchy."""
    hierarchy = policy_pb2.Hierarchy()
    hierarchy.inline.rows.extend(policy_pb2.HierarchyRow(labels=row) for row in inline)
    hierarchy.inline.SetInParent()
    further = [policy_pb2.HierarchyRow(labels=row) for row in rows]
    return v1.PreviewHierarchyRequest(hierarchy=hierarchy, rows=further, row_count=of, **fields)


PREVIEW = Preview(
    stored("zip", 2),
    3.0,
    False,
    (PreviewLevel(1, 3, (PreviewGroup("a", 1.0, 1, 5),), (PreviewGroup("c", 1.0, 1, 6),), 1.0, 1.0, 5, 7),),
    Coverage(4, 19, 2, 1, 3, ("x",)),
)


def test_a_preview_comes_whole(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.preview.return_value = PREVIEW
    table = policy_pb2.TableReference(table="people")
    request = look(of=2, inline=[("1", "*")], table=table, column="zip", groups=2000, values=True)
    found = stub.PreviewHierarchy(iter([request, look(("2", "*"))]))
    asked, _ = hierarchies.preview.call_args.args
    place = TableReference("", "main", "people")
    assert asked == PreviewRequest(InlineLevels((("1", "*"), ("2", "*"))), place, "zip", 1000, with_values=True)
    [level] = found.levels
    assert (found.stored.version, found.domain_size, level.groups, level.left_out) == (2, 3.0, 3, 1)
    assert [(group.label, group.leaves, group.values, group.rows) for group in (*level.first, *level.last)] == [
        ("a", 1.0, 1, 5),
        ("c", 1.0, 1, 6),
    ]
    assert (level.fewest_rows, level.most_rows) == (5, 7)
    coverage = found.coverage
    assert (coverage.values, coverage.rows, coverage.null_rows) == (4, 19, 2)
    assert (coverage.uncovered_values, coverage.uncovered_rows, list(coverage.examples)) == (1, 3, ["x"])


def test_a_preview_by_itself(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.preview.return_value = replace(PREVIEW, coverage=None, stored=None)
    found = stub.PreviewHierarchy(iter([look(inline=[("1", "*")])]))
    assert hierarchies.preview.call_args.args[0] == PreviewRequest(InlineLevels((("1", "*"),)))
    assert not found.HasField("coverage")
    assert not found.HasField("stored")


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (v1.PreviewHierarchyRequest(), "hierarchy"),
        (look(inline=[("1", "*")], column="zip"), "table"),
        (look(inline=[("1", "*")], table=policy_pb2.TableReference(table="t")), "column"),
        (look(inline=[("1", "*")], groups=-1), "groups"),
        (
            v1.PreviewHierarchyRequest(hierarchy=policy_pb2.Hierarchy(csv=policy_pb2.CsvHierarchy(path="x"))),
            "hierarchy.csv",
        ),
    ],
)
def test_previews_that_make_no_sense(
    stub: hierarchy_service_pb2_grpc.HierarchyServiceStub,
    hierarchies: Mock,
    request_: v1.PreviewHierarchyRequest,
    field: str,
) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.PreviewHierarchy(iter([request_]))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert f"{field}: found" in str(raised.value.details())
    hierarchies.preview.assert_not_called()


def test_a_preview_that_was_cut_off(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.PreviewHierarchy(iter([look(("1", "*"), of=2)]))
    assert raised.value.code() is grpc.StatusCode.CANCELLED
    hierarchies.preview.assert_not_called()


def test_a_comparison(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    level = LevelDifference(1, 4, 1, 2, (("v", "old", "new"),))
    hierarchies.compare.return_value = HierarchyComparison(
        stored("zip"), stored("zip", 2), 5, 6, 7, (level,), ("added",), ("removed",)
    )
    request = v1.CompareHierarchiesRequest(
        earlier=policy_pb2.StoredHierarchy(name="zip", version=1),
        later=policy_pb2.StoredHierarchy(name="zip"),
        examples=3,
    )
    found = stub.CompareHierarchies(request)
    assert hierarchies.compare.call_args.args[:-1] == (StoredLevels("zip", 1), StoredLevels("zip"), 3)
    assert (found.earlier.version, found.later.version) == (1, 2)
    assert (found.values_added, found.values_removed, found.values_unchanged) == (5, 6, 7)
    assert (list(found.added_examples), list(found.removed_examples)) == (["added"], ["removed"])
    example = v1.Relabelling(value="v", earlier="old", later="new")
    expected = v1.LevelDifference(level=1, relabelled=4, labels_added=1, labels_removed=2, examples=[example])
    assert list(found.levels) == [expected]
    with pytest.raises(grpc.RpcError) as raised:
        stub.CompareHierarchies(v1.CompareHierarchiesRequest(examples=-1))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_rows_are_read_in_pieces(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    rows = [(str(number), "x" * 1000, "*") for number in range(1000)]
    hierarchies.read.return_value.__enter__.return_value = stored("zip"), iter([rows[:600], rows[600:]])
    first, *pieces = stub.ReadHierarchy(
        v1.ReadHierarchyRequest(hierarchy=policy_pb2.StoredHierarchy(name="zip", version=1))
    )
    assert hierarchies.read.call_args.args == (StoredLevels("zip", 1),)
    assert first.hierarchy.name == "zip"
    assert len(pieces) > 2
    assert [tuple(row.labels) for piece in pieces for row in piece.rows] == rows
