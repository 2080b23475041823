"""What became of the quasi-identifiers of releases."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class AttributeResult:
    """What became of one quasi-identifier.

    `loss` is the same whatever the quality model; `part` is what that counted before the weight, None if its score is
    not made of such parts. At the record level `levels` are those of the released records, ascending, each with how
    many have it, and `level` is the highest; else there are none. `aggregation` says what took the place of values, if
    they were aggregated instead of generalized: then there are no levels, and `loss` is their squared error as a share
    of that which a single class would have.
    """

    column: str
    level: int
    top_level: int
    loss: float
    distinct_before: int
    distinct_after: int
    hierarchy: str
    part: float | None
    levels: tuple[tuple[int, int], ...] = ()
    aggregation: str = ""


ATTRIBUTES = Table("release_attributes", AttributeResult, "release", position=True, names={"column": "column_name"})
