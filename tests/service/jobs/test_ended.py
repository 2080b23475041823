"""Ended jobs are kept at hand, as many as fit."""

from dataclasses import replace
from datetime import datetime

from tableveil.errors import Fault
from tableveil.policy import TableReference
from tableveil.runtime.ended import LARGEST_POLICY, MOST, MOST_FAULTS, EndedJobs
from tableveil.runtime.model import Failure, FailureKind, Job
from tableveil.state.jobs import JobState, Request

REQUEST = Request(1, "", "{}", "", TableReference("d", "main", "t"), "main", "x", datetime(2026, 1, 1))


def job(number: int, state: JobState = JobState.FAILED, policy: str = "{}") -> Job:
    return Job(replace(REQUEST, number=number, policy=policy), state)


def test_only_what_has_ended_and_is_small_is_kept() -> None:
    ended = EndedJobs()
    large = job(3, policy="x" * (LARGEST_POLICY + 1))
    faults = tuple(Fault(f"attributes[{i}].role", "none", "one") for i in range(MOST_FAULTS + 1))
    wide = replace(job(5), failure=Failure(FailureKind.INVALID, "POLICY_INVALID", "wide", faults))
    ended.keep([job(1), job(2, JobState.RUNNING), large, job(4, JobState.SUCCEEDED), wide])
    assert ended.known([1, 2, 3, 4, 5]) == {1: job(1), 4: job(4, JobState.SUCCEEDED)}


def test_the_first_go_first() -> None:
    ended = EndedJobs()
    ended.keep(map(job, range(MOST)))
    ended.keep([job(MOST), job(MOST + 1)])
    assert sorted(ended.known(range(MOST + 2))) == list(range(2, MOST + 2))
