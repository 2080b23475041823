"""Hierarchies on their way to the server: in pieces that fit into any message limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tableveil.v1 import hierarchy_service_pb2, policy_pb2

# Far below the 4 MB that gRPC accepts unless told otherwise; a single row may exceed it.
PIECE_BYTES = 256 * 1024


def upload_requests(name: str, rows: Sequence[Sequence[str]]) -> Iterator[hierarchy_service_pb2.CreateHierarchyRequest]:
    """The messages that store the rows under `name`, made as they are sent."""
    request = hierarchy_service_pb2.CreateHierarchyRequest(name=name, row_count=len(rows))
    size = 0
    for row in rows:
        message = policy_pb2.HierarchyRow(labels=row)
        row_bytes = message.ByteSize()
        if request.rows and size + row_bytes > PIECE_BYTES:
            yield request
            request, size = hierarchy_service_pb2.CreateHierarchyRequest(), 0
        request.rows.append(message)
        size += row_bytes
    yield request
