"""Brings the state's schema to this version by numbered scripts, each in a transaction of its own."""

import re
import secrets
from dataclasses import dataclass
from importlib import resources
from weakref import WeakKeyDictionary

from tableveil.backend import Ledger
from tableveil.errors import InvalidError

SCHEMA = "tableveil"

SCRIPTS = resources.files("tableveil.state").joinpath("migrations")

BRINGS_TO_FIRST = "b6da54e3"
"""The last build that had the steps to the first script's version."""

_keys: WeakKeyDictionary[Ledger, bytes] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Migration:
    """A numbered script."""

    number: int
    name: str
    text: str


def migrations() -> list[Migration]:
    """All scripts, in order; numbers count without gaps from that of the first, which makes all of the state."""
    scripts = []
    for file in SCRIPTS.iterdir():
        if match := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name):
            scripts.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return sorted(scripts, key=lambda migration: migration.number)


def migrate(ledger: Ledger) -> None:
    """Creates the state or brings it up to date.

    Raises:
        InvalidError: the database was written by a newer Tableveil, or by one before the first script, or its name
            would be taken for the state's.
    """
    if ledger.catalog.casefold() == SCHEMA:
        raise InvalidError.of(
            "DATABASE_NAME",
            "database",
            f"a file that the database calls '{SCHEMA}', as it calls the schema of Tableveil's own state",
            "a file of another name",
            "Rename the file.",
        )
    ledger.execute("CREATE SCHEMA IF NOT EXISTS tableveil")
    ledger.execute(
        "CREATE TABLE IF NOT EXISTS tableveil.migrations "
        "(number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)"
    )
    applied: int = ledger.value("SELECT coalesce(max(number), 0) FROM tableveil.migrations")
    migrations_here = migrations()
    first, last = migrations_here[0].number, migrations_here[-1].number
    if applied > last:
        raise InvalidError.of(
            "DATABASE_TOO_NEW",
            "database",
            f"state version {applied}",
            f"at most version {last}",
            "It was written by a newer Tableveil: upgrade this one.",
        )
    if 0 < applied < first:
        raise InvalidError.of(
            "DATABASE_TOO_OLD",
            "database",
            f"state version {applied}, of a build before 0.1.0",
            f"version {first} or later",
            f"Start the build of commit {BRINGS_TO_FIRST} with it once, then this one.",
        )
    for migration in migrations_here:
        if migration.number <= applied:
            continue
        with ledger.transaction():
            ledger.execute(migration.text)
            ledger.execute(
                "INSERT INTO tableveil.migrations VALUES (?, ?, now()::TIMESTAMP)", [migration.number, migration.name]
            )
    if not ledger.rows("SELECT 1 FROM tableveil.secrets WHERE name = 'fingerprint'"):
        ledger.execute("INSERT INTO tableveil.secrets VALUES ('fingerprint', ?)", [secrets.token_bytes(32)])


def fingerprint_key(ledger: Ledger) -> bytes:
    """The database's secret key for fingerprints of sources, which never changes."""
    if ledger not in _keys:
        _keys[ledger] = bytes(ledger.value("SELECT value FROM tableveil.secrets WHERE name = 'fingerprint'"))
    return _keys[ledger]
