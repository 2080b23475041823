"""Where the ledger went back in time, as an older file was restored; until an admin confirms it, nothing is revived."""

from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Ledger
from tableveil.state import jobs


def suspend(ledger: Ledger, database: str = "") -> None:
    """Marks tokens, grants, releases and privacy budgets.

    `database` is the name of an attached one, by default the ledger's own.
    """
    place = f"{database}.tableveil" if database else "tableveil"
    ledger.execute(f"UPDATE {place}.tokens SET suspended = true")
    ledger.execute(f"UPDATE {place}.grants SET suspended = true")
    ledger.execute(f"UPDATE {place}.privacy_budgets SET suspended = true")
    ledger.execute(f"INSERT OR IGNORE INTO {place}.suspended_releases SELECT number FROM {place}.releases")


@dataclass(frozen=True, slots=True)
class Gap:
    """Releases with numbers above `after` that the ledger forgot; `until` is None where nobody knows how many."""

    after: int
    until: int | None
    noticed_at: datetime

    def __str__(self) -> str:
        if self.until is None:
            made = f"{self.noticed_at:%Y-%m-%d %H:%M} UTC"
            return f"what was released after {made}, when this copy was made, is not in it"
        first = f"releases/{self.after + 1}"
        if self.until == self.after + 1:
            return f"{first} was made and is not in it"
        return f"{first} to releases/{self.until} were made and are not in it"


LAST_RELEASE = (
    "SELECT max(number) FROM (SELECT max(number) AS number FROM tableveil.releases "
    "UNION ALL SELECT max(until_release) FROM tableveil.ledger_gaps UNION ALL SELECT 0)"
)
"""A query for the largest number that the ledger knows a release by, also one that it forgot; 0 if there is none."""


def last_release(ledger: Ledger) -> int:
    """See `LAST_RELEASE`."""
    number: int = ledger.value(LAST_RELEASE)
    return number


def insert(ledger: Ledger, until: int) -> None:
    """Notes that releases up to a number were made and are not in the ledger."""
    ledger.execute("INSERT INTO tableveil.ledger_gaps VALUES (?, ?, ?)", [last_release(ledger), until, jobs.now()])


def insert_unknown(ledger: Ledger, copy: str, made_at: datetime) -> None:
    """Notes in a copy of a database, by its name, that it does not know what was released after it was made.

    Tokens, grants and releases in it are suspended.
    """
    suspend(ledger, copy)
    ledger.execute(
        f"INSERT INTO {copy}.tableveil.ledger_gaps "
        f"SELECT coalesce(max(number), 0), NULL, ? FROM {copy}.tableveil.releases",
        [made_at],
    )


def latest(ledger: Ledger) -> Gap | None:
    """The gap behind the largest number; one whose end is known says more than one whose end is not."""
    rows = ledger.rows(
        "SELECT after_release, until_release, noticed_at FROM tableveil.ledger_gaps "
        "ORDER BY after_release DESC, until_release DESC NULLS LAST LIMIT 1"
    )
    return Gap(*rows[0]) if rows else None
