"""Jobs and their failures as messages."""

from tableveil.convert.copied import copied, timestamp
from tableveil.convert.enums import FAILURE_KINDS, JOB_PHASES, JOB_STATES
from tableveil.convert.names import job_name, result_name, table_to_proto
from tableveil.convert.warnings import ranks_to_proto, warnings_to_proto
from tableveil.errors import Fault, Relaxation
from tableveil.runtime.model import Failure, Job
from tableveil.state.jobs import KINDS, JobKind
from tableveil.v1 import faults_pb2, job_service_pb2, policy_pb2


def fault_to_proto(fault: Fault) -> faults_pb2.Fault:
    """The message for a fault."""
    return faults_pb2.Fault(
        field=_text(fault.field), found=_text(fault.found), expected=_text(fault.expected), hint=_text(fault.hint)
    )


def failure_to_proto(failure: Failure) -> faults_pb2.Failure:
    """The message for a failure, with all its faults."""
    return faults_pb2.Failure(
        kind=FAILURE_KINDS.to_proto(failure.kind),
        code=failure.code,
        message=_text(failure.message),
        faults=map(fault_to_proto, failure.faults),
        relaxations=map(_relaxation_to_proto, failure.relaxations),
    )


def _relaxation_to_proto(relaxation: Relaxation) -> faults_pb2.Relaxation:
    changes = [faults_pb2.Change(field=_text(change.field), value=_text(change.value)) for change in relaxation.changes]
    return faults_pb2.Relaxation(changes=changes, nearest=relaxation.nearest)


def _text(text: str) -> str:
    """`text` as a proto can hold it: a file's name may not be Unicode, and its error must still arrive."""
    return text.encode("utf-8", "replace").decode()


def job_to_proto(job: Job) -> job_service_pb2.Job:
    """The message for a job."""
    request = job.request
    result = "" if job.result is None else result_name(request.kind, job.result)
    return job_service_pb2.Job(
        name=job_name(job.number),
        state=JOB_STATES.to_proto(job.state),
        phase=JOB_PHASES.to_proto(job.phase),
        request_id=request.request_id,
        source=table_to_proto(request.source),
        target=(
            policy_pb2.ReleaseTarget(schema=request.target_schema, name=request.target_name)
            if request.kind is JobKind.RELEASE
            else None
        ),
        submit_time=timestamp(request.submitted_at),
        start_time=timestamp(job.started_at),
        end_time=timestamp(job.ended_at),
        progress=(
            copied(job.progress, job_service_pb2.SearchProgress, transformations_checked=job.progress.checked)
            if job.progress
            else None
        ),
        kind=KINDS[request.kind].collection,
        result=result,
        failure=failure_to_proto(job.failure) if job.failure else None,
        warnings=job.warnings,
        warning_ranks=ranks_to_proto(job.warnings),
        ranked_warnings=warnings_to_proto(job.warnings),
        queue_position=job.queue_position,
        statements=job.step[0],
        statement_percent=job.step[1],
    )
