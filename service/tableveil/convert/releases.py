"""Releases with their evidence as messages."""

from collections.abc import Sequence

from google.protobuf.field_mask_pb2 import FieldMask

from tableveil.convert.copied import copied, duration, timestamp
from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import RELEASE_ACTIONS, RELEASE_KINDS, RELEASE_STATES
from tableveil.convert.names import (
    Read,
    Submission,
    canonical_json,
    job_name,
    policy_from_json,
    release_name,
    table_to_proto,
)
from tableveil.convert.policy_from_proto import policy_from_proto
from tableveil.convert.warnings import ranks_to_proto, warnings_to_proto
from tableveil.lifecycle import JointFigures
from tableveil.pipelines.anonymize import release_work
from tableveil.policy.aggregation import without_codings
from tableveil.risk import ProsecutorRisk
from tableveil.state.dry_runs import DryRun
from tableveil.state.matches import Match
from tableveil.state.publications import Publication, TargetUse
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_objects import ReleaseObject
from tableveil.state.releases import Proof, Release, ReleaseState, ReleaseSummary, StandingRelease
from tableveil.state.seen import Audience
from tableveil.v1 import job_service_pb2, policy_pb2, release_service_pb2

_PUBLIC = FieldMask(
    paths=[
        *("name", "create_time", "target", "objects", "suppressed_records", "classes", "risk_after"),
        "risk_by_size",
        *("current", "state", "withdraw_time", "warehouse"),
    ]
)
"""The fields that can be recomputed from the public objects, or are told to all who may read them."""


def joint_classes_to_proto(joint_figures: JointFigures) -> release_service_pb2.JointClasses:
    """The message for what some releases tell apart together."""
    sizes = [
        release_service_pb2.JointClassSize(size=size, joint_classes=joint, left_behind=left)
        for size, joint, left in joint_figures.sizes
    ]
    names = map(release_name, joint_figures.releases)
    return copied(joint_figures, release_service_pb2.JointClasses, releases=names, sizes=sizes)


def target_to_proto(use: TargetUse, declared: bool) -> release_service_pb2.PublicationTarget:
    """The message for a target."""
    names = {"name": use.target, "resource_name": f"targets/{use.target}"}
    return copied(use, release_service_pb2.PublicationTarget, **names, declared=declared)


def release_to_proto(release: Release, *, with_policy: bool = True) -> release_service_pb2.Release:
    """The message for a release, with what its audience may see of it.

    Args:
        release: The release.
        with_policy: False leaves the policy out: with hierarchies written out it may be larger than all other fields.
    """
    # The ledger keeps only the target's name; the policy has the other fields.
    target = policy_pb2.ReleaseTarget(
        schema=release.target_schema, name=release.target_name, kind=RELEASE_KINDS.to_proto(release.kind)
    )
    message = release_service_pb2.Release(
        name=release_name(release.number),
        source_tables=map(table_to_proto, release.source_tables),
        target=target,
        objects=map(_object, release.objects),
        versions=release.versions,
        phase_durations={phase: duration(seconds) for phase, seconds in release.phase_seconds.items()},
        current=release.current,
        withdraw_time=timestamp(release.withdrawal.at if release.withdrawal else None),
        withdraw_reason=release.withdrawal.reason if release.withdrawal else "",
        kept_objects=release.withdrawal.kept_objects if release.withdrawal else (),
        explanation=copied(release.explanation, release_service_pb2.Explanation) if release.explanation else None,
        costs=[copied(one, release_service_pb2.CostPart) for one in release.costs],
        state=RELEASE_STATES.to_proto(release.state),
        decided_by=release.decision.by if release.decision else "",
        decision_time=timestamp(release.decision.at if release.decision else None),
        decision_note=release.decision.note if release.decision else "",
        publications=map(_publication, release.publications),
        matches=map(_match, release.matches),
        warehouse=release.warehouse,
        expire_time=timestamp(
            release.trial.expires_at if release.state is ReleaseState.TRIAL and release.trial else None
        ),
        promote_time=timestamp(release.trial.promoted_at if release.trial else None),
        allowed=map(RELEASE_ACTIONS.to_proto, release.actions),
    )
    message.MergeFrom(evidence_to_proto(release, with_policy=with_policy))
    if release.audience is Audience.PUBLIC:
        # The shares that people have of classes are evidence.
        message.risk_after.CopyFrom(message.risk_by_size)
        public = release_service_pb2.Release()
        _PUBLIC.MergeMessage(message, public)
        return public
    return message


def summary_to_proto(summary: ReleaseSummary) -> release_service_pb2.Release:
    """The message for a release in a list that shows no more of it."""
    return release_service_pb2.Release(
        name=release_name(summary.number),
        create_time=timestamp(summary.created_at),
        source=table_to_proto(summary.source) if summary.has_evidence else None,
        target=policy_pb2.ReleaseTarget(
            schema=summary.target_schema, name=summary.target_name, kind=RELEASE_KINDS.to_proto(summary.kind)
        ),
        suppressed_records=summary.suppressed_records,
        current=summary.current,
        state=RELEASE_STATES.to_proto(summary.state),
        warehouse=summary.warehouse,
    )


def standing_to_proto(release: StandingRelease, publications: Sequence[Publication]) -> release_service_pb2.Release:
    """The message for a release with nothing but where it stands."""
    return release_service_pb2.Release(
        name=release_name(release.number),
        current=release.current,
        state=RELEASE_STATES.to_proto(release.state),
        publications=map(_publication, publications),
    )


def evidence_to_proto(found: Release | DryRun, *, with_policy: bool = True) -> release_service_pb2.Release:
    """A release's message with the evidence alone, which dry runs have, too; reviewers get no values of the source."""
    message = release_service_pb2.Release(
        job=job_name(found.job),
        create_time=timestamp(found.created_at),
        source=table_to_proto(found.source),
        records=found.records,
        suppressed_records=found.suppressed_records,
        classes=found.classes,
        score=found.score,
        quality_model=found.quality_model,
        attributes=map(_attribute, found.attributes),
        proof=_proof(found.proof, found.score),
        risk_before=_risk(found.risk_before),
        risk_after=_risk(found.risk_after),
        risk_by_size=_risk(found.risk_by_size),
        policy=policy_from_json(found.policy) if with_policy else None,
        warnings=found.warnings,
        warning_ranks=ranks_to_proto(found.warnings),
        ranked_warnings=warnings_to_proto(found.warnings),
        source_fingerprint=found.source_fingerprint,
        duration=duration(found.seconds),
        guarantees=[copied(one, release_service_pb2.Guarantee) for one in found.guarantees],
        exposures=[copied(one, release_service_pb2.Exposure) for one in found.exposures],
        suppressed_labels=[copied(one, release_service_pb2.SuppressedLabel) for one in found.suppressed_labels],
        alternatives=[copied(one, release_service_pb2.Alternative) for one in found.alternatives],
    )
    if found.audience is Audience.REVIEWER:
        _clear_values(message)
    return message


def _clear_values(message: release_service_pb2.Release) -> None:
    """Clears the parts of a release that may hold values of the source."""
    message.policy.ClearField("source_query")
    # A label that no released record has may be a value.
    released = [one for one in message.suppressed_labels if one.suppressed < one.records]
    del message.suppressed_labels[:]
    message.suppressed_labels.extend(released)
    for attribute in message.policy.attributes:
        attribute.ClearField("hierarchy")
        attribute.ClearField("order")
        if attribute.HasField("aggregation"):
            attribute.aggregation.ClearField("bottom_coding")
            attribute.aggregation.ClearField("top_coding")
    for result in message.attributes:
        # The ends of a rule are often the least and the greatest value; the name of a stored one ends with a version.
        if not result.hierarchy.rpartition("@")[2].isdigit():
            result.hierarchy = result.hierarchy.partition(" in ")[0]
        result.aggregation = without_codings(result.aggregation)


def _object(item: ReleaseObject) -> release_service_pb2.ReleaseObject:
    return copied(item, release_service_pb2.ReleaseObject, rows=item.row_count)


def _publication(publication: Publication) -> release_service_pb2.Publication:
    times = {"request_time": timestamp(publication.requested_at), "publish_time": timestamp(publication.published_at)}
    others = map(release_name, publication.other_people)
    return copied(publication, release_service_pb2.Publication, **times, other_people=others)


def _match(match: Match) -> release_service_pb2.ReleaseMatch:
    names = {"release": release_name(match.release), "other": release_name(match.other)}
    return release_service_pb2.ReleaseMatch(**names, finding=match.finding)


def _attribute(result: AttributeResult) -> release_service_pb2.AttributeResult:
    levels = [release_service_pb2.LevelRecords(level=level, records=records) for level, records in result.levels]
    return copied(result, release_service_pb2.AttributeResult, levels=levels)


def _proof(proof: Proof, score: float) -> release_service_pb2.Proof:
    message = release_service_pb2.Proof(
        optimal=proof.optimal,
        lower_bound=proof.lower_bound,
        gap=score - proof.lower_bound,
        counter=proof.counter,
        duration=duration(proof.seconds),
        strategy=proof.strategy,
        counting=proof.counting,
    )
    if (searched := proof.searched) is not None:
        message.lattice_size, message.transformations_checked = searched.lattice_size, searched.checked
        message.times_counted = searched.counted
        message.pruned.update(searched.pruned)
        message.runners_up.extend(copied(other, release_service_pb2.RunnerUp) for other in searched.runners_up)
        if searched.best_seconds is not None:
            message.best_after.CopyFrom(duration(searched.best_seconds))
    return message


def _risk(risk: ProsecutorRisk) -> release_service_pb2.Risk:
    at_risk = [
        release_service_pb2.RecordsAtRisk(threshold=decimal_to_text(threshold), records=records)
        for threshold, records in risk.records_at_risk
    ]
    return copied(risk, release_service_pb2.Risk, records_at_risk=at_risk)


def _read(request: job_service_pb2.SubmitJobRequest) -> Read:
    policy, faults = policy_from_proto(request.policy)
    if policy is None:
        return Read(None, faults)
    return Read(release_work(policy, canonical_json(request.policy), is_trial=request.trial), faults, policy)


SUBMISSION = Submission(
    request=job_service_pb2.SubmitJobRequest,
    document="policy",
    read=_read,
    code="POLICY_INVALID",
    refusal="the policy is invalid",
    to_proto=release_to_proto,
)
