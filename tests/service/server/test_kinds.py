"""The table of job kinds: every kind is in each of its places, and is asked for again as it was asked for."""

from datetime import datetime
from importlib import import_module
from typing import get_type_hints

import pytest
from google.protobuf.message import Message

from tableveil.cli.commands import SHOWN
from tableveil.cli.results import KINDS as LISTED
from tableveil.client.names import collection_of
from tableveil.errors import ConflictError, InvalidError
from tableveil.policy import TableReference
from tableveil.runtime.model import Job
from tableveil.server.kinds import SUBMISSIONS, work_again
from tableveil.state.jobs import KINDS, JobKind, JobState, Request
from tests.service.server.test_caller import LONG

REQUESTS = {type(request): request for request, called in LONG.values() if called == "submit"}


def asked(kind: JobKind, document: str, options: str = "", state: JobState = JobState.FAILED) -> Job:
    source = TableReference("", "main", "t")
    return Job(Request(1, "", document, "", source, "", "", datetime(2026, 1, 1), kind, options), state)


def test_every_kind_is_everywhere() -> None:
    assert {*JobKind} == {*KINDS} == {*SUBMISSIONS}
    collections = {stored.collection for stored in KINDS.values()}
    assert collections == {"releases", *SHOWN} - {"loads"} == {"releases", *LISTED}
    for collection in LISTED:
        assert collection_of(import_module(f"tableveil.cli.{SHOWN[collection]}").RESULT) == collection
    for kind in JobKind:
        made = get_type_hints(SUBMISSIONS[kind].to_proto)["return"]
        assert collection_of(made) == KINDS[kind].collection


@pytest.mark.parametrize("kind", JobKind)
def test_a_job_is_asked_for_again_as_it_was(kind: JobKind) -> None:
    submission = SUBMISSIONS[kind]
    request: Message = REQUESTS[submission.request]
    work = submission.read(request).work
    assert work is not None
    assert work.kind is kind
    assert work_again(asked(kind, work.document, work.options)) == work


def test_a_job_that_runs_is_not_asked_for_again() -> None:
    with pytest.raises(ConflictError) as raised:
        work_again(asked(JobKind.RELEASE, "{}", state=JobState.RUNNING))
    assert raised.value.code == "JOB_ACTIVE"


def test_a_job_that_would_be_refused_now() -> None:
    with pytest.raises(InvalidError) as raised:
        work_again(asked(JobKind.FRONTIER, "{}", '{"k":[2]}'))
    assert raised.value.code == "REQUEST_INVALID"
    assert raised.value.faults
