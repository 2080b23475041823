"""A small table in a warehouse, a policy for it, and jobs that run it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from tableveil.backend import Database, WarehouseSession
from tableveil.hierarchy import Dates, DateUnit, InlineLevels, Intervals, SuppressionOnly
from tableveil.pipelines.anonymize import release_work
from tableveil.policy import AttributePolicy, KAnonymity, NullHandling, Policy, ReleaseTarget, Role, TableReference
from tableveil.runtime import Job, JobManager
from tests.service.jobs.managed import ended

WARDS = InlineLevels((("north", "up", "*"), ("süd", "down", "*"), ("e'ast", "down", "*")))
DAYS = Dates("2024-01-01", "2024-12-31", (DateUnit.MONTH, DateUnit.YEAR))
SEEN = Dates("1960-01-01", "1969-12-31", (DateUnit.DAY, DateUnit.YEAR))
MADE = (
    "CREATE TABLE {}.patients AS SELECT 20 + (i * 7) % 50 AS age, "
    """CASE WHEN i % 3 = 0 THEN 'north' WHEN i % 3 = 1 THEN 'süd' ELSE 'e''ast' END AS "ward é", """
    "CASE WHEN i % 11 > 0 THEN 'illness ' || i % 5 END AS illness, i AS id, "
    "CASE WHEN i % 7 > 0 THEN DATE '2024-01-30' + (i % 60)::INTEGER END AS day, "
    "TIMESTAMP '1961-12-31 23:59:59.999999' + INTERVAL (i % 40) HOUR AS seen, "
    "(i % 9 * 1.25)::DECIMAL(8,2) AS amount, i % 2 = 0 AS smoker FROM range(200) r(i)",
    "CREATE TABLE {}.everybody AS SELECT * FROM {}.patients UNION ALL SELECT * FROM {}.patients",
)
POLICY = Policy(
    source=TableReference("lake", "clinic", "patients"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "50"))),
        AttributePolicy("ward é", Role.QUASI_IDENTIFIER, WARDS),
        AttributePolicy("illness", Role.SENSITIVE),
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("day", Role.QUASI_IDENTIFIER, DAYS, nulls=NullHandling.VALUE),
        AttributePolicy("seen", Role.QUASI_IDENTIFIER, SEEN),
        AttributePolicy("amount", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("5", "20"))),
        AttributePolicy("smoker", Role.QUASI_IDENTIFIER, SuppressionOnly()),
    ),
    person_column=None,
    privacy_models=(KAnonymity(3),),
    release=ReleaseTarget("clinic", "released"),
    suppression_limit=Decimal("0.1"),
    repeat_reason="a test",
)

SECONDS = 600.0
"""How long a test waits for a job: over Spark it has a hundred statements of some tenths of a second."""


def done(database: Database, policy: Policy, approval: tuple[str, ...] = ()) -> Job:
    """A job, on a manager of its own."""
    jobs = JobManager(database, 1, approval=approval)
    try:
        return ended(jobs, jobs.submit(release_work(policy, json.dumps({}))).request.number, SECONDS)
    finally:
        jobs.close(10)


def tables(session: WarehouseSession) -> dict[str, list[tuple[Any, ...]]]:
    """All tables of the schema and their rows, but for what differs from release to release."""
    return {
        found.name: [
            row
            for row in session.rows(f'SELECT * FROM {session.catalog}.clinic."{found.name}"')
            if row[0] not in ("release", "cite")
        ]
        for found in session.listed("clinic")
    }
