"""The exit code of a command that ended in an error, or that waited for a job until it ended."""

from tableveil.cli.exit_codes import ExitCode
from tableveil.client import UnpublishedError, UnreachableError
from tableveil.client.failures import error_from
from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    DeniedError,
    GuardedError,
    InfeasibleError,
    InvalidError,
    NotFoundError,
    TableveilError,
    UnauthenticatedError,
)
from tableveil.v1 import job_service_pb2

_OF_ERRORS: dict[type[TableveilError], ExitCode] = {
    InvalidError: ExitCode.INVALID,
    InfeasibleError: ExitCode.INFEASIBLE,
    CancelledError: ExitCode.CANCELLED,
    UnreachableError: ExitCode.UNREACHABLE,
    ConflictError: ExitCode.CONFLICT,
    BusyError: ExitCode.BUSY,
    NotFoundError: ExitCode.NOT_FOUND,
    UnauthenticatedError: ExitCode.REFUSED,
    DeniedError: ExitCode.REFUSED,
    GuardedError: ExitCode.GUARDED,
    UnpublishedError: ExitCode.UNPUBLISHED,
}


def of_error(error: TableveilError) -> ExitCode:
    """The code for a command that ended in `error`."""
    if error.code == "UNDECIDED":
        return ExitCode.UNDECIDED
    return _OF_ERRORS.get(type(error), ExitCode.FAILED)


def of_job(job: job_service_pb2.Job) -> ExitCode:
    """The code for a command that waited for a job until it ended."""
    if job.state == job_service_pb2.JOB_STATE_SUCCEEDED:
        return ExitCode.OK
    if job.state in (job_service_pb2.JOB_STATE_CANCELLED, job_service_pb2.JOB_STATE_INTERRUPTED):
        return ExitCode.CANCELLED
    return of_error(error_from(job.failure))
