"""Jobs that run in the test's own thread: their context, and the source as a full-domain job counts it."""

from typing import Any, cast

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.pipelines.read import Counted, count_classes, read_dictionaries, resolve_fully
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.pipelines.work import JobContext, JobReport
from tableveil.policy import Policy, ReleaseTarget, TableReference

NO_MODELS = Policy(TableReference("", "", ""), (), None, (), ReleaseTarget("", ""))
"""Stands for the policy of an earlier release that asks for nothing."""


def context(
    session: Session,
    database: Database | None = None,
    number: int = 1,
    report: JobReport | None = None,
    document: str = "{}",
    policy_of: PolicyOf = lambda _: NO_MODELS,
) -> JobContext:
    """The context of a job on the session; most need no database beside it."""
    session.control = session.control or Control()
    given = (number, document, cast(Any, database), session, session.control, report or JobReport())
    return JobContext(*given, policy_of=policy_of)


def count(job: JobContext, policy: Policy) -> Counted:
    """The source, read and counted in one transaction."""
    source, policy, hierarchies = resolve_fully(job.session, policy, store=True)
    with job.session.transaction():
        _, read = read_dictionaries(job.session, source, policy, hierarchies, job.policy_of)
        return count_classes(job.session, read.policy, read)
