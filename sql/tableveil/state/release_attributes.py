"""What became of the quasi-identifiers of releases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tableveil.backend import Session
from tableveil.state.rows import insert_rows


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


def insert(session: Session, release: int, attributes: Sequence[AttributeResult]) -> None:
    """Writes them in their order; call it in the transaction that writes the release."""
    insert_rows(
        session,
        "release_attributes",
        [
            (
                *(release, position, a.column, a.level, a.top_level, a.loss),
                *(a.distinct_before, a.distinct_after, a.hierarchy, a.part, a.aggregation),
            )
            for position, a in enumerate(attributes)
        ],
    )
    levels = [(release, a.column, level, records) for a in attributes for level, records in a.levels]
    insert_rows(session, "release_levels", levels)


def of_releases(session: Session, releases: Sequence[int]) -> Mapping[int, Sequence[AttributeResult]]:
    """Those of each release, in the order they were written."""
    levels = defaultdict(list)
    for release, column, level, records in session.rows(
        "SELECT release, column_name, level, records FROM tableveil.release_levels "
        "WHERE list_contains(?::BIGINT[], release) ORDER BY level",
        [list(releases)],
    ):
        levels[release, column].append((level, records))
    attributes = defaultdict(list)
    for release, column, level, top_level, loss, before, after, hierarchy, part, aggregation in session.rows(
        "SELECT release, column_name, level, top_level, loss, distinct_before, distinct_after, hierarchy, part, "
        "aggregation FROM tableveil.release_attributes WHERE list_contains(?::BIGINT[], release) ORDER BY position",
        [list(releases)],
    ):
        taken = tuple(levels[release, column])
        attributes[release].append(
            AttributeResult(column, level, top_level, loss, before, after, hierarchy, part, taken, aggregation)
        )
    return attributes
