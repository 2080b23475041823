"""Warnings as messages have them: texts, and beside them their ranks."""

from collections.abc import Iterable, Sequence

from tableveil.convert.enums import WARNING_RANKS
from tableveil.errors import Rank, Warned, rank_of, with_ranks
from tableveil.v1 import faults_pb2


def ranks_to_proto(warnings: Iterable[str]) -> list[faults_pb2.WarningRank.ValueType]:
    """The rank of each warning."""
    return [WARNING_RANKS.to_proto(rank_of(warning)) for warning in warnings]


def warnings_to_proto(warnings: Iterable[Warned]) -> list[faults_pb2.Warning]:
    """The warnings with their facts."""
    return [
        faults_pb2.Warning(rank=WARNING_RANKS.to_proto(one.rank), text=one, count=one.count_of, field=one.field)
        for one in warnings
    ]


def ranked_from(warnings: Iterable[faults_pb2.Warning]) -> tuple[Warned, ...]:
    """The warnings of a message."""
    return tuple(
        Warned(
            one.text,
            WARNING_RANKS.from_proto(one.rank) or Rank.SHOULD_BE_LOOKED_AT,
            one.count if one.HasField("count") else None,
            one.field,
        )
        for one in warnings
    )


def warnings_from(texts: Sequence[str], ranks: Sequence[int]) -> tuple[Warned, ...]:
    """The warnings of an older server's message; one that knows no ranks gives none."""
    return with_ranks(texts, [WARNING_RANKS.from_proto(rank) for rank in ranks])
