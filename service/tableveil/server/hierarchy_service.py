"""Hierarchies over gRPC."""

from __future__ import annotations

from collections.abc import Iterator

import grpc

from tableveil.convert import hierarchy_token, page_size, read_hierarchy_token, stored_hierarchy_to_proto
from tableveil.errors import CancelledError, InvalidError, TableveilError
from tableveil.server.paging import fill_page
from tableveil.server.ports import Hierarchies
from tableveil.server.settings import LARGEST_HIERARCHY, MOST_HIERARCHY_ROWS
from tableveil.server.slots import Slots
from tableveil.v1 import hierarchy_service_pb2 as v1
from tableveil.v1 import hierarchy_service_pb2_grpc


class HierarchyService(hierarchy_service_pb2_grpc.HierarchyServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, hierarchies: Hierarchies, uploads: Slots) -> None:
        """`uploads` bounds how many hierarchies are being received, and so held in memory, at once."""
        self._hierarchies = hierarchies
        self._uploads = uploads

    def CreateHierarchy(  # noqa: N802
        self, request_iterator: Iterator[v1.CreateHierarchyRequest], context: grpc.ServicerContext
    ) -> v1.CreateHierarchyResponse:
        """Stores what all messages bring; a client that goes away before the end leaves nothing."""
        with self._uploads.taken():
            name, rows = _received(request_iterator)
            stored = self._hierarchies.create(name, rows)
        return v1.CreateHierarchyResponse(hierarchy=stored_hierarchy_to_proto(stored))

    def ListHierarchies(  # noqa: N802
        self, request: v1.ListHierarchiesRequest, context: grpc.ServicerContext
    ) -> v1.ListHierarchiesResponse:
        """A page of hierarchies."""
        size = page_size(request.page_size)
        found = self._hierarchies.page(read_hierarchy_token(request.page_token), size + 1)
        hierarchies, more = fill_page(found, size, stored_hierarchy_to_proto)
        last = found[len(hierarchies) - 1] if more else None
        token = hierarchy_token((last.name, last.version)) if last else ""
        return v1.ListHierarchiesResponse(hierarchies=hierarchies, next_page_token=token)


def _received(requests: Iterator[v1.CreateHierarchyRequest]) -> tuple[str, list[tuple[str, ...]]]:
    name, announced = "", 0
    rows: list[tuple[str, ...]] = []
    # Labels repeat from row to row; one object for each keeps large hierarchies in memory.
    known: dict[str, str] = {}
    size = 0
    for number, request in enumerate(requests):
        if number == 0:
            name, announced = request.name, request.row_count
        size += request.ByteSize()
        if len(rows) + len(request.rows) > MOST_HIERARCHY_ROWS:
            raise _too_large(f"more than {MOST_HIERARCHY_ROWS:,} rows", f"at most {MOST_HIERARCHY_ROWS:,} rows")
        if size > LARGEST_HIERARCHY:
            limit = f"{LARGEST_HIERARCHY // 2**20} MiB"
            raise _too_large(f"more than {limit}", f"at most {limit}")
        for row in request.rows:
            labels = tuple(row.labels)
            rows.append((*labels[:1], *(known.setdefault(label, label) for label in labels[1:])))
    # gRPC may end a stream that was cut off, by the client or a message over the limit, as if all had come.
    if len(rows) < announced:
        raise CancelledError("CANCELLED", "the upload was cut off before its end; nothing was stored")
    if len(rows) > announced:
        found, expected = f"{announced:,} announced, {len(rows):,} sent", "the number of all rows in the first message"
        raise InvalidError.of("ROW_COUNT_WRONG", "row_count", found, expected)
    return name, rows


def _too_large(found: str, expected: str) -> TableveilError:
    hint = "Load it into a table of the database, and let the policy refer to that."
    return InvalidError.of("HIERARCHY_TOO_LARGE", "rows", found, expected, hint)
