"""Where releases are published: what was asked for, and what became of it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tableveil.backend import Ledger, Visibility
from tableveil.state.mapper import Table
from tableveil.state.seen import UNHIDDEN
from tableveil.state.seen import releases as seen_releases


class PublicationState(StrEnum):
    """WAITING: for approval, its turn, or the next attempt. FAILED: no attempt can help until it is asked for again."""

    WAITING = "WAITING"
    PUBLISHED = "PUBLISHED"
    FAILED = "FAILED"
    REMOVED = "REMOVED"


@dataclass(frozen=True, slots=True)
class Publication:
    """A release at one target. It is removed from there if it is not `wanted` any more.

    `attempts` counts those since the last success; `code` and `problem` tell why the last one failed. A release that
    its readers may have seen has a `published_at`. The `repeat_reason` says why the same people were published there
    once more; `other_people` are the releases of which the asker says that they are of others.
    """

    target: str
    requested_by: str
    requested_at: datetime
    repeat_reason: str = ""
    wanted: bool = True
    state: PublicationState = PublicationState.WAITING
    attempts: int = 0
    code: str = ""
    problem: str = ""
    published_at: datetime | None = None
    other_people: tuple[int, ...] = ()


PUBLICATIONS = Table("publications", Publication, "release")


def at_target(ledger: Ledger, target: str) -> dict[int, Publication]:
    """The publications at a target that are not removed, by release."""
    query = "SELECT release FROM tableveil.publications WHERE target = ? AND state <> ?"
    numbers = [number for (number,) in ledger.rows(query, [target, PublicationState.REMOVED.value])]
    return {number: publication for number in numbers if (publication := find(ledger, number, target)) is not None}


def find(ledger: Ledger, release: int, target: str) -> Publication | None:
    """The publication of a release at a target."""
    return next((one for one in PUBLICATIONS.of(ledger, [release])[release] if one.target == target), None)


def store(ledger: Ledger, release: int, publication: Publication) -> None:
    """Writes a publication in place of an earlier state of it; call it in a transaction."""
    ledger.execute("DELETE FROM tableveil.publications WHERE release = ? AND target = ?", [release, publication.target])
    PUBLICATIONS.insert(ledger, [publication], release)


def known_at(ledger: Ledger, target: str, releases: Collection[int]) -> list[int]:
    """The releases among these that the readers of a target have seen, or are about to see."""
    rows = ledger.rows(
        "SELECT release FROM tableveil.publications WHERE target = ? AND list_contains(?::BIGINT[], release) "
        "AND (published_at IS NOT NULL OR (wanted AND state = ?)) ORDER BY release",
        [target, list(releases), PublicationState.WAITING.value],
    )
    return [number for (number,) in rows]


@dataclass(frozen=True, slots=True)
class TargetUse:
    """How many releases are at a target, wait for it, or failed to get there."""

    target: str
    published: int = 0
    waiting: int = 0
    failed: int = 0


def used(ledger: Ledger) -> list[TargetUse]:
    """The targets of the releases that the ledger shows, by name; removed releases count nowhere."""
    condition, parameters = UNHIDDEN
    if not sees_targets(ledger.visibility):
        seen, parameters = seen_releases(ledger.visibility)
        condition = f"release IN (SELECT number FROM tableveil.releases WHERE {seen})"
    counts = ", ".join(
        f"count(*) FILTER (state = '{state.value}')"
        for state in (PublicationState.PUBLISHED, PublicationState.WAITING, PublicationState.FAILED)
    )
    rows = ledger.rows(
        f"SELECT target, {counts} FROM tableveil.publications WHERE {condition} GROUP BY target ORDER BY target",
        parameters,
    )
    return [TargetUse(*row) for row in rows]


def sees_targets(visibility: Visibility) -> bool:
    """Whether targets are told that no visible release is for: their names may tell recipients."""
    return visibility.every_match or visibility.owned.everything


def failing(ledger: Ledger) -> list[tuple[int, str, str]]:
    """The releases, targets and codes of the publications whose last attempt failed."""
    return ledger.rows(
        "SELECT release, target, code FROM tableveil.publications WHERE code <> '' ORDER BY release, target"
    )
