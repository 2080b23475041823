"""Releases that do not stand yet: trials wait for their own steward; swaps in a warehouse, for their names."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from tableveil.backend import Ledger
from tableveil.state.mapper import Table

LASTS = timedelta(days=7)
"""How long a trial is kept: long enough to ask somebody, short enough that no copy of people's rows is forgotten."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial of the principal `maker`, who can promote it until it expires; once `promoted_at`, it is a release.

    The release also depends on the rows of a population, which had that fingerprint; it is empty without one.
    """

    maker: str
    expires_at: datetime
    population_fingerprint: str
    promoted_at: datetime | None = None


TRIALS = Table("trials", Trial, "release")


def note_promotion(ledger: Ledger, release: int, at: datetime) -> None:
    """From now on a trial is a release like others; call it in a transaction."""
    ledger.execute("UPDATE tableveil.trials SET promoted_at = ? WHERE release = ?", [at, release])


def expired(ledger: Ledger, at: datetime) -> list[int]:
    """The trials that expired before then, and whose objects are still there."""
    query = (
        "SELECT release FROM tableveil.trials ANTI JOIN tableveil.withdrawals USING (release) "
        "WHERE promoted_at IS NULL AND expires_at <= ? ORDER BY release"
    )
    return [number for (number,) in ledger.rows(query, [at])]


def among(ledger: Ledger, releases: Collection[int]) -> set[int]:
    """The releases among these that are trials still, and not taken back."""
    query = (
        "SELECT release FROM tableveil.trials ANTI JOIN tableveil.withdrawals USING (release) "
        "WHERE promoted_at IS NULL AND list_contains(?::BIGINT[], release)"
    )
    return {number for (number,) in ledger.rows(query, [list(releases)])}


@dataclass(frozen=True, slots=True)
class Swap:
    """The intent to rename what is `staged` to the objects of a release, in place of the `replaced` ones."""

    warehouse: str
    staged: str
    replaced: tuple[str, ...]


SWAPS = Table("release_swaps", Swap, "release")


def open_swaps(ledger: Ledger, warehouse: str) -> list[int]:
    """The releases of a warehouse that are to be completed."""
    query = "SELECT release FROM tableveil.release_swaps WHERE warehouse = ? ORDER BY release"
    return [release for (release,) in ledger.rows(query, [warehouse])]
