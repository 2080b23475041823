"""Compares the state with the objects that exist: those of releases, and tables of the state."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from tableveil.backend import Session, catalog
from tableveil.errors import shortened
from tableveil.lifecycle.target import count_rows
from tableveil.operate.finding import Finding, Level
from tableveil.release.objects import mark
from tableveil.state.migrate import SCHEMA
from tableveil.state.release_objects import LATEST

# Releases that are neither withdrawn nor replaced by a later one. Only the rows of a release can be a view.
_CURRENT = f"""
    SELECT r.number, r.target_schema, o.name, CASE WHEN o.kind = 'ROWS' THEN r.kind ELSE 'TABLE' END, o.row_count,
        CASE WHEN r.versions['duckdb'] = ? THEN o.mark END
    FROM tableveil.releases r JOIN tableveil.release_objects o ON o.release = r.number
    ANTI JOIN tableveil.withdrawals w ON w.release = r.number
    WHERE r.number IN ({LATEST}) AND r.warehouse = ''
    ORDER BY r.number, o.name"""


@dataclass(frozen=True, slots=True)
class _Written:
    """An object of a current release, as it was written; without a mark, another version of DuckDB made that."""

    release: int
    schema: str
    name: str
    kind: str
    rows: int
    mark: str | None


# Numbered tables, and the table that has the number of their owner.
_NUMBERED = {"hierarchy": "hierarchies", "snapshot": "releases", "pending": "releases", "record_risks": "risk_analyses"}


def examine_releases(session: Session) -> Iterator[Finding]:
    """A finding per object of a current release that was changed after it was written.

    Tables are compared by their marks, if this version of DuckDB made those; views only by their kind.
    """
    kinds = {
        (listed_table.schema, listed_table.name): listed_table.kind.upper() for listed_table in catalog.listed(session)
    }
    objects = [_Written(*row) for row in session.ledger.rows(_CURRENT, [duckdb.__version__])]
    for written in objects:
        wrong = _wrong(session, written, kinds.get((written.schema, written.name)))
        if wrong:
            advice = "Somebody changed it beside the server: make the release again, or restore a backup."
            actual = f"{shortened(written.name)} {wrong}"
            yield Finding(Level.PROBLEM, f"releases/{written.release}", actual, advice)
    yield Finding(Level.OK, "releases", f"{len(objects)} objects of current releases looked at")


def orphans(session: Session) -> list[str]:
    """Numbered tables of the state without an owner."""
    orphaned = []
    for name, numbering in _NUMBERED.items():
        releases_here = {number for (number,) in session.ledger.rows(f"SELECT number FROM {SCHEMA}.{numbering}")}
        for made in catalog.listed(session, SCHEMA):
            match = re.fullmatch(rf"{name}_(\d+)", made.name)
            if match and int(match[1]) not in releases_here:
                orphaned.append(f"{SCHEMA}.{made.name}")
    return orphaned


def _wrong(session: Session, written: _Written, kind: str | None) -> str:
    """The fault of an object that is of that kind now, None if it is gone; empty if there is none."""
    if kind is None:
        return "is gone"
    if kind != written.kind:
        return f"is a {kind.lower()}, not a {written.kind.lower()}"
    # Analysts may need to read a view, so the operator is only told its kind.
    if kind != "TABLE":
        return ""
    count = count_rows(session, written.name, written.schema)
    if count != written.rows:
        return f"has {count} rows, not the {written.rows} that were written"
    changed = written.mark and mark(session, written.schema, written.name) != written.mark
    return "does not hold what was written" if changed else ""
