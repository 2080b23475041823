"""Newer ledgers of the same database: where they are, and how a restored file takes from one what it forgot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from tableveil.backend import Database, Session, Settings, catalog, identifier, read_only, render, text
from tableveil.errors import InternalError, InvalidError, TableveilError, shortened
from tableveil.state import jobs, ledger_gaps
from tableveil.state.migrate import SCHEMA, fingerprint_key, migrations
from tableveil.state.suspension import suspend

PARTS = (
    "guarantees",
    "publications",
    "release_attributes",
    "release_compared",
    "release_costs",
    "release_erased_persons",
    "release_explanations",
    "release_matches",
    "release_persons",
    "release_rejections",
    "release_risk_histograms",
    "release_risks",
    "release_runners_up",
    "release_sample_values",
    "release_samples",
    "release_sources",
    "release_suppressions",
    "release_together",
    "row_checksums",
    "sensitive_distributions",
    "trials",
    "withdrawals",
    "decisions",
)
"""The tables with the evidence of a release, by their column `release`; its objects are not here and stay away."""

_VERSIONS = {"table_privacy": "table_schema, table_name, version", "schema_rules": "schema_name, version"}
"""The tables of statements whose newest version counts, with their keys."""

WITHDRAWN = "Taken over from a newer ledger by a restore: what it released is not in this database."

_MOST_LOOKED_AT = 20
_NEWER = "newer_ledger"


def last_known(session: Session) -> int:
    """The largest number of a release with an entry; 0 if there is none."""
    number: int = session.value("SELECT coalesce(max(number), 0) FROM tableveil.releases")
    return number


def newer_files(backup: Path, session: Session) -> Iterator[tuple[Path, int]]:
    """Files beside a backup that are of the same database and know later releases, each with its last one."""
    key, last = fingerprint_key(session.ledger), last_known(session)
    others = [path for path in backup.resolve().parent.glob("*.duckdb") if path.is_file() and path != backup.resolve()]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[:_MOST_LOOKED_AT]:
        # A file that cannot be read, or is in use, or is nobody's, is none that could be restored.
        with suppress(TableveilError), read_only(path) as other:
            if catalog.has_table(other, SCHEMA, "releases") and fingerprint_key(other.ledger) == key:
                last_release = last_known(other)
                if last_release > last:
                    yield path, last_release


def take_over(database: Path, newer: Path) -> None:
    """Copies the entries of releases that a database forgot from a newer file of it, as withdrawn ones.

    The ledger then knows what that of the newer file knows, and forgot what that forgot.

    Raises:
        InvalidError: the newer file is none of this database or not of this version, or lacks releases itself.
        BusyError: a process has the newer file open.
    """
    with read_only(newer):
        # Attached, an open file or one that is no database would fail in other words.
        pass
    with _written(database, newer.resolve().parent) as session:
        session.execute(f"ATTACH {render(text(str(newer.resolve())))} AS {_NEWER} (READ_ONLY)")
        with session.transaction():
            _check(session, newer)
            _copy_entries(session)
            suspend(session.ledger)
        session.execute(f"DETACH {_NEWER}")


def note_copy(database: Path, made_at: datetime | None) -> None:
    """Suspends the rights in a copy; one that was made by other means learns that it is one, and since when."""
    with _written(database) as session, session.transaction():
        suspend(session.ledger)
        if made_at is not None:
            ledger_gaps.insert_unknown(session.ledger, render(identifier(session.catalog)), made_at)


@contextmanager
def _written(database: Path, *directories: Path) -> Iterator[Session]:
    opened = Database(Settings(database, directories=directories))
    try:
        with opened.session() as session:
            yield session
    finally:
        opened.close()
    if database.with_name(f"{database.name}.wal").exists():
        raise InternalError(
            "RESTORE_UNFINISHED", "the database could not fold its log into the new file, which was removed"
        )


def _check(session: Session, newer: Path) -> None:
    applied = "SELECT list(name ORDER BY number) FROM {}tableveil.migrations"
    names = [migration.name for migration in migrations()]
    if any(session.value(applied.format(place)) != names for place in ("", f"{_NEWER}.")):
        hint = "Open both with a server of this version first, or restore without --ledger."
        raise _unfit(newer, "of another version of Tableveil than this one, as the backup may be", hint)
    hint = "Name a later backup of the same database, or the database file itself."
    if session.value(f"SELECT count(*) FROM (FROM {_NEWER}.tableveil.secrets EXCEPT FROM tableveil.secrets)"):
        raise _unfit(newer, "a file of another database than the backup", hint)
    if session.value(
        "SELECT count(*) FROM tableveil.releases "
        f"ANTI JOIN {_NEWER}.tableveil.releases USING (number, job, created_at, source_fingerprint)"
    ):
        raise _unfit(newer, "a file that lacks releases which the backup has", hint)


def _copy_entries(session: Session) -> None:
    missing = f"SELECT number FROM {_NEWER}.tableveil.releases ANTI JOIN tableveil.releases USING (number)"
    numbers = [number for (number,) in session.rows(missing)]
    for name, of in [("releases", "number"), *((part, "release") for part in PARTS)]:
        session.execute(
            f"INSERT INTO tableveil.{name} BY NAME "
            f"SELECT * FROM {_NEWER}.tableveil.{name} WHERE list_contains(?::BIGINT[], {of})",
            [numbers],
        )
    # A release that nobody compared yet is compared by the rights of its job; some of its texts are not for all.
    for name in ("job_reads", "job_rights", "joint_texts"):
        session.execute(
            f"INSERT INTO tableveil.{name} BY NAME SELECT * FROM {_NEWER}.tableveil.{name} "
            "WHERE job IN (SELECT job FROM tableveil.releases WHERE list_contains(?::BIGINT[], number))",
            [numbers],
        )
    # Else the privacy of a table, or the rule of a schema, would be what was replaced since.
    for name, key in _VERSIONS.items():
        session.execute(
            f"INSERT INTO tableveil.{name} BY NAME SELECT * FROM {_NEWER}.tableveil.{name} "
            f"ANTI JOIN tableveil.{name} USING ({key})"
        )
    # Withdrawals since then of releases that the backup has are not taken over: their objects are in the backup.
    session.execute(
        "INSERT INTO tableveil.withdrawals BY NAME "
        "SELECT number AS release, ? AS withdrawn_at, ? AS reason, []::VARCHAR[] AS kept_objects "
        "FROM tableveil.releases ANTI JOIN tableveil.withdrawals ON release = number "
        "WHERE list_contains(?::BIGINT[], number)",
        [jobs.now(), WITHDRAWN, numbers],
    )
    session.execute("DELETE FROM tableveil.ledger_gaps")
    session.execute(f"INSERT INTO tableveil.ledger_gaps FROM {_NEWER}.tableveil.ledger_gaps")
    # Neither the numbers of these releases nor those of their jobs are given again.
    least = catalog.next_values(session, _NEWER)
    for (schema, name), value in catalog.next_values(session, session.catalog).items():
        missing_values = least.get((schema, name), value) - value
        if schema == SCHEMA and missing_values > 0:
            session.value(f"SELECT max(nextval('{schema}.{name}')) FROM range({missing_values})")


def _unfit(newer: Path, found: str, hint: str) -> TableveilError:
    expected = "a newer file of the same database"
    return InvalidError.of("LEDGER_UNFIT", "ledger", f"{shortened(str(newer))}, {found}", expected, hint)
