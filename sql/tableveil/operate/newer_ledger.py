"""Newer ledgers of the same database: where they are, and how a restored file takes from one what it forgot."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from tableveil.backend import Database, Session, Settings, catalog, identifier, read_only, render, text
from tableveil.errors import ConflictError, InternalError, InvalidError, TableveilError, shortened
from tableveil.lifecycle.withdraw import drop_written
from tableveil.operate.finding import Finding, Level
from tableveil.operate.taken_over import GROWING, OF_JOBS, OF_RELEASES, PEOPLE, WHOLE
from tableveil.state import jobs, ledger_gaps, persons, sketches
from tableveil.state.ledger_gaps import suspend
from tableveil.state.loads import RemovalKind
from tableveil.state.migrate import SCHEMA, fingerprint_key, migrations
from tableveil.state.releases import RELEASES, Release

WITHDRAWN = "Taken over from a newer ledger by a restore: what it released is not in this database."

_MOST_LOOKED_AT = 20
_NEWER = "newer_ledger"
_SUBJECT = "newer ledger"


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


def take_over(database: Path, newer: Path) -> list[Finding]:
    """Copies what a database forgot from a newer file of it, as `taken_over` lists it, and tells what is to be done.

    The ledger then knows what that of the newer file knows, and forgot what that forgot. Releases that the database
    lacks are withdrawn ones; those that were withdrawn or rejected since are so here, without their objects.

    Raises:
        InvalidError: the newer file is none of this database or not of this version, or lacks entries itself.
        BusyError: a process has the newer file open.
    """
    with read_only(newer):
        # Attached, an open file or one that is no database would fail in other words.
        pass
    with _written(database, newer.resolve().parent) as session:
        session.execute(f"ATTACH {render(text(str(newer.resolve())))} AS {_NEWER} (READ_ONLY)")
        with session.transaction():
            _check(session, newer)
            findings = [*_undone(session), *_copied(session)]
        session.execute(f"DETACH {_NEWER}")
    return findings


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
    applied = "SELECT max(number) FROM {}tableveil.migrations"
    last = migrations()[-1].number
    if any(session.value(applied.format(place)) != last for place in ("", f"{_NEWER}.")):
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
    for name in (*GROWING, "privacy_budgets"):
        # The budgets of a backup are suspended.
        rows = f"SELECT {'* EXCLUDE (suspended)' if name == 'privacy_budgets' else '*'} FROM"
        if session.value(f"SELECT count(*) FROM ({rows} tableveil.{name} EXCEPT ALL {rows} {_NEWER}.tableveil.{name})"):
            raise _unfit(newer, f"a file that lacks {name.replace('_', ' ')} which the backup has", hint)


def _undone(session: Session) -> Iterator[Finding]:
    """Decisions since the backup that it undoes, and that have to be made again."""
    removed = session.rows(
        "SELECT kind, table_schema || '.' || table_name, happened_at, row_count "
        f"FROM {_NEWER}.tableveil.removals ANTI JOIN tableveil.removals USING (number) ORDER BY number"
    )
    for kind, name, at, rows in removed:
        actual = f"{rows:,} rows of {shortened(name)}, which were removed at {at:%Y-%m-%d %H:%M} UTC, are here again"
        again = "Erase the same people" if kind == RemovalKind.ERASE else "Remove them"
        yield Finding(Level.WARNING, _SUBJECT, actual, f"{again} again before anybody reads the table.")
    approved = _numbers(
        session,
        f"SELECT release FROM {_NEWER}.tableveil.decisions "
        f"ANTI JOIN {_NEWER}.tableveil.withdrawals USING (release) ANTI JOIN tableveil.decisions USING (release) "
        "WHERE approved AND release IN (SELECT number FROM tableveil.releases)",
    )
    for number in approved:
        actual = f"releases/{number} was approved after the backup, and waits for approval again"
        yield Finding(Level.WARNING, _SUBJECT, actual, "Approve it again, once the server runs.")


def _copied(session: Session) -> Iterator[Finding]:
    """Copies by `taken_over`, and tells how much."""
    missing = _numbers(
        session, f"SELECT number FROM {_NEWER}.tableveil.releases ANTI JOIN tableveil.releases USING (number)"
    )
    ended = _ended(session)
    charges = "SELECT count(*) FROM {}tableveil.privacy_charges"
    charged = session.value(charges.format(f"{_NEWER}.")) - session.value(charges.format(""))
    kept = {release.number: _dropped(session, release) for release in RELEASES.among(session.ledger, ended)}
    erased = session.value(
        f"SELECT count(*) FROM {_NEWER}.tableveil.removals ANTI JOIN tableveil.removals USING (number) WHERE kind = ?",
        [RemovalKind.ERASE.value],
    )
    _take(session, "releases", "number", missing)
    for name in OF_RELEASES:
        if name in PEOPLE and erased:
            _take_all(session, name)
        else:
            session.execute(f"DELETE FROM tableveil.{name} WHERE list_contains(?::BIGINT[], release)", [ended])
            _take(session, name, "release", [*missing, *ended])
    jobs_of = "SELECT job FROM tableveil.releases WHERE list_contains(?::BIGINT[], number)"
    for name in OF_JOBS:
        _take(session, name, "job", _numbers(session, jobs_of, missing))
    _withdraw(session, missing, kept)
    for name in WHOLE:
        _take_all(session, name)
    suspend(session.ledger)
    # The newer file knows all charges to its budgets, unless they are suspended there.
    _take_all(session, "privacy_budgets")
    _skip_numbers(session)
    taken = {"releases": len(missing), "withdrawals or rejections": len(ended), "charges to privacy budgets": charged}
    if listed := ", ".join(f"{count:,} {what}" for what, count in taken.items() if count):
        yield Finding(Level.OK, _SUBJECT, f"taken over: {listed}")


def _ended(session: Session) -> list[int]:
    """The releases of the backup whose objects here are none any more: withdrawn or rejected since, or promoted."""
    ended = (
        "SELECT release FROM {0}tableveil.withdrawals "
        "UNION SELECT release FROM {0}tableveil.decisions WHERE NOT approved "
        # A promoted trial stood elsewhere than this one.
        "UNION SELECT release FROM {0}tableveil.trials WHERE promoted_at IS NOT NULL"
    )
    query = f"({ended.format(f'{_NEWER}.')}) EXCEPT ({ended.format('')})"
    return _numbers(session, f"SELECT number FROM tableveil.releases WHERE number IN ({query})")


def _dropped(session: Session, release: Release) -> list[str]:
    """Drops the objects of a release, and returns the names of those that are kept."""
    if release.warehouse:
        # The newer ledger says what became of them there.
        return []
    try:
        return drop_written(session, release)
    except ConflictError:
        # Views of the owner's read them.
        return [item.name for item in release.objects]


def _withdraw(session: Session, missing: Collection[int], kept: Mapping[int, Sequence[str]]) -> None:
    """Takes withdrawals over, and notes one of each release whose objects are not here without one."""
    _take(session, "withdrawals", "release", missing)
    for number, names in kept.items():
        session.execute(
            "INSERT INTO tableveil.withdrawals BY NAME "
            f"SELECT * REPLACE (?::VARCHAR[] AS kept_objects) FROM {_NEWER}.tableveil.withdrawals WHERE release = ?",
            [list(names), number],
        )
    session.execute(
        "INSERT INTO tableveil.withdrawals BY NAME "
        "SELECT number AS release, ? AS withdrawn_at, ? AS reason, []::VARCHAR[] AS kept_objects "
        "FROM tableveil.releases ANTI JOIN tableveil.withdrawals ON release = number "
        "WHERE list_contains(?::BIGINT[], number) "
        "AND number NOT IN (SELECT release FROM tableveil.decisions WHERE NOT approved)",
        [jobs.now(), WITHDRAWN, [*missing, *kept]],
    )
    for number in _numbers(session, "SELECT release FROM tableveil.trials WHERE promoted_at IS NULL"):
        if number in missing:
            # Nobody but its maker saw anything of it.
            sketches.forget(session.ledger, number)
            persons.forget(session.ledger, number)


def _take(session: Session, name: str, column: str, numbers: Collection[int]) -> None:
    session.execute(
        f"INSERT INTO tableveil.{name} BY NAME "
        f"SELECT * FROM {_NEWER}.tableveil.{name} WHERE list_contains(?::BIGINT[], {column})",
        [list(numbers)],
    )


def _take_all(session: Session, name: str) -> None:
    session.execute(f"DELETE FROM tableveil.{name}")
    session.execute(f"INSERT INTO tableveil.{name} BY NAME SELECT * FROM {_NEWER}.tableveil.{name}")


def _skip_numbers(session: Session) -> None:
    """Neither the numbers of releases, nor those of jobs or anything else, are given again."""
    least = catalog.next_values(session, _NEWER)
    for (schema, name), value in catalog.next_values(session, session.catalog).items():
        missing_values = least.get((schema, name), value) - value
        if schema == SCHEMA and missing_values > 0:
            session.value(f"SELECT max(nextval('{schema}.{name}')) FROM range({missing_values})")


def _numbers(session: Session, query: str, *parameters: object) -> list[int]:
    return [number for (number,) in session.rows(f"{query} ORDER BY 1", list(parameters))]


def _unfit(newer: Path, found: str, hint: str) -> TableveilError:
    expected = "a newer file of the same database"
    return InvalidError.of("LEDGER_UNFIT", "ledger", f"{shortened(str(newer))}, {found}", expected, hint)
