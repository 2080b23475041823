"""Jobs of all kinds: how a request becomes the work of a job, also when resubmitted."""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from google.protobuf import json_format

from tableveil.control import Control
from tableveil.convert import job_to_proto
from tableveil.convert.names import Submission
from tableveil.errors import ConflictError, InvalidError
from tableveil.lookups import Privacies
from tableveil.pipelines.work import Work
from tableveil.runtime import JobManager
from tableveil.runtime.model import Job
from tableveil.server.declared import completed
from tableveil.state.jobs import KINDS, JobKind
from tableveil.v1.job_service_pb2 import Job as JobMessage
from tableveil.v1.policy_pb2 import Policy as PolicyMessage

SUBMISSIONS: Mapping[JobKind, Submission[Any]] = {
    kind: import_module(f"tableveil.convert.{stored.module}").SUBMISSION for kind, stored in KINDS.items()
}

_BY_REQUEST = {submission.request: submission for submission in SUBMISSIONS.values()}

REQUESTS_OF_JOBS = tuple(request.DESCRIPTOR for request in _BY_REQUEST)
"""The messages that submit jobs."""


def submit(jobs: JobManager, privacies: Privacies, request: Any, control: Control) -> JobMessage:
    """Submits the job for a request, whose policy takes what it leaves out from the declared privacy of its table.

    Raises:
        InvalidError: with all faults of the request.
    """
    submission = _BY_REQUEST[type(request)]
    told = completed(request.policy, privacies) if submission.document == "policy" else None
    try:
        return _submitted(submission, jobs, request, control)
    except InvalidError as error:
        faults = error.faults if told is None else tuple(map(told, error.faults))
        if faults == error.faults:
            raise
        raise InvalidError.about(error.code, submission.refusal, faults) from None


def _submitted(submission: Submission[Any], jobs: JobManager, request: Any, control: Control) -> JobMessage:
    read = submission.read(request)
    faults = list(read.faults)
    if read.policy is not None and faults:
        faults += jobs.check(read.policy, control, rows=False).faults
    if read.work is None or faults:
        raise InvalidError.about(submission.code, submission.refusal, faults)
    return job_to_proto(jobs.submit(read.work, request.request_id, control))


def work_again(job: Job, change: Callable[[PolicyMessage], object] | None = None) -> Work:
    """The work of a job that has ended, to be repeated; `change` changes its policy first.

    Raises:
        ConflictError: the job has not ended.
        InvalidError: it was requested when more was allowed than now.
    """
    if not job.state.ended:
        raise ConflictError.of(
            "JOB_ACTIVE", "name", f"jobs/{job.number}, which is {job.state.lower()}", "a job that has ended"
        )
    submission = SUBMISSIONS[job.request.kind]
    asked = {submission.document: json.loads(job.request.policy), **json.loads(job.request.options or "{}")}
    request = json_format.ParseDict(asked, submission.request())
    if change is not None:
        if submission.document != "policy":
            raise InvalidError.of("REQUEST_INVALID", "widen", f"jobs/{job.number}, without a policy", "a job with one")
        change(request.policy)
    read = submission.read(request)
    if read.work is None or read.faults:
        raise InvalidError.about("REQUEST_INVALID", "the job's request is not allowed any more", read.faults)
    return read.work
