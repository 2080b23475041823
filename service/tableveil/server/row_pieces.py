"""Cuts the rows of a hierarchy into pieces that fit into messages."""

from collections.abc import Iterable, Iterator, Sequence

from tableveil.v1 import policy_pb2

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
