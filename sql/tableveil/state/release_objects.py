"""The public objects of releases: what each holds, and how many rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tableveil.backend import Session
from tableveil.state.rows import insert_rows


class ObjectKind(StrEnum):
    """What a public object holds."""

    ROWS = "ROWS"
    CLASSES = "CLASSES"
    RISK = "RISK"
    RISK_HISTOGRAM = "RISK_HISTOGRAM"
    CLASSIFICATION = "CLASSIFICATION"


@dataclass(frozen=True, slots=True)
class ReleaseObject:
    """A public object in the target schema; by its `mark` it is known again, if not empty."""

    name: str
    kind: ObjectKind
    row_count: int
    mark: str = ""


def insert(session: Session, release: int, objects: Sequence[ReleaseObject]) -> None:
    """Writes them in their order; call it in the transaction that writes the release."""
    rows = [(release, item.name, item.kind.value, item.row_count, item.mark) for item in objects]
    insert_rows(session, "release_objects", rows)


def replace(session: Session, release: int, added: ReleaseObject) -> None:
    """Adds a public object to the release, in place of the one of its kind; call it in a transaction."""
    session.execute("DELETE FROM tableveil.release_objects WHERE release = ? AND kind = ?", [release, added.kind.value])
    insert(session, release, [added])


def of_releases(session: Session, releases: Sequence[int]) -> Mapping[int, Sequence[ReleaseObject]]:
    """Those of each release, in the order they were written."""
    objects = defaultdict(list)
    for release, name, kind, row_count, mark in session.rows(
        "SELECT release, name, kind, row_count, mark FROM tableveil.release_objects "
        "WHERE list_contains(?::BIGINT[], release) ORDER BY rowid",
        [list(releases)],
    ):
        objects[release].append(ReleaseObject(name, ObjectKind(kind), row_count, mark))
    return objects


def of_target(session: Session, schema: str, name: str) -> dict[str, int]:
    """The objects that the latest release of that target wrote, with their numbers of rows; none if it is withdrawn."""
    rows = session.rows(
        "SELECT name, row_count FROM tableveil.release_objects ANTI JOIN tableveil.withdrawals USING (release) "
        "WHERE release = "
        "(SELECT max(number) FROM tableveil.releases WHERE target_schema = ? AND lower(target_name) = lower(?))",
        [schema, name],
    )
    return dict(rows)
