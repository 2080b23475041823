"""Deletes ended jobs with what they found. Releases are never deleted: their ledger is what repeats are judged by."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from tableveil.backend import Session, drop, table
from tableveil.state.jobs import JobKind

RESULTS: dict[JobKind, str] = {
    JobKind.FRONTIER: "frontiers",
    JobKind.PAYOUT_SWEEP: "payout_sweeps",
    JobKind.RISK_ANALYSIS: "risk_analyses",
    JobKind.CLASSIFICATION: "classifications",
    JobKind.UTILITY_REPORT: "utility_reports",
}
"""The table of what came out, by kind of the job; each has the columns `number` and `job`."""

PARTS: dict[JobKind, tuple[tuple[str, str], ...]] = {
    JobKind.FRONTIER: (("frontier_points", "frontier"),),
    JobKind.PAYOUT_SWEEP: (("payout_points", "payout_sweep"),),
    JobKind.RISK_ANALYSIS: (
        ("risk_measures", "analysis"),
        ("attribute_risks", "analysis"),
        ("compared_risks", "analysis"),
    ),
    JobKind.CLASSIFICATION: (
        ("classification_columns", "classification"),
        ("classification_measures", "classification"),
        ("classification_classes", "classification"),
    ),
    JobKind.UTILITY_REPORT: (
        ("utility_columns", "report"),
        ("utility_spreads", "report"),
        ("utility_bins", "report"),
        ("utility_associations", "report"),
    ),
}
"""The tables of its parts, and the column in which each has its number."""


def delete_job(session: Session, job: int, kind: JobKind) -> None:
    """Deletes an ended job that made no release, and what it found; one transaction."""
    with session.transaction():
        for result, parts in [(RESULTS[kind], PARTS[kind])] if kind in RESULTS else []:
            for (number,) in session.rows(f"SELECT number FROM tableveil.{result} WHERE job = ?", [job]):
                for part, of in parts:
                    session.execute(f"DELETE FROM tableveil.{part} WHERE {of} = ?", [number])
                if kind is JobKind.RISK_ANALYSIS:
                    session.execute(drop("TABLE", table(f"record_risks_{number}", "tableveil"), if_exists=True))
            session.execute(f"DELETE FROM tableveil.{result} WHERE job = ?", [job])
        session.execute("DELETE FROM tableveil.job_events WHERE job = ?", [job])
        session.execute("DELETE FROM tableveil.job_outcomes WHERE job = ?", [job])
        session.execute("DELETE FROM tableveil.jobs WHERE number = ?", [job])


def ended_before(session: Session, age: timedelta) -> list[tuple[int, JobKind]]:
    """Jobs that ended longer ago than `age` and made no release, oldest first."""
    rows = session.rows(
        "SELECT number, kind FROM tableveil.jobs JOIN tableveil.job_outcomes ON number = job "
        "WHERE release IS NULL AND happened_at < now()::TIMESTAMP - ? ORDER BY number",
        [age],
    )
    return [(number, JobKind(kind)) for number, kind in rows]


def thin_events(session: Session, age: timedelta) -> int:
    """Deletes what jobs of releases told while they ran, but for their first and last words; returns how many rows.

    Of jobs that ended longer ago than `age`.
    """
    rows: Iterable[tuple[int]] = session.rows(
        "DELETE FROM tableveil.job_events WHERE rowid IN ("
        "SELECT e.rowid FROM tableveil.job_events e JOIN tableveil.job_outcomes o USING (job) "
        "WHERE o.release IS NOT NULL AND o.happened_at < now()::TIMESTAMP - ? "
        "QUALIFY row_number() OVER (PARTITION BY job ORDER BY e.happened_at, e.rowid) > 1 "
        "AND row_number() OVER (PARTITION BY job ORDER BY e.happened_at DESC, e.rowid DESC) > 1)",
        [age],
    )
    ((count,),) = rows
    return count
