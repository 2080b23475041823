"""The examination of a database: its file, and the state that Tableveil keeps in it. Nothing is written."""

import os
import platform
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import timedelta
from importlib import metadata
from pathlib import Path

import duckdb

from tableveil.backend import Session, catalog
from tableveil.errors import shortened
from tableveil.operate.disk import LEAST_FREE_BYTES, free_bytes, in_bytes
from tableveil.operate.finding import Finding, Level
from tableveil.operate.objects import examine_releases, orphans
from tableveil.state import backups, jobs, ledger_gaps, privacy_budgets, publications
from tableveil.state.jobs import unfinished
from tableveil.state.migrate import BRINGS_TO_FIRST, SCHEMA, migrations

OLD_BACKUP = timedelta(days=2)
"""A nightly backup that failed once is not older."""

MOST_NAMED = 5
"""The most things that a finding names."""


def examine_file(path: Path, served: bool, replaced: bool = False) -> Iterator[Finding]:
    """Examines the file, the files beside it, and the room for it.

    `served`: a server has it open; `replaced`: the server has an earlier file open.
    """
    if replaced:
        advice = "Make a backup, which has all that the server holds; then stop it, and put the backup in the place."
        actual = f"{shortened(str(path))} is not the file that the server has open, which writes nothing more"
        yield Finding(Level.PROBLEM, "file", actual, advice)
        return
    if not path.is_file():
        yield Finding(Level.PROBLEM, "file", f"{shortened(str(path))} is not there", "Check the path.")
        return
    yield _access(path)
    yield from _permissions(path)
    yield _log(path)
    yield _spill(path.with_name(f".{path.name}.spill"), served)
    yield _room(path)


def examine_state(session: Session, at_work: Callable[[], Collection[int]] = tuple) -> Iterator[Finding]:
    """Examines versions, migrations, jobs and releases of an open database; `at_work` names the running jobs."""
    yield _versions(session)
    migrated = _migrations(session)
    yield migrated
    if migrated.level is not Level.OK:
        # Tables of other versions may look different.
        return
    yield _key(session)
    yield _name(session)
    yield _jobs(session, at_work)
    yield _ledger(session)
    yield from _suspended(session)
    yield from examine_releases(session)
    yield _publications(session)
    yield _backup(session)
    yield _orphans(session)


def _suspended(session: Session) -> Iterator[Finding]:
    number = session.value("SELECT count(*) FROM tableveil.tokens WHERE suspended AND revoked_at IS NULL")
    if number:
        advice = (
            "Stop the server, make a token with `tableveil tokens create admin --database FILE`, start it, look "
            "through `tableveil tokens list`, and revoke or confirm each token."
        )
        yield Finding(Level.WARNING, "tokens", f"{number} suspended, since this is a restored database", advice)
    outdated = [budget.people for budget in privacy_budgets.every(session.ledger) if budget.outdated]
    if outdated:
        advice = "Look up what was released since, and set each again by `tableveil privacy-budgets set`."
        actual = f"{len(outdated)} may lack charges since the ledger went back in time: {_some(outdated)}"
        yield Finding(Level.WARNING, "privacy budgets", actual, advice)


def _access(path: Path) -> Finding:
    size = in_bytes(path.stat().st_size)
    if not os.access(path, os.R_OK | os.W_OK):
        advice = "Let it belong to the user that runs the server."
        return Finding(Level.PROBLEM, "file", f"{shortened(str(path))} ({size}) may not be read or written", advice)
    return Finding(Level.OK, "file", f"{shortened(str(path))} ({size})")


def _permissions(path: Path) -> Iterator[Finding]:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        advice = f"It holds raw values: chmod 600 {path.name}"
        yield Finding(Level.WARNING, "permissions", f"mode {mode:03o}: others than its owner may open the file", advice)


def _log(path: Path) -> Finding:
    log = path.with_name(f"{path.name}.wal")
    size = log.stat().st_size if log.exists() else 0
    return Finding(
        Level.OK, "log", f"{in_bytes(size)} not yet folded into the file" if size else "folded into the file"
    )


def _spill(directory: Path, served: bool) -> Finding:
    subject = "spill directory"
    if not directory.exists():
        return (
            Finding(Level.PROBLEM, subject, "gone, although a server runs", "Restart the server.")
            if served
            else (Finding(Level.OK, subject, "nothing left over"))
        )
    mode = directory.stat().st_mode & 0o777
    if mode & 0o077:
        advice = f"It holds raw values: chmod 700 {directory.name}"
        return Finding(Level.PROBLEM, subject, f"mode {mode:03o}: others than its owner may look into it", advice)
    sizes = list(_sizes(directory))
    actual = f"{len(sizes)} files, {in_bytes(sum(sizes))}"
    if served or not sizes:
        return Finding(Level.OK, subject, actual)
    advice = f"Raw values that a killed server left; the next start removes them, or you do: {directory.name}"
    return Finding(Level.WARNING, subject, actual, advice)


def _sizes(directory: Path) -> Iterator[int]:
    for file in directory.iterdir():
        # Spilled files go with their statement, at any moment.
        with suppress(FileNotFoundError):
            yield file.stat().st_size


def _room(path: Path) -> Finding:
    free, size = free_bytes(path.parent), path.stat().st_size
    actual = f"{in_bytes(free)} free where the file is"
    if free < LEAST_FREE_BYTES:
        advice = f"No job is taken below {in_bytes(LEAST_FREE_BYTES)}: free space."
        return Finding(Level.PROBLEM, "disk", actual, advice)
    if free < size:
        return Finding(
            Level.WARNING, "disk", actual, "A release of a large table may need as much as the table: free space."
        )
    return Finding(Level.OK, "disk", actual)


def _versions(session: Session) -> Finding:
    storage = catalog.storage_version(session)
    try:
        own = metadata.version("tableveil")
    except metadata.PackageNotFoundError:
        own = "(not installed)"
    return Finding(
        Level.OK,
        "versions",
        f"Tableveil {own}, DuckDB {duckdb.__version__} (file of {storage or 'an unknown version'}), "
        f"Python {platform.python_version()}",
    )


def _migrations(session: Session) -> Finding:
    subject, numbered = "state", migrations()
    if not catalog.has_table(session, SCHEMA, "migrations"):
        return Finding(Level.WARNING, subject, "none: no server has had this file yet", "The first start makes it.")
    applied = session.ledger.value("SELECT coalesce(max(number), 0) FROM tableveil.migrations")
    first, last = numbered[0].number, numbered[-1].number
    if applied > last:
        advice = "It was written by a newer Tableveil: upgrade this one."
        return Finding(Level.PROBLEM, subject, f"version {applied}, newer than {last}", advice)
    if 0 < applied < first:
        advice = f"Start the build of commit {BRINGS_TO_FIRST} with it once, then this one."
        return Finding(Level.PROBLEM, subject, f"version {applied}, older than {first}", advice)
    if applied < last:
        advice = f"The next start brings it to version {last}; make a copy of the file before."
        return Finding(Level.WARNING, subject, f"version {applied} of {last}", advice)
    return Finding(Level.OK, subject, f"version {applied}, all migrations applied")


def _key(session: Session) -> Finding:
    if session.ledger.rows("SELECT 1 FROM tableveil.secrets WHERE name = 'fingerprint'"):
        return Finding(Level.OK, "key", "fingerprints of sources have their key")
    advice = "Restore a backup: with another key, earlier releases of the same records are not recognized."
    return Finding(Level.PROBLEM, "key", "the key of fingerprints is gone", advice)


def _name(session: Session) -> Finding:
    own = session.catalog
    others = [
        name
        for (name,) in session.ledger.rows(
            "SELECT DISTINCT source_catalog FROM tableveil.releases WHERE source_catalog <> ? ORDER BY 1", [own]
        )
    ]
    if not others:
        return Finding(Level.OK, "name", f"the database is called {shortened(own)}, as its releases know it")
    advice = "Views that name the database do not work, nor what compares old releases with their source: rename it."
    return Finding(
        Level.WARNING, "name", f"releases know the database as {_some(others)}, not as {shortened(own)}", advice
    )


def _jobs(session: Session, at_work: Callable[[], Collection[int]]) -> Finding:
    # Checked a second time: a job may have ended in between.
    stale = set(unfinished(session.ledger)) - set(at_work())
    stale &= set(unfinished(session.ledger))
    if not stale:
        return Finding(Level.OK, "jobs", "none is unfinished without a process that runs it")
    names = [f"jobs/{number}" for number in sorted(stale)]
    advice = "The next start of the server ends them as interrupted; submit them again then."
    return Finding(Level.WARNING, "jobs", f"{len(names)} unfinished, and no process runs them: {_some(names)}", advice)


def _ledger(session: Session) -> Finding:
    gap = ledger_gaps.latest(session.ledger)
    if gap is None:
        last = ledger_gaps.last_release(session.ledger)
        return Finding(Level.OK, "ledger", f"ends with releases/{last}" if last else "has no release yet")
    advice = (
        "The first release of each source needs a repeat_reason. Where there is a newer backup or the database file "
        "itself, restore this one again with --ledger, which takes the missing releases from there."
    )
    return Finding(Level.WARNING, "ledger", f"went back in time: {gap}", advice)


def _publications(session: Session) -> Finding:
    failing = [
        f"releases/{number} at {target} ({code})" for number, target, code in publications.failing(session.ledger)
    ]
    if not failing:
        return Finding(Level.OK, "publications", "no last attempt failed")
    advice = (
        "`tableveil show RELEASE` tells why. Ask once more with `tableveil publish` for those that are not tried again."
    )
    return Finding(
        Level.WARNING, "publications", f"the last attempt failed for {len(failing)}: {_some(failing)}", advice
    )


def _backup(session: Session) -> Finding:
    noted = backups.latest_first(session.ledger)
    if not noted:
        return Finding(Level.OK, "backup", "none was made of this database", "Make one with `tableveil backup NAME`.")
    age = jobs.now() - noted[0].made_at
    made = f"{shortened(noted[0].file)} of {noted[0].made_at:%Y-%m-%d %H:%M} UTC"
    if age > OLD_BACKUP:
        advice = "Look why the timer makes none any more, or make one with `tableveil backup NAME`."
        return Finding(Level.WARNING, "backup", f"the last one is {age.days} days old: {made}", advice)
    return Finding(Level.OK, "backup", f"the last one is {made}")


def _orphans(session: Session) -> Finding:
    orphaned = orphans(session)
    if not orphaned:
        return Finding(Level.OK, "tables of the state", "each belongs to something")
    advice = "Nothing reads them, and they may hold raw values: drop them while no server runs."
    return Finding(
        Level.WARNING, "tables of the state", f"{len(orphaned)} belong to nothing: {_some(orphaned)}", advice
    )


def _some(names: list[str]) -> str:
    more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(shortened, names[:MOST_NAMED])) + more
