"""The public objects of releases: the content of each, and its number of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from tableveil.backend import Ledger
from tableveil.state.mapper import Table
from tableveil.state.seen import PUBLIC
from tableveil.state.seen import releases as seen_releases


class ObjectKind(StrEnum):
    """The content of a public object."""

    ROWS = "ROWS"
    CLASSES = "CLASSES"
    RISK = "RISK"
    RISK_HISTOGRAM = "RISK_HISTOGRAM"
    CLASSIFICATION = "CLASSIFICATION"
    COLUMNS = "COLUMNS"
    LABELS = "LABELS"
    ABOUT = "ABOUT"
    ESTIMATED = "ESTIMATED"
    SPREAD = "SPREAD"
    EVENTS = "EVENTS"
    EVENT_COLUMNS = "EVENT_COLUMNS"
    EVENT_LABELS = "EVENT_LABELS"
    KNOWN_ROWS = "KNOWN_ROWS"


@dataclass(frozen=True, slots=True)
class ReleaseObject:
    """A public object in the target schema; its `mark`, if not empty, recognizes it."""

    name: str
    kind: ObjectKind
    row_count: int
    mark: str = ""


OBJECTS = Table("release_objects", ReleaseObject, "release")

LATEST = (
    "SELECT max(number) FROM tableveil.releases WHERE number IN (SELECT release FROM tableveil.release_objects) "
    f"AND {PUBLIC} GROUP BY target_schema, lower(target_name)"
)
"""The numbers of the latest public release of each target. One whose entry a restore took over has no objects here."""


class Targeted(Protocol):
    """A release into a target."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def target_schema(self) -> str:
        """The schema of the target."""

    @property
    def target_name(self) -> str:
        """The name of the target."""


def latest_among(ledger: Ledger, releases: Sequence[Targeted]) -> set[int]:
    """The numbers of those among the releases that are the latest public ones of their targets, and maybe of others.

    Only these and later ones of the same targets are read, and no others of the ledger.
    """
    rows = ledger.rows(
        "WITH later AS MATERIALIZED (SELECT number, target_schema, lower(target_name) AS name FROM tableveil.releases "
        "WHERE number >= ? AND (target_schema, lower(target_name)) IN "
        f"(SELECT unnest(?::VARCHAR[]), lower(unnest(?::VARCHAR[]))) AND {PUBLIC}) SELECT max(number) FROM later "
        "WHERE number IN (SELECT release FROM tableveil.release_objects) GROUP BY target_schema, name",
        [
            min(release.number for release in releases),
            [release.target_schema for release in releases],
            [release.target_name for release in releases],
        ],
    )
    return {number for (number,) in rows}


@dataclass(frozen=True, slots=True)
class PublicRelease:
    """A release whose objects are public, or were until it was `withdrawn_at` a time; and its target."""

    number: int
    schema: str
    name: str
    withdrawn_at: datetime | None = None


def public_releases(ledger: Ledger) -> list[PublicRelease]:
    """The latest releases of targets that the ledger shows, by their numbers; those that are withdrawn have a time.

    The objects of the others stand in the database.
    """
    seen, parameters = seen_releases(ledger.visibility)
    rows = ledger.rows(
        "SELECT number, target_schema, target_name, withdrawn_at FROM tableveil.releases "
        "LEFT JOIN tableveil.withdrawals ON release = number "
        f"WHERE number IN ({LATEST}) AND warehouse = '' AND {seen} ORDER BY number",
        parameters,
    )
    return [PublicRelease(*row) for row in rows]


def replace(ledger: Ledger, release: int, added: ReleaseObject) -> None:
    """Adds a public object to the release, in place of the one of its kind; call it in a transaction."""
    ledger.execute("DELETE FROM tableveil.release_objects WHERE release = ? AND kind = ?", [release, added.kind.value])
    OBJECTS.insert(ledger, [added], release)


def released_rows(ledger: Ledger, job: int) -> int | None:
    """How many rows the release of a job has, 0 if it made none; None if the job has not ended."""
    query = (
        "SELECT coalesce((SELECT sum(row_count) FROM tableveil.release_objects AS o JOIN tableveil.releases AS r "
        "ON o.release = r.number WHERE r.job = $1 AND o.kind = $2), 0)::BIGINT "
        "FROM tableveil.job_outcomes WHERE job = $1"
    )
    return next((rows for (rows,) in ledger.rows(query, [job, ObjectKind.ROWS.value])), None)


def of_target(ledger: Ledger, schema: str, name: str) -> dict[str, int]:
    """The objects that the latest release of that target wrote, with their numbers of rows; none if it is withdrawn."""
    rows = ledger.rows(
        "SELECT name, row_count FROM tableveil.release_objects ANTI JOIN tableveil.withdrawals USING (release) "
        f"WHERE release IN ({LATEST} HAVING target_schema = ? AND lower(target_name) = lower(?))",
        [schema, name],
    )
    return dict(rows)
