"""The progress of a job in words, for terminals and pages."""

from tableveil import wording
from tableveil.v1 import job_service_pb2

_PHASES = {
    job_service_pb2.JOB_PHASE_READING: "reading the table",
    job_service_pb2.JOB_PHASE_COUNTING: "counting combinations",
    job_service_pb2.JOB_PHASE_SEARCHING: "searching",
    job_service_pb2.JOB_PHASE_WRITING: "writing",
    job_service_pb2.JOB_PHASE_VERIFYING: "verifying",
}

_COUNTED = {
    "classifications": "classifiers trained",
    "utilityReports": "columns compared",
    "proposals": "policies tried",
}
"""By collection, the unit of a job's progress where there are no transformations."""


def activity(job: job_service_pb2.Job) -> str:
    """The job's phase or its end."""
    if job.state == job_service_pb2.JOB_STATE_QUEUED:
        return f"queued, {wording.count(job.queue_position)} ahead" if job.queue_position else "queued"
    if job.state == job_service_pb2.JOB_STATE_RUNNING:
        return _PHASES.get(job.phase, "running")
    return wording.enum_word(job_service_pb2.JobState.Name(job.state), "JOB_STATE_")


def findings(job: job_service_pb2.Job) -> str:
    """The search's findings, in one line; empty before it began."""
    progress = job.progress
    if not progress.lattice_size:
        return ""
    size = wording.large_count(progress.lattice_size)
    what = "records in clusters" if progress.of_records else _COUNTED.get(job.kind, "transformations checked")
    parts = [f"{wording.count(progress.transformations_checked)} of {size} {what}"]
    if progress.HasField("best_score"):
        parts.append(f"best score {wording.score(progress.best_score)}")
    if progress.HasField("lower_bound"):
        parts.append(f"lower bound {wording.score(progress.lower_bound)}")
    if progress.HasField("suppressed_share"):
        parts.append(f"{wording.share(progress.suppressed_share)} suppressed")
    if progress.HasField("best_score") and progress.HasField("lower_bound"):
        parts.append(f"gap {wording.score(max(0.0, progress.best_score - progress.lower_bound))}")
    if progress.HasField("recent_gain"):
        parts.append(f"{wording.share(progress.recent_gain)} better in the last tenth of the time")
    return ", ".join(parts)
