"""The demo's directory: the files that a demo leaves, and those that the next one may remove."""

import shutil
from contextlib import nullcontext
from pathlib import Path

from tableveil.backend import Session, catalog, read_only
from tableveil.errors import ConflictError, shortened

MARK = "made by tableveil demo"
"""Name of the file that marks a directory as the demo's."""

DATABASE, POLICY, RELEASED, LOG = "clinic.duckdb", "policy.yaml", "released.duckdb", "server.log"
REPORT = "report.html"

_BESIDE = {f"{DATABASE}.wal", *(f".{DATABASE}.{kind}" for kind in ("spill", "ledger", "token"))}
FILES = {MARK, DATABASE, POLICY, RELEASED, LOG, REPORT} | _BESIDE

TABLE = "discharges"

TABLES = {
    TABLE,
    "patients",
    "visits",
    "visits_later",
    "zip_codes",
    *(
        f"{TABLE}_released{part}"
        for part in ("", "_classes", "_risk", "_risk_histogram", "_columns", "_labels", "_about")
    ),
}

MOST_NAMED = 3
"""The most foreign things that a refusal names."""


def clear(directory: Path) -> None:
    """Makes the directory, or removes an earlier demo's files from it.

    Raises:
        ConflictError: It has files or tables that no demo made.
        BusyError: A process has the database open.
    """
    if directory.exists() and (held := sorted(path.name for path in directory.iterdir())):
        foreign = [name for name in held if name not in FILES]
        if MARK not in held or foreign:
            raise _in_use(directory, "files", foreign or held)
        database = directory / DATABASE
        # The lock is kept until everything is removed: a server may have it, or be about to take it.
        with read_only(database) if database.exists() else nullcontext() as session:
            if session is not None:
                _require_own(session, directory)
            shutil.rmtree(directory)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    (directory / MARK).touch()


def _require_own(session: Session, directory: Path) -> None:
    """Refuses a database with tables that the demo did not make."""
    own_tables = {one.name for one in catalog.listed(session) if one.schema != "tableveil"}
    foreign = sorted(own_tables - TABLES)
    if foreign:
        raise _in_use(directory / DATABASE, "tables", foreign)


def _in_use(place: Path, kind: str, foreign: list[str]) -> ConflictError:
    named = ", ".join(map(shortened, foreign[:MOST_NAMED])) + (", …" if len(foreign) > MOST_NAMED else "")
    return ConflictError.of(
        "DIRECTORY_IN_USE",
        "--directory",
        f"{shortened(str(place))}, which holds {kind} that no demo made: {named}",
        "an empty or new directory, or an earlier demo's as it was left",
        "Move away what you want to keep, or choose another --directory.",
    )
