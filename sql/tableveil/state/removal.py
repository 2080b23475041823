"""Deletes ended jobs with what they found. Releases are never deleted: their ledger is needed to recognize repeats."""

from collections.abc import Iterable
from datetime import timedelta

from tableveil.backend import Ledger
from tableveil.state import joint_texts, rights
from tableveil.state.answered_requests import forget_answers
from tableveil.state.jobs import KINDS, JobKind


def delete_job(ledger: Ledger, job: int, kind: JobKind) -> None:
    """Deletes an ended job that made no release, and what it found; one transaction."""
    with ledger.transaction():
        results = KINDS[kind].results
        for number in results.numbers_of(ledger, job):
            results.delete(ledger, number)
        ledger.execute("DELETE FROM tableveil.job_reads WHERE job = ?", [job])
        rights.forget(ledger, job)
        joint_texts.forget(ledger, job)
        forget_answers(ledger, "JobService")
        ledger.execute("DELETE FROM tableveil.job_events WHERE job = ?", [job])
        ledger.execute("DELETE FROM tableveil.job_outcomes WHERE job = ?", [job])
        ledger.execute("DELETE FROM tableveil.jobs WHERE number = ?", [job])


def ended_before(ledger: Ledger, age: timedelta) -> list[tuple[int, JobKind]]:
    """Jobs that ended longer ago than `age` and made no release, oldest first."""
    rows = ledger.rows(
        "SELECT number, kind FROM tableveil.jobs JOIN tableveil.job_outcomes ON number = job "
        "WHERE (kind <> 'RELEASE' OR result IS NULL) AND happened_at < now()::TIMESTAMP - ? ORDER BY number",
        [age],
    )
    return [(number, JobKind(kind)) for number, kind in rows]


def thin_events(ledger: Ledger, age: timedelta) -> int:
    """Deletes events of releases' jobs, except the first and the last; returns the number of deleted rows.

    This concerns jobs that ended longer ago than `age`.
    """
    rows: Iterable[tuple[int]] = ledger.rows(
        "DELETE FROM tableveil.job_events WHERE rowid IN ("
        "SELECT e.rowid FROM tableveil.job_events e JOIN tableveil.job_outcomes o USING (job) "
        "JOIN tableveil.jobs j ON j.number = o.job WHERE j.kind = 'RELEASE' AND o.result IS NOT NULL "
        "AND o.happened_at < now()::TIMESTAMP - ? "
        "QUALIFY row_number() OVER (PARTITION BY job ORDER BY e.happened_at, e.rowid) > 1 "
        "AND row_number() OVER (PARTITION BY job ORDER BY e.happened_at DESC, e.rowid DESC) > 1)",
        [age],
    )
    ((count,),) = rows
    return count
