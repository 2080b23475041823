"""Small jobs on a manager: their policy, how they are submitted and waited for, and a gate that holds them up."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from tableveil.backend import Database, Session
from tableveil.errors import InternalError
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.work import JobContext
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.runtime import Job, JobManager, JobSettings, open_jobs
from tableveil.state.dry_runs import DryRun
from tableveil.state.jobs import JobPhase
from tableveil.state.releases import Release
from tests.service.jobs.plain import plain_target

POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("ward", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE),
    ),
    person_column=None,
    privacy_models=(KAnonymity(3),),
    release=plain_target("main", "released"),
    suppression_limit=Decimal("0.5"),
    repeat_reason="a test",
)
LABELLED = replace(POLICY, release=ReleaseTarget("main", "released"))
"""The policy with all that a release has by default: columns beside labels, and the tables that explain it."""
OF_KNOWN_PEOPLE = replace(
    POLICY,
    attributes=(AttributePolicy("id", Role.IDENTIFYING), *POLICY.attributes),
    person_column="id",
    suppression_limit=Decimal(1),
    repeat_reason="",
)
"""The policy for a table whose people are known again by their `id`; any number of records may be suppressed."""
PATIENTS = 30
SECONDS = 60.0
"""How long a test waits for what should take a moment."""

Open = Callable[..., JobManager]
"""Opens a manager of the database."""


def open_with(
    database: Database, *, observer: Any = None, publishing: Any = None, policy_of: Any = None, **settings: Any
) -> JobManager:
    """Opens jobs by all options in one list."""
    options = JobSettings(**settings)
    return open_jobs(database, options, observer=observer, publishing=publishing, policy_of=policy_of)


def create_patients(session: Session) -> None:
    """The table of the policy."""
    session.execute(
        "CREATE TABLE patients AS SELECT 20 + i % 3 AS age, i % 2 AS ward, 'illness ' || i % 5 AS illness "
        f"FROM range({PATIENTS}) r(i)"
    )


def to(name: str, **changes: Any) -> Policy:
    """The policy with another target."""
    return replace(POLICY, release=plain_target("main", name), **changes)


def submit(jobs: JobManager, policy: Policy, request_id: str = "", *, again: bool = False) -> Job:
    """Submits a policy with a document that is as different as the policies are."""
    target = f"{policy.release.schema}.{policy.release.name}"
    document = {"target": target, "reason": policy.repeat_reason}
    return jobs.submit(release_work(policy, json.dumps(document)), request_id, again=again)


def ended(jobs: JobManager, number: int, seconds: float = SECONDS) -> Job:
    deadline = time.monotonic() + seconds
    *_, last = jobs.watch(number, lambda: time.monotonic() > deadline)
    assert last.state.ended, last
    return last


class Gate:
    """Takes the place of a job's run: each waits until it is let through, or stopped."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.started: list[int] = []
        self.began = threading.Condition()

    def run(self, job: JobContext, policy: Policy, *, is_trial: bool = False) -> int:
        job.report.phase(JobPhase.READING)
        with self.began:
            self.started.append(job.number)
            self.began.notify_all()
        while not self.open.wait(0.01):
            job.control.raise_if_stopped()
        raise InternalError("TEST", "let through")

    def wait_for(self, number: int) -> None:
        """Waits until so many jobs have started."""
        with self.began:
            assert self.began.wait_for(lambda: len(self.started) >= number, SECONDS)


def other_warnings(release: Release | DryRun) -> tuple[str, ...]:
    """The warnings that are not about columns released unchanged, nor about earlier releases of the same people."""
    about = (
        "by their labels",
        "out values of",
        "No privacy model names",
        "Joint classes with",
        "the rows join those of",
        "Nobody joined the rows",
    )
    return tuple(text for text in release.warnings if not any(part in text for part in about))
