"""Hierarchies over gRPC."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import grpc

from tableveil.convert import (
    comparison_to_proto,
    example_limit,
    hierarchy_token,
    preview_request_from_proto,
    preview_to_proto,
    read_hierarchy_token,
    stored_hierarchy_to_proto,
    stored_levels_from_proto,
)
from tableveil.convert.names import stored_levels_named
from tableveil.errors import CancelledError, InvalidError, TableveilError, shortened
from tableveil.server.call import control_of
from tableveil.server.paging import own_token, page_of
from tableveil.server.servicer_parts import ServicerParts
from tableveil.serving.settings import LARGEST_HIERARCHY, MOST_HIERARCHY_ROWS
from tableveil.v1 import hierarchy_service_pb2 as v1
from tableveil.v1 import hierarchy_service_pb2_grpc, policy_pb2

PIECE_SIZE = 2**18


def row_pieces(rows: Iterable[Sequence[str]], size: int = PIECE_SIZE) -> Iterator[list[policy_pb2.HierarchyRow]]:
    """The rows in order, in pieces of about `size` characters, and at least one row."""
    piece: list[policy_pb2.HierarchyRow] = []
    room = size
    for labels in rows:
        characters = sum(map(len, labels))
        if piece and characters > room:
            yield piece
            piece, room = [], size
        piece.append(policy_pb2.HierarchyRow(labels=labels))
        room -= characters
    if piece:
        yield piece


class HierarchyService(hierarchy_service_pb2_grpc.HierarchyServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._hierarchies = parts.stores.hierarchies
        self._uploads = parts.uploads
        self._checks = parts.checks

    def CreateHierarchy(  # noqa: N802
        self, request_iterator: Iterator[v1.CreateHierarchyRequest], context: grpc.ServicerContext
    ) -> v1.StoredHierarchyInfo:
        """Stores the rows of all messages; a client that goes away before the end leaves nothing."""
        with self._uploads.taken():
            first = next(request_iterator, v1.CreateHierarchyRequest())
            pieces = ((request.rows, request.ByteSize()) for request in chain([first], request_iterator))
            rows = _received(pieces, first.row_count)
            stored = self._hierarchies.create(first.name, rows, first.origin)
        return stored_hierarchy_to_proto(stored)

    def ForgetHierarchyRows(  # noqa: N802
        self, request: v1.ForgetHierarchyRowsRequest, context: grpc.ServicerContext
    ) -> v1.ForgetHierarchyRowsResponse:
        """Takes rows out of one version, which the name has to tell."""
        if not 0 < len(request.values) <= MOST_HIERARCHY_ROWS:
            expected = f"1 to {MOST_HIERARCHY_ROWS:,}"
            raise InvalidError.of("HIERARCHY_INVALID", "values", f"{len(request.values):,}", expected)
        named = stored_levels_named(request.name)
        if not named.version:
            raise InvalidError.of("NAME_INVALID", "name", shortened(request.name), "hierarchies/NAME@VERSION")
        stored, removed = self._hierarchies.forget(named, request.values)
        return v1.ForgetHierarchyRowsResponse(hierarchy=stored_hierarchy_to_proto(stored), removed_rows=removed)

    def GetHierarchy(  # noqa: N802
        self, request: v1.GetHierarchyRequest, context: grpc.ServicerContext
    ) -> v1.StoredHierarchyInfo:
        """One version."""
        return stored_hierarchy_to_proto(self._hierarchies.get(stored_levels_named(request.name)))

    def ListHierarchies(  # noqa: N802
        self, request: v1.ListHierarchiesRequest, context: grpc.ServicerContext
    ) -> v1.ListHierarchiesResponse:
        """A page of hierarchies."""
        hierarchies, token = page_of(
            read_hierarchy_token(own_token(request)),
            request,
            self._hierarchies.page,
            stored_hierarchy_to_proto,
            lambda last: hierarchy_token((last.name, last.version)),
        )
        return v1.ListHierarchiesResponse(hierarchies=hierarchies, next_page_token=token)

    def PreviewHierarchy(  # noqa: N802
        self, request_iterator: Iterator[v1.PreviewHierarchyRequest], context: grpc.ServicerContext
    ) -> v1.PreviewHierarchyResponse:
        """Reads the rows of an inline hierarchy, then the column, until it is done or the client is gone."""
        control = control_of(context)
        with self._uploads.taken(), self._checks.taken():
            first = next(request_iterator, v1.PreviewHierarchyRequest())
            own = first.hierarchy.inline.rows
            pieces = ((request.rows, request.ByteSize()) for request in chain([first], request_iterator))
            rows = _received(chain([(own, 0)], pieces), first.row_count or len(own))
            return preview_to_proto(self._hierarchies.preview(preview_request_from_proto(first, rows), control))

    def CompareHierarchies(  # noqa: N802
        self, request: v1.CompareHierarchiesRequest, context: grpc.ServicerContext
    ) -> v1.CompareHierarchiesResponse:
        """Two versions beside each other."""
        earlier, later = stored_levels_from_proto(request.earlier), stored_levels_from_proto(request.later)
        comparison = self._hierarchies.compare(earlier, later, example_limit(request), control_of(context))
        return comparison_to_proto(comparison)

    def ReadHierarchy(  # noqa: N802
        self, request: v1.ReadHierarchyRequest, context: grpc.ServicerContext
    ) -> Iterator[v1.ReadHierarchyResponse]:
        """The stored version, then its rows at the speed of gRPC's flow control."""
        with self._hierarchies.read(stored_levels_from_proto(request.hierarchy)) as (stored, batches):
            yield v1.ReadHierarchyResponse(hierarchy=stored_hierarchy_to_proto(stored))
            for piece in row_pieces(chain.from_iterable(batches)):
                yield v1.ReadHierarchyResponse(rows=piece)


def _received(pieces: Iterable[tuple[Iterable[policy_pb2.HierarchyRow], int]], announced: int) -> list[tuple[str, ...]]:
    """The rows of all pieces together; a piece is the rows of a message and the message's size in bytes."""
    rows: list[tuple[str, ...]] = []
    # Labels repeat from row to row; one object for each keeps large hierarchies in memory.
    levels_by_start: dict[str, str] = {}
    size = 0
    for new, piece_bytes in pieces:
        size += piece_bytes
        if size > LARGEST_HIERARCHY:
            limit = f"{LARGEST_HIERARCHY // 2**20} MiB"
            raise _too_large(f"more than {limit}", f"at most {limit}")
        for row in new:
            labels = tuple(row.labels)
            rows.append((*labels[:1], *map(levels_by_start.setdefault, labels[1:], labels[1:])))
        if len(rows) > MOST_HIERARCHY_ROWS:
            raise _too_large(f"more than {MOST_HIERARCHY_ROWS:,} rows", f"at most {MOST_HIERARCHY_ROWS:,} rows")
    # gRPC may end a stream that was cut off, by the client or a message over the limit, as if it were complete.
    if len(rows) < announced:
        raise CancelledError("CANCELLED", "the upload was cut off before its end; nothing was stored")
    if len(rows) > announced:
        actual, expected = f"{announced:,} announced, {len(rows):,} sent", "the number of all rows in the first message"
        raise InvalidError.of("ROW_COUNT_WRONG", "row_count", actual, expected)
    return rows


def _too_large(found: str, expected: str) -> TableveilError:
    hint = "Load it into a table of the database, and let the policy refer to that."
    return InvalidError.of("HIERARCHY_TOO_LARGE", "rows", found, expected, hint)
