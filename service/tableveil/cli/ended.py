"""The exit code of a command that ended in an error, or that waited for a job until it ended."""

from tableveil.cli.exit_codes import ExitCode
from tableveil.client.failures import error_from
from tableveil.errors import TableveilError
from tableveil.v1 import job_service_pb2

# The codes of the other kinds have their names.
_OF_KINDS = {"UNAUTHENTICATED": ExitCode.REFUSED, "DENIED": ExitCode.REFUSED}


def of_error(error: TableveilError) -> ExitCode:
    """The code for a command that ended in `error`."""
    if error.code == "UNDECIDED":
        return ExitCode.UNDECIDED
    return _OF_KINDS.get(error.kind) or ExitCode.__members__.get(error.kind, ExitCode.FAILED)


def of_job(job: job_service_pb2.Job) -> ExitCode:
    """The code for a command that waited for a job until it ended."""
    if job.state == job_service_pb2.JOB_STATE_SUCCEEDED:
        return ExitCode.OK
    if job.state in (job_service_pb2.JOB_STATE_CANCELLED, job_service_pb2.JOB_STATE_INTERRUPTED):
        return ExitCode.CANCELLED
    return of_error(error_from(job.failure))
