"""The withdrawals in the ledger: when a release was taken back, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Session
from tableveil.state import jobs


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Of one release; `kept_objects` are those that were not dropped, because they are not what was written."""

    at: datetime
    reason: str
    kept_objects: tuple[str, ...]


def insert(session: Session, release: int, reason: str, kept_objects: Sequence[str]) -> None:
    """Notes that a release is withdrawn; call it in the transaction that drops its objects."""
    session.execute(
        "INSERT INTO tableveil.withdrawals VALUES (?, ?, ?, ?)",
        [release, jobs.now(), reason, list(kept_objects)],
    )


def of_releases(session: Session, releases: Sequence[int]) -> dict[int, Withdrawal]:
    """Those of the releases that were withdrawn, by number."""
    rows = session.rows(
        "SELECT release, withdrawn_at, reason, kept_objects FROM tableveil.withdrawals "
        "WHERE list_contains(?::BIGINT[], release)",
        [list(releases)],
    )
    return {release: Withdrawal(at, reason, tuple(kept)) for release, at, reason, kept in rows}
