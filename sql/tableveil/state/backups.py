"""The store of backups: the files that the server made of this database, so that it may tell and remove old ones."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Ledger
from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A backup that was finished: its file in the directory for backups, its time, and its bytes."""

    file: str
    made_at: datetime
    size: int


BACKUPS = Table("backups", StoredBackup, names={"size": "size_bytes"})


def insert(ledger: Ledger, backup: StoredBackup) -> None:
    """Notes a finished backup; an earlier one of that name was removed by somebody."""
    remove(ledger, [backup.file])
    BACKUPS.insert(ledger, [backup])


def remove(ledger: Ledger, files: Collection[str]) -> None:
    """Forgets the backups in these files."""
    ledger.execute("DELETE FROM tableveil.backups WHERE list_contains(?::VARCHAR[], file)", [list(files)])


def latest_first(ledger: Ledger) -> list[StoredBackup]:
    """All backups that are noted, the latest first; their files may be gone."""
    rows = ledger.rows("SELECT file, made_at, size_bytes FROM tableveil.backups ORDER BY made_at DESC, file")
    return [StoredBackup(*row) for row in rows]
