"""Dry runs: requests from messages, and results as messages."""

from tableveil.convert.copied import timestamp
from tableveil.convert.names import Read, Submission, canonical_json, job_name, result_name
from tableveil.convert.policy_from_proto import policy_from_proto
from tableveil.convert.releases import evidence_to_proto
from tableveil.errors import Fault
from tableveil.pipelines.dry_run import dry_run_work
from tableveil.policy import Policy
from tableveil.state.dry_runs import DryRun, ShownRow
from tableveil.state.jobs import JobKind
from tableveil.v1 import dry_run_service_pb2


def dry_run_from_proto(message: dry_run_service_pb2.SubmitDryRunRequest) -> tuple[Policy | None, str, list[Fault]]:
    """The policy, None if it could not be converted; its document; and all faults but that of a missing target."""
    policy, faults = policy_from_proto(message.policy)
    missing = not message.policy.release.name
    faults = [fault for fault in faults if not (missing and fault.field == "release.name")]
    return policy, canonical_json(message.policy), faults


def dry_run_to_proto(dry_run: DryRun) -> dry_run_service_pb2.DryRun:
    """The message for a dry run."""
    release = evidence_to_proto(dry_run)
    if release.policy.HasField("release"):
        release.target.CopyFrom(release.policy.release)
    return dry_run_service_pb2.DryRun(
        name=result_name(JobKind.DRY_RUN, dry_run.number),
        job=job_name(dry_run.job),
        create_time=timestamp(dry_run.created_at),
        release=release,
        refusals=dry_run.refusals,
        columns=next((list(row.values) for row in dry_run.rows), ()),
        rows=map(_row, dry_run.rows),
    )


def _row(row: ShownRow) -> dry_run_service_pb2.ShownRow:
    values = [dry_run_service_pb2.ShownValue(text=text) for text in row.values.values()]
    return dry_run_service_pb2.ShownRow(values=values)


def _read(request: dry_run_service_pb2.SubmitDryRunRequest) -> Read:
    policy, document, faults = dry_run_from_proto(request)
    return Read(dry_run_work(policy, document) if policy else None, faults, policy)


SUBMISSION = Submission(
    request=dry_run_service_pb2.SubmitDryRunRequest,
    document="policy",
    read=_read,
    code="POLICY_INVALID",
    refusal="the policy is invalid",
    to_proto=dry_run_to_proto,
)
