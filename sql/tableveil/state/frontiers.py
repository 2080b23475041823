"""The store of frontiers, which are the owner's: they tell what the source would lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from tableveil.backend import Session
from tableveil.policy import TableReference
from tableveil.state.rows import insert_rows


@dataclass(frozen=True, slots=True)
class Found:
    """The best transformation for a k and a limit: its score as users know it, and its level per quasi-identifier."""

    score: float
    suppressed_records: int
    classes: int
    levels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """What is known for one k and suppression limit.

    If `optimal`, `found` is proven to be the best, or, if it is None, that nothing meets the policy. No valid
    transformation scores less than `lower_bound`, which is None if there is none.
    """

    k: int
    suppression_limit: Decimal
    found: Found | None
    optimal: bool
    lower_bound: float | None


@dataclass(frozen=True, slots=True)
class Frontier:
    """A frontier with its evidence; `points` by k, then by limit, both ascending; `policy` is the document as JSON.

    `seconds` are those from the job's start, `search_seconds` those of the search.
    """

    number: int
    job: int
    created_at: datetime
    source: TableReference
    source_fingerprint: str
    records: int
    quasi_identifiers: tuple[str, ...]
    lattice_size: str
    checked: int
    counter: str
    search_seconds: float
    seconds: float
    policy: str
    points: tuple[Point, ...]


def next_number(session: Session) -> int:
    """A number no frontier has."""
    number: int = session.value("SELECT nextval('tableveil.frontier_numbers')")
    return number


def insert(session: Session, frontier: Frontier) -> None:
    """Stores a frontier; call it in a transaction."""
    session.execute(
        "INSERT INTO tableveil.frontiers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            frontier.number,
            frontier.job,
            frontier.created_at,
            frontier.source.catalog,
            frontier.source.schema,
            frontier.source.table,
            frontier.source_fingerprint,
            frontier.records,
            list(frontier.quasi_identifiers),
            frontier.lattice_size,
            frontier.checked,
            frontier.counter,
            frontier.search_seconds,
            frontier.seconds,
            frontier.policy,
        ],
    )
    insert_rows(session, "frontier_points", [_row(frontier.number, point) for point in frontier.points])


def _row(frontier: int, point: Point) -> Sequence[object]:
    found = point.found
    best = (found.score, found.suppressed_records, found.classes, list(found.levels)) if found else (None,) * 4
    return (frontier, point.k, f"{point.suppression_limit:f}", *best, point.optimal, point.lower_bound)


def find(session: Session, number: int) -> Frontier | None:
    """The frontier of that number."""
    rows = session.rows(
        "SELECT number, job, created_at, source_catalog, source_schema, source_table, source_fingerprint, records, "
        "quasi_identifiers, lattice_size, checked, counter, search_seconds, seconds, policy "
        "FROM tableveil.frontiers WHERE number = ?",
        [number],
    )
    return _frontier(session, *rows[0]) if rows else None


def _frontier(
    session: Session,
    number: int,
    job: int,
    created_at: datetime,
    catalog: str,
    schema: str,
    name: str,
    fingerprint: str,
    records: int,
    quasi_identifiers: list[str],
    lattice_size: str,
    checked: int,
    counter: str,
    search_seconds: float,
    seconds: float,
    policy: str,
) -> Frontier:
    points = session.rows(
        "SELECT k, suppression_limit, score, suppressed_records, classes, levels, optimal, lower_bound "
        "FROM tableveil.frontier_points WHERE frontier = ? ORDER BY rowid",
        [number],
    )
    return Frontier(
        number=number,
        job=job,
        created_at=created_at,
        source=TableReference(catalog, schema, name),
        source_fingerprint=fingerprint,
        records=records,
        quasi_identifiers=tuple(quasi_identifiers),
        lattice_size=lattice_size,
        checked=checked,
        counter=counter,
        search_seconds=search_seconds,
        seconds=seconds,
        policy=policy,
        points=tuple(_point(*row) for row in points),
    )


def _point(
    k: int,
    suppression_limit: str,
    score: float | None,
    suppressed: int,
    classes: int,
    levels: list[int],
    optimal: bool,
    lower_bound: float | None,
) -> Point:
    found = Found(score, suppressed, classes, tuple(levels)) if score is not None else None
    return Point(k, Decimal(suppression_limit), found, optimal, lower_bound)
