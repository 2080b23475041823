"""Jobs for utility reports: what they find is what the rows say, they store it, and end as other jobs do."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.convert import canonical_json, stored_policy
from tableveil.errors import ConflictError, NotFoundError
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lookups import Results
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    IfExists,
    KAnonymity,
    Policy,
    ReleaseKind,
    Role,
    Scale,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.runtime import Job, JobManager, open_jobs
from tableveil.state.jobs import JobKind, JobState
from tableveil.state.releases import Release
from tableveil.state.utility_reports import StoredUtility
from tableveil.usefulness import ColumnUtility, UtilityReport
from tests.once import once
from tests.service.convert.policy_to_proto import policy_to_proto
from tests.service.jobs.plain import plain_target

SECONDS = 60.0

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "63", ("16", "32")), minimum_level=1),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("weight", Role.SENSITIVE),
        AttributePolicy("ward", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("name", Role.IDENTIFYING),
    ),
    person_column=None,
    privacy_models=(KAnonymity(3),),
    release=plain_target("main", "published"),
    default_role=Role.INSENSITIVE,
    suppression_limit=Decimal("0.3"),
    suppressed_records=SuppressedRecords.BLANK,
    marker_column="gone",
)


@pytest.fixture(autouse=True)
def people(session: Session) -> None:
    session.execute(
        "CREATE TABLE people AS SELECT (hash(i, 1) % 60)::INT AS age, CASE WHEN i % 50 = 0 THEN 'x' WHEN i % 2 = 0 "
        "THEN 'f' ELSE 'm' END AS sex, 50.0 + i % 7 AS weight, 'p' || i AS name, i % 3 AS ward FROM range(400) r(i)"
    )


@pytest.fixture
def jobs(database: Database) -> Iterator[JobManager]:
    manager = open_jobs(database)
    yield manager
    manager.close(SECONDS)


@pytest.fixture
def released(database: Database, run: Callable[..., Release]) -> Callable[..., Release]:
    def release(policy: Policy = POLICY) -> Release:
        return run(database, policy, document=canonical_json(policy_to_proto(policy)))

    return release


def ended(jobs: JobManager, release: int, request_id: str = "") -> Job:
    number = jobs.submit(utility_report_work(release, "{}", stored_policy), request_id).number
    deadline = time.monotonic() + SECONDS
    *_, last = jobs.watch(number, lambda: time.monotonic() > deadline)
    assert last.state.ended, last
    return last


def report_of(jobs: JobManager, database: Database, release: int) -> UtilityReport:
    job = ended(jobs, release)
    assert job.state is JobState.SUCCEEDED, job.failure
    assert job.result is not None
    return Results[StoredUtility](database, JobKind.UTILITY_REPORT).get(job.result).report


def column(report: UtilityReport, name: str) -> ColumnUtility:
    return next(found for found in report.columns if found.column == name)


def ends_of(label: str) -> tuple[int, int]:
    first, last = map(int, label.strip("[])").split(", "))
    return first, last


def check_spread(age: ColumnUtility, labels: dict[str, int]) -> None:
    """The bins are those of the source, and a label's records are spread evenly over those that it covers."""
    after = {bin_.label: bin_.records for bin_ in age.after.bins}
    intervals = [bin_.label or "" for bin_ in age.before.bins]
    # The top's label tells no number: its records count as missing.
    assert {label: records for label, records in after.items() if label not in intervals} == (
        {None: labels["*"]} if "*" in labels else {}
    )
    end = max(ends_of(interval)[1] for interval in intervals)
    for interval in intervals:
        low, high = ends_of(interval)
        shares = [
            records * max(min(high, last + 1, end) - max(low, first), 0) / (min(last + 1, end) - first)
            for label, records in labels.items()
            if label != "*"
            for first, last in [ends_of(label)]
        ]
        assert abs(after.get(interval, 0) - sum(shares)) <= len(labels)


@pytest.mark.parametrize("kind", once(list(ReleaseKind)))
def test_it_says_what_the_rows_say(
    jobs: JobManager, database: Database, session: Session, released: Callable[..., Release], kind: ReleaseKind
) -> None:
    release = released(replace(POLICY, release=replace(POLICY.release, kind=kind)))
    report = report_of(jobs, database, release.number)
    assert [found.column for found in report.columns] == ["age", "sex", "weight", "ward"]
    kept = release.records - release.suppressed_records
    for found in report.columns:
        assert (found.before.records, found.after.records) == (400, kept)
        assert sum(bin_.records for bin_ in found.before.bins) == 400
        assert sum(bin_.records for bin_ in found.after.bins) == kept
    age, weight, ward = column(report, "age"), column(report, "weight"), column(report, "ward")
    mean, variance, median = session.row("SELECT avg(age), var_pop(age), median(age) FROM people")
    assert age.before.mean == pytest.approx(mean)
    assert age.before.variance == pytest.approx(variance)
    assert age.before.quantiles[3] == median
    labels = dict(session.rows("SELECT age, count(*) FROM published WHERE NOT gone GROUP BY age"))
    check_spread(age, labels)
    assert (age.role, age.treatment) == ("QUASI_IDENTIFIER", f"level {release.attributes[0].level} of 3")
    assert age.loss == release.attributes[0].loss
    assert (weight.role, weight.treatment, weight.loss) == ("SENSITIVE", "as it is", None)
    assert ward.role == "INSENSITIVE"
    assert weight.after.mean == pytest.approx(session.value("SELECT avg(weight) FROM published WHERE NOT gone"))
    assert {(one.first, one.second) for one in report.associations} == {
        ("age", "sex"), ("age", "weight"), ("age", "ward"), ("sex", "weight"), ("sex", "ward"), ("weight", "ward"),
    }  # fmt: skip
    assert f"{release.suppressed_records:,} of 400 records are suppressed" in report.notes[0]


@pytest.mark.long
def test_labels_of_local_recoding_count_each_by_its_own_width(
    jobs: JobManager, database: Database, session: Session, released: Callable[..., Release]
) -> None:
    release = released(replace(POLICY, methods=(LocalRecoding(),), privacy_models=(KAnonymity(6),)))
    report = report_of(jobs, database, release.number)
    age = column(report, "age")
    labels = dict(session.rows("SELECT age, count(*) FROM published WHERE NOT gone GROUP BY age"))
    assert {"*", "[48, 63]"} <= labels.keys(), "no mixed widths"
    check_spread(age, labels)
    assert age.loss == release.attributes[0].loss


@pytest.mark.parametrize(
    "method",
    once(
        [
            {},
            {"methods": (LocalRecoding(),)},
            {"methods": (Microaggregation(),), "suppressed_records": SuppressedRecords.DROP, "marker_column": None},
        ]
    ),
    ids=["one transformation", "local recoding", "microaggregation"],
)
def test_all_records_of_people_are_measured(
    jobs: JobManager, database: Database, session: Session, released: Callable[..., Release], method: dict[str, Any]
) -> None:
    session.execute("UPDATE people SET name = 'p' || (substr(name, 2)::INT % 150)")
    attributes = POLICY.attributes
    if Microaggregation() in method.get("methods", ()):
        age, sex, *others = POLICY.attributes
        age = AttributePolicy("age", Role.QUASI_IDENTIFIER, aggregation=Aggregation())
        sex = replace(sex, aggregation=Aggregation(AggregateFunction.MODE, Scale.NOMINAL))
        attributes = (age, sex, *others)
    release = released(replace(POLICY, attributes=attributes, person_column="name", **method))
    report = report_of(jobs, database, release.number)
    kept = session.value("SELECT count(*) FROM published WHERE age IS NOT NULL")
    for name in ("age", "sex"):
        assert (column(report, name).before.records, column(report, name).after.records) == (400, kept)
    assert column(report, "age").before.mean == pytest.approx(session.value("SELECT avg(age) FROM people"))


def test_the_source_must_be_as_it_was(jobs: JobManager, session: Session, released: Callable[..., Release]) -> None:
    release = released()
    session.execute("UPDATE people SET age = age + 1 WHERE name = 'p7'")
    failure = ended(jobs, release.number).failure
    assert failure is not None
    assert failure.code == "SOURCE_CHANGED"
    session.execute("DROP TABLE people")
    failure = ended(jobs, release.number).failure
    assert failure is not None
    assert failure.code == "TABLE_NOT_FOUND"


@pytest.mark.long
def test_a_release_that_is_not_there(jobs: JobManager, released: Callable[..., Release]) -> None:
    with pytest.raises(NotFoundError):
        jobs.submit(utility_report_work(77, "{}", stored_policy))
    first = released()
    again = replace(POLICY, release=replace(POLICY.release, if_exists=IfExists.REPLACE), repeat_reason="again")
    released(again)
    with pytest.raises(ConflictError):
        jobs.submit(utility_report_work(first.number, "{}", stored_policy))


@pytest.mark.long
def test_the_same_request_is_one_job(jobs: JobManager, released: Callable[..., Release]) -> None:
    release = released()
    assert ended(jobs, release.number, "nightly").number == ended(jobs, release.number, "nightly").number


def test_what_is_not_there_is_said(database: Database) -> None:
    with pytest.raises(NotFoundError):
        Results[StoredUtility](database, JobKind.UTILITY_REPORT).get(3)
