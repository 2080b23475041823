"""Names, page tokens, failures, jobs and releases as messages."""

import base64
import math
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.convert import (
    canonical_json,
    enums,
    failure_to_proto,
    hierarchy_token,
    job_name,
    job_number,
    job_to_proto,
    number_token,
    page_size,
    read_hierarchy_token,
    read_number_token,
    release_name,
    release_number,
    release_to_proto,
    stored_hierarchy_to_proto,
)
from tableveil.convert.copied import duration
from tableveil.convert.enums import FAILURE_KINDS
from tableveil.errors import Change, Fault, InvalidError, Relaxation, must_decide
from tableveil.hierarchy.rules import DateUnit, MaskFrom, PadAt
from tableveil.policy import EntropyEstimator, KLWeighting, ReleaseKind, TableReference
from tableveil.policy.methods.microaggregation import ClosenessAlgorithm, Clustering
from tableveil.privacy.exposure.found import Exposure
from tableveil.privacy.guarantees import Guarantee
from tableveil.risk import ProsecutorRisk
from tableveil.runtime.model import Failure, FailureKind, Job, JobProgress
from tableveil.state.decisions import Decision, Withdrawal
from tableveil.state.hierarchies import Stored
from tableveil.state.jobs import JobPhase, JobState, Request
from tableveil.state.matches import Match
from tableveil.state.publications import Publication
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_explanations import Alternative, CostPart, Explanation, Neighbour, Rejection
from tableveil.state.release_objects import ObjectKind, ReleaseObject
from tableveil.state.release_risks import SuppressedLabel
from tableveil.state.releases import Proof, Release, RunnerUp, Searched
from tableveil.state.trials import Trial
from tableveil.v1 import faults_pb2, job_service_pb2, policy_pb2, release_service_pb2

MOMENT = datetime(2024, 2, 29, 12, 30, 15, 123456)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def fault_from_proto(message: faults_pb2.Fault) -> Fault:
    """The fault in a message."""
    return Fault(message.field, message.found, message.expected, message.hint)


def failure_from_proto(message: faults_pb2.Failure) -> Failure:
    """The failure in a message; a kind that only newer servers know counts as internal."""
    kind = FAILURE_KINDS.from_proto(message.kind) or FailureKind.INTERNAL
    faults = tuple(map(fault_from_proto, message.faults))
    relaxations = tuple(map(_relaxation_from_proto, message.relaxations))
    return Failure(kind, message.code, message.message, faults, relaxations)


def _relaxation_from_proto(message: faults_pb2.Relaxation) -> Relaxation:
    """The relaxation in a message."""
    return Relaxation(tuple(Change(change.field, change.value) for change in message.changes), message.nearest)


@given(st.integers(1, 10**18 - 1))
def test_resource_names_read_back(number: int) -> None:
    assert job_number(job_name(number)) == number
    assert release_number(release_name(number)) == number


@pytest.mark.parametrize(
    "name",
    [
        "",
        "12",
        "jobs",
        "jobs/",
        "jobs/0",
        "jobs/-1",
        "jobs/01",
        "jobs/1/",
        "jobs/1/x",
        "Jobs/1",
        " jobs/1",
        "jobs/1\n",
        "jobs/\u0661",
        "releases/1",
        "jobs/1.0",
        f"jobs/{10**18}",
        "jobs/" + "9" * 10_000,
    ],
)
def test_other_names_are_invalid(name: str) -> None:
    with pytest.raises(InvalidError) as raised:
        job_number(name)
    (fault,) = raised.value.faults
    assert (raised.value.code, fault.field) == ("NAME_INVALID", "name")
    assert len(fault.found) < 200


def test_the_fault_says_which_field_has_the_name() -> None:
    with pytest.raises(InvalidError) as raised:
        release_number("jobs/1", "release")
    assert raised.value.faults[0].field == "release"


def test_page_sizes() -> None:
    assert [page_size(size) for size in (0, 1, 50, 1000, 1001, 2**31 - 1)] == [50, 1, 50, 1000, 1000, 1000]
    with pytest.raises(InvalidError) as raised:
        page_size(-1)
    assert raised.value.faults[0].field == "page_size"


@given(st.integers(1, 2**62), TEXTS, st.integers(0, 2**31 - 1))
def test_page_tokens_read_back(before: int, name: str, version: int) -> None:
    assert read_number_token("jobs", number_token("jobs", before)) == before
    assert read_hierarchy_token(hierarchy_token((name, version))) == (name, version)


def test_the_first_page_has_no_token() -> None:
    assert read_number_token("jobs", "") is None
    assert read_hierarchy_token("") == ("", 0)


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "%%%",
        "jobs/12",
        "é",
        base64.b64encode(b"\xff").decode(),
        "A" * 100_000,
        "\n",
        *(
            base64.urlsafe_b64encode(text).decode()
            for text in (
                b'["jobs",0]',
                b'["jobs",9223372036854775808]',
                b'["hierarchies","a",2147483648]',
                b"null",
                b"[]",
                b"12",
                b'["jobs"]',
                b'["jobs","1"]',
                b'["jobs",1,1]',
                b'["releases",1]',
                b"[" * 9999,
                b'["hierarchies","a","1"]',
                b'["hierarchies",1,1]',
                b'{"jobs":1}',
            )
        ),
    ],
)
def test_other_tokens_are_invalid(token: str) -> None:
    for read in (lambda: read_number_token("jobs", token), lambda: read_hierarchy_token(token)):
        with pytest.raises(InvalidError) as raised:
            read()
        assert raised.value.faults[0].field == "page_token"


@pytest.mark.parametrize(
    ("proto", "domain"),
    [
        (policy_pb2.Role, enums.ROLES),
        (policy_pb2.Aggregate, enums.AGGREGATES),
        (policy_pb2.DateUnit, enums.enum_map(DateUnit)),
        (policy_pb2.IfExists, enums.IF_EXISTS),
        (policy_pb2.KLWeighting, enums.enum_map(KLWeighting)),
        (policy_pb2.MaskFrom, enums.enum_map(MaskFrom)),
        (policy_pb2.NullHandling, enums.NULL_HANDLING),
        (policy_pb2.ReleaseKind, enums.RELEASE_KINDS),
        (policy_pb2.SearchStrategy, enums.SEARCH_STRATEGIES),
        (policy_pb2.SuppressedRecordsHandling, enums.SUPPRESSED_RECORDS),
        (faults_pb2.FailureKind, enums.FAILURE_KINDS),
        (job_service_pb2.JobPhase, enums.JOB_PHASES),
        (job_service_pb2.JobState, enums.JOB_STATES),
        (release_service_pb2.ReleaseObjectKind, enums.OBJECT_KINDS),
        (policy_pb2.EntropyEstimator, enums.enum_map(EntropyEstimator)),
        (policy_pb2.PadAt, enums.enum_map(PadAt)),
        (policy_pb2.Clustering, enums.enum_map(Clustering)),
        (policy_pb2.ClosenessAlgorithm, enums.enum_map(ClosenessAlgorithm)),
    ],
)
def test_enums_match_value_by_value(proto: Any, domain: enums.EnumMap[StrEnum]) -> None:
    assert domain.from_proto(0) is None
    assert domain.to_proto(None) == 0
    assert [domain.to_proto(domain.from_proto(number)) for number in proto.values()] == list(proto.values())


@given(st.sampled_from(FailureKind), TEXTS, TEXTS, st.lists(st.builds(Fault, TEXTS, TEXTS, TEXTS, TEXTS), max_size=3))
def test_failures_read_back(kind: FailureKind, code: str, message: str, faults: list[Fault]) -> None:
    failure = Failure(kind, code, message, tuple(faults))
    assert failure_from_proto(failure_to_proto(failure)) == failure


def test_failures_of_newer_servers_count_as_internal() -> None:
    assert failure_from_proto(faults_pb2.Failure(code="NEW")).kind is FailureKind.INTERNAL


def test_texts_that_are_not_unicode_still_arrive() -> None:
    failure = Failure(FailureKind.BUSY, "X", "\udcff", (Fault("path", "a\udcffb", "", ""),))
    assert failure_to_proto(failure).faults[0].found == "a?b"


REQUEST = Request(7, "req", "{}", "digest", TableReference("db", "main", "t"), "public", "released", MOMENT)


def test_a_queued_job() -> None:
    message = job_to_proto(Job(REQUEST, JobState.QUEUED, queue_position=2))
    assert message.name == "jobs/7"
    assert message.state == job_service_pb2.JOB_STATE_QUEUED
    assert message.phase == job_service_pb2.JOB_PHASE_UNSPECIFIED
    assert message.request_id == "req"
    assert message.source == policy_pb2.TableReference(catalog="db", schema="main", table="t")
    assert (message.target.schema, message.target.name) == ("public", "released")
    assert message.submit_time.ToDatetime(UTC) == MOMENT.replace(tzinfo=UTC)
    assert message.queue_position == 2
    assert {"start_time", "end_time", "progress", "failure"}.isdisjoint(field.name for field, _ in message.ListFields())
    assert message.result == ""


def test_a_running_job() -> None:
    progress = JobProgress(12, "1" + "0" * 30, None, None, 0.0)
    message = job_to_proto(Job(REQUEST, JobState.RUNNING, JobPhase.SEARCHING, MOMENT, progress=progress))
    assert message.phase == job_service_pb2.JOB_PHASE_SEARCHING
    assert message.start_time.ToDatetime() == MOMENT
    assert message.progress.transformations_checked == 12
    assert message.progress.lattice_size == "1" + "0" * 30
    assert not message.progress.HasField("best_score")
    assert message.progress.HasField("suppressed_share"), "zero is known, not unset"


def test_ended_jobs() -> None:
    succeeded = job_to_proto(
        Job(REQUEST, JobState.SUCCEEDED, ended_at=MOMENT, result=3, warnings=(must_decide("careful"),))
    )
    assert (succeeded.result, list(succeeded.warnings)) == ("releases/3", ["careful"])
    assert succeeded.warning_ranks == [faults_pb2.WARNING_RANK_MUST_BE_DECIDED]
    together = Relaxation((Change("privacy_models[0].k_anonymity.k", "4"), Change("suppression_limit", "0.1")), True)
    left_out = Relaxation((Change("search.levels", ""),), False)
    failure = Failure(FailureKind.INFEASIBLE, "INFEASIBLE", "no", relaxations=(together, left_out))
    failed = job_to_proto(Job(REQUEST, JobState.FAILED, ended_at=MOMENT, failure=failure))
    assert failure_from_proto(failed.failure) == failure


POLICY = policy_pb2.Policy(suppression_limit="0.05")
RELEASE = Release(
    number=3,
    job=7,
    created_at=MOMENT,
    source=TableReference("db", "main", "t"),
    source_fingerprint="abcd",
    target_schema="public",
    target_name="released",
    kind=ReleaseKind.VIEW,
    repeat_reason="",
    needs_approval=False,
    records=100,
    suppressed_records=5,
    classes=9,
    score=0.5,
    quality_model="precision, sum",
    proof=Proof(
        optimal=False,
        lower_bound=0.25,
        strategy="anytime: asked for",
        seconds=0.5,
        counter="duckdb",
        counting="all in numpy",
        searched=Searched("12", 8, 11, {"bound": "4"}, (RunnerUp((1, 2), 0.75, 1),), 0.0),
    ),
    attributes=(
        AttributeResult("age", 1, 3, 0.5, 80, 8, "rule", 0.0),
        AttributeResult("sex", 0, 1, 0, 2, 2, "x", None),
    ),
    objects=(ReleaseObject("released", ObjectKind.ROWS, 95),),
    risk_before=ProsecutorRisk(100, 60, 1.0, 0.6, 0.1, 40, ((Decimal("0.00000005"), 90),)),
    risk_after=ProsecutorRisk(95, 9, 0.2, 0.1, 0.05, 0, ()),
    risk_by_size=ProsecutorRisk(95, 9, 0.2, 0.1, 0.05, 0, ()),
    seconds=2.5,
    phase_seconds={"searching": 0.5},
    versions={"tableveil": "0.1.0"},
    warnings=(must_decide("careful"),),
    policy=canonical_json(POLICY),
    explanation=Explanation(
        itself=Neighbour((), 0, None, 12, 3, 5, 0, 0.5, (Rejection("5-anonymity", 3, 5, 3, 5, False),)),
        neighbours=(
            Neighbour(("age", "sex"), -1, 0, 40, 30, 60, 55, None, (Rejection("5-anonymity", 30, 60, 30, 60, True),)),
        ),
        complete=True,
    ),
    costs=(CostPart("age", None, 12, 0.75), CostPart("age", "*", 5, 0.5), CostPart("", None, 5, 0.25)),
    alternatives=(Alternative(3, Decimal("0.05"), 0.25, 5), Alternative(None, Decimal("0.1"), 0.5, 0)),
    suppressed_labels=(SuppressedLabel("age", "[0, 9]", 9, 4), SuppressedLabel("age", None, 1, 1)),
    warehouse="lake",
    current=False,
    source_tables=(TableReference("clinic", "main", "visits"),),
    withdrawal=Withdrawal(datetime(2024, 2, 1), "a mistake", ("released",)),
    guarantees=(
        Guarantee("k_anonymity", "", "k", 1.0, 5.0),
        Guarantee("delta_disclosure", "illness", "delta", math.inf, 0.0),
        Guarantee("k_map", "", "k", None, None),
    ),
    exposures=(Exposure(("ward",), ("age",), 0, 3, 95, 5, counts_people=True),),
    decision=Decision(True, "bob", MOMENT, "agreed"),
    publications=(Publication("shelf", "ann", MOMENT, attempts=2, code="DISK_FULL"),),
    matches=(Match(3, 2, "all 60 values of 'id' in releases/2 recur here"),),
)


def test_a_release() -> None:
    message = release_to_proto(RELEASE)
    assert (message.name, message.job, message.current) == ("releases/3", "jobs/7", False)
    assert message.create_time.ToDatetime() == MOMENT
    assert message.target.kind == policy_pb2.RELEASE_KIND_VIEW
    assert message.objects[0] == release_service_pb2.ReleaseObject(
        name="released", kind=release_service_pb2.RELEASE_OBJECT_KIND_ROWS, rows=95
    )
    assert message.attributes[0].top_level == 3
    assert (message.proof.gap, dict(message.proof.pruned)) == (0.25, {"bound": "4"})
    assert list(message.proof.runners_up[0].levels) == [1, 2]
    assert message.risk_before.records_at_risk[0].threshold == "0.00000005"
    assert (dict(message.versions), dict(message.phase_durations)) == (
        {"tableveil": "0.1.0"},
        {"searching": duration(0.5)},
    )
    assert message.policy == POLICY


def test_parts_that_are_0_are_told_from_none() -> None:
    message = release_to_proto(RELEASE)
    assert [result.HasField("part") for result in message.attributes] == [True, False]
    assert message.proof.HasField("best_after")


def test_the_explanation_of_a_release() -> None:
    itself, (below,) = (explanation := release_to_proto(RELEASE).explanation).itself, explanation.neighbours
    assert explanation.complete
    assert (list(itself.columns), itself.step, itself.score, itself.HasField("level")) == ([], 0, 0.5, False)
    assert (list(below.columns), below.step, below.level, below.HasField("level")) == (["age", "sex"], -1, 0, True)
    assert (below.classes, below.rejected_classes, below.suppressed_records, below.records_over_limit) == (
        *(40, 30),
        *(60, 55),
    )
    assert not below.HasField("score"), "it is not valid"
    assert below.rejections[0] == release_service_pb2.Rejection(
        privacy_model="5-anonymity", classes=30, records=60, only_classes=30, only_records=60, binds=True
    )


def test_guarantees_of_0_are_told_from_none() -> None:
    k, delta, nothing = release_to_proto(RELEASE).guarantees
    assert (k.model, k.column, k.parameter, k.before, k.after) == ("k_anonymity", "", "k", 1.0, 5.0)
    assert (delta.column, delta.before, delta.HasField("after")) == ("illness", math.inf, True)
    assert not nothing.HasField("before")
    assert not nothing.HasField("after")


TRIAL = replace(RELEASE, trial=Trial("ann", MOMENT, "abcd"), withdrawal=None)


def test_every_field_of_a_release_is_set() -> None:
    unset = {field.name for field in release_service_pb2.Release.DESCRIPTOR.fields}
    unset -= {field.name for field, _ in release_to_proto(RELEASE).ListFields()}
    unset -= {field.name for field, _ in release_to_proto(TRIAL).ListFields()}
    promoted = replace(TRIAL, trial=Trial("ann", MOMENT, "abcd", MOMENT))
    unset -= {field.name for field, _ in release_to_proto(promoted).ListFields()}
    assert unset == {"current"}, "which is false here"


def test_a_release_without_its_policy() -> None:
    assert not release_to_proto(RELEASE, with_policy=False).HasField("policy")


def test_a_stored_hierarchy() -> None:
    message = stored_hierarchy_to_proto(Stored(1, "zip", 2, 6, 99_999, MOMENT))
    assert (message.name, message.version, message.levels, message.values) == ("zip", 2, 6, 99_999)
    assert message.create_time.ToDatetime() == MOMENT
