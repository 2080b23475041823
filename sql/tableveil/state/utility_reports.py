"""The store of utility reports, which are the owner's: they show how the source spreads over its values."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Session
from tableveil.state.rows import insert_rows
from tableveil.usefulness import Association, Bin, ColumnUtility, Spread, UtilityReport


@dataclass(frozen=True, slots=True)
class Stored:
    """A utility report; `request` is what was asked for as JSON, `seconds` are those from the job's start."""

    number: int
    job: int
    created_at: datetime
    release: int
    report: UtilityReport
    seconds: float
    request: str


def next_number(session: Session) -> int:
    """A number no report has."""
    number: int = session.value("SELECT nextval('tableveil.utility_report_numbers')")
    return number


def insert(session: Session, stored: Stored) -> None:
    """Stores a report; call it in a transaction."""
    number, report = stored.number, stored.report
    row = (number, stored.job, stored.created_at, stored.release, list(report.notes), stored.seconds, stored.request)
    insert_rows(session, "utility_reports", [row])
    columns = list(enumerate(report.columns))
    insert_rows(
        session,
        "utility_columns",
        [(number, i, c.column, c.type, c.role, c.treatment, c.loss, c.squared_error) for i, c in columns],
    )
    stages = [(i, stage, spread) for i, c in columns for stage, spread in (("before", c.before), ("after", c.after))]
    insert_rows(
        session,
        "utility_spreads",
        [
            (number, i, stage, s.records, s.missing, s.distinct, s.mean, s.variance, list(s.quantiles))
            for i, stage, s in stages
        ],
    )
    insert_rows(
        session,
        "utility_bins",
        [(number, i, stage, j, b.label, b.records) for i, stage, s in stages for j, b in enumerate(s.bins)],
    )
    insert_rows(
        session,
        "utility_associations",
        [
            (number, i, one.first, one.second, one.measure, one.before, one.after)
            for i, one in enumerate(report.associations)
        ],
    )


def find(session: Session, number: int) -> Stored | None:
    """The report of that number."""
    rows = session.rows(
        "SELECT job, created_at, release, notes, seconds, request FROM tableveil.utility_reports WHERE number = ?",
        [number],
    )
    if not rows:
        return None
    job, created_at, release, notes, seconds, request = rows[0]
    associations = session.rows(
        "SELECT first_column, second_column, measure, before, after FROM tableveil.utility_associations "
        "WHERE report = ? ORDER BY position",
        [number],
    )
    report = UtilityReport(_columns(session, number), tuple(Association(*row) for row in associations), tuple(notes))
    return Stored(number, job, created_at, release, report, seconds, request)


def _columns(session: Session, number: int) -> tuple[ColumnUtility, ...]:
    bins = defaultdict(list)
    for position, stage, label, records in session.rows(
        "SELECT column_position, stage, label, records FROM tableveil.utility_bins WHERE report = ? ORDER BY position",
        [number],
    ):
        bins[position, stage].append(Bin(label, records))
    spreads = {
        (position, stage): Spread(
            records, missing, distinct, mean, variance, tuple(quantiles), tuple(bins[position, stage])
        )
        for position, stage, records, missing, distinct, mean, variance, quantiles in session.rows(
            "SELECT column_position, stage, records, missing, distinct_values, mean, variance, quantiles "
            "FROM tableveil.utility_spreads WHERE report = ?",
            [number],
        )
    }
    columns = session.rows(
        "SELECT position, column_name, type, role, treatment, loss, squared_error FROM tableveil.utility_columns "
        "WHERE report = ? ORDER BY position",
        [number],
    )
    return tuple(
        ColumnUtility(
            name, type_, role, treatment, loss, squared, spreads[position, "before"], spreads[position, "after"]
        )
        for position, name, type_, role, treatment, loss, squared in columns
    )
