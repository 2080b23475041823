"""Hierarchies on their way to the server: in pieces that fit into any message limit."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from tableveil.client.connection import with_name
from tableveil.v1 import hierarchy_service_pb2

# Even with four bytes per character, this is far below gRPC's default limit of 4 MB; a single row may exceed it.
PIECE_CHARACTERS = 128 * 1024

Request = TypeVar(
    "Request", hierarchy_service_pb2.CreateHierarchyRequest, hierarchy_service_pb2.PreviewHierarchyRequest
)


def upload_requests(
    name: str, rows: Sequence[Sequence[str]], origin: str = ""
) -> Iterator[hierarchy_service_pb2.CreateHierarchyRequest]:
    """The messages that store the rows under `name`, made as they are sent."""
    request = hierarchy_service_pb2.CreateHierarchyRequest(name=name, row_count=len(rows), origin=origin)
    return _filled(with_name(request), hierarchy_service_pb2.CreateHierarchyRequest, rows)


def preview_requests(
    request: hierarchy_service_pb2.PreviewHierarchyRequest, rows: Sequence[Sequence[str]]
) -> Iterator[hierarchy_service_pb2.PreviewHierarchyRequest]:
    """The messages that ask for a preview, with the rows of an inline hierarchy that are not in the request."""
    request.row_count = len(rows)
    yield from _filled(request, hierarchy_service_pb2.PreviewHierarchyRequest, rows)


def _filled(first: Request, further: Callable[[], Request], rows: Iterable[Sequence[str]]) -> Iterator[Request]:
    """The first message and as many as are needed to hold the rows."""
    request, room = first, PIECE_CHARACTERS
    for row in rows:
        characters = 1 + len(row) + sum(map(len, row))
        if request.rows and characters > room:
            yield request
            request, room = further(), PIECE_CHARACTERS
        request.rows.add(labels=row)
        room -= characters
    yield request
