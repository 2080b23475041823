"""The exit codes of the process, which tell a scheduler what to do next."""

from __future__ import annotations

from enum import IntEnum

from tableveil.client import UnreachableError
from tableveil.client.failures import error_from
from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    DeniedError,
    InfeasibleError,
    InvalidError,
    NotFoundError,
    TableveilError,
    UnauthenticatedError,
)
from tableveil.v1 import job_service_pb2


class ExitCode(IntEnum):
    """Stable: other programs rely on them."""

    OK = 0
    FAILED = 1
    INVALID = 2
    INFEASIBLE = 3
    CANCELLED = 4
    UNREACHABLE = 5
    CONFLICT = 6
    BUSY = 7
    NOT_FOUND = 8
    REFUSED = 9
    # The codes by which shells report SIGINT and SIGPIPE.
    CTRL_C = 130
    BROKEN_PIPE = 141

    @property
    def meaning(self) -> str:
        """One line for the help."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "a defect or a broken environment",
    ExitCode.INVALID: "the command, the policy or a file can never work as it is",
    ExitCode.INFEASIBLE: "nothing meets the policy",
    ExitCode.CANCELLED: "the job was cancelled, or interrupted by a stop of the server",
    ExitCode.UNREACHABLE: "no server answers",
    ExitCode.CONFLICT: "it clashes with what is there: choose another name, or allow to replace",
    ExitCode.BUSY: "out of a resource for now: try again later",
    ExitCode.NOT_FOUND: "no such job, release, table, column or hierarchy",
    ExitCode.REFUSED: "no valid token, or no right to it",
    ExitCode.CTRL_C: "Ctrl-C; a job that was watched goes on",
    ExitCode.BROKEN_PIPE: "the reader of the output stopped reading",
}

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
}


def of_error(error: TableveilError) -> ExitCode:
    """The code for a command that ended in `error`."""
    return _OF_ERRORS.get(type(error), ExitCode.FAILED)


def of_job(job: job_service_pb2.Job) -> ExitCode:
    """The code for a command that waited for a job until it ended."""
    if job.state == job_service_pb2.JOB_STATE_SUCCEEDED:
        return ExitCode.OK
    if job.state in (job_service_pb2.JOB_STATE_CANCELLED, job_service_pb2.JOB_STATE_INTERRUPTED):
        return ExitCode.CANCELLED
    return of_error(error_from(job.failure))
