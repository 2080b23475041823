"""Jobs for classifier assessments: what was released is found again, its figures are stored, and published if asked."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.classification.model import Assessment
from tableveil.convert import canonical_json, stored_policy
from tableveil.errors import ConflictError, InvalidError, NotFoundError
from tableveil.features.columns import draw_sample, labels_of
from tableveil.features.unpaired import RowsBeside, paired_at_random
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lookups import Releases, Results
from tableveil.pipelines.assessed_release import read_again, resolve_assessed, written_rows
from tableveil.pipelines.classification import classification_work
from tableveil.pipelines.read import Dictionaries
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    IfExists,
    KAnonymity,
    LossModel,
    NullHandling,
    Policy,
    ReleaseKind,
    Role,
    Scale,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.requests.classification import ClassificationRequest, Classifier
from tableveil.runtime import FailureKind, Job, JobManager, JobSettings, open_jobs
from tableveil.state.classifications import Classification
from tableveil.state.jobs import JobKind, JobState
from tableveil.state.release_objects import ObjectKind
from tableveil.state.releases import Release
from tests.once import once
from tests.service.convert.policy_to_proto import policy_to_proto
from tests.service.jobs.plain import plain_target

SECONDS = 60.0
"""How long a test waits for what should take a moment."""

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "127", ("8", "32")), maximum_level=2),
        AttributePolicy("place", Role.QUASI_IDENTIFIER, SuppressionOnly(), nulls=NullHandling.SUPPRESS),
        AttributePolicy("ill", Role.SENSITIVE),
        AttributePolicy("score", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("name", Role.IDENTIFYING),
    ),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=plain_target("main", "published"),
    suppression_limit=Decimal("0.3"),
)

TREE = (Classifier.DECISION_TREE,)
ASKED = ClassificationRequest(1, ("ill",), classifiers=TREE, folds=3)


@pytest.fixture(autouse=True)
def people(session: Session) -> None:
    """People who are old, or live in p0, are ill more often than not."""
    session.execute(
        "CREATE TABLE people AS SELECT (hash(i, 1) % 80)::INT AS age, "
        "CASE WHEN hash(i, 2) % 20 > 0 THEN 'p' || hash(i, 2) % 3 END AS place, "
        "CASE WHEN age > 40 OR hash(i, 4) % 9 = 0 THEN 'yes' ELSE 'no' END AS ill, "
        "CASE WHEN i % 20 = 0 THEN 1 ELSE 0 END AS score, 'n' || i AS name FROM range(600) r(i)"
    )


@pytest.fixture
def jobs(database: Database) -> Iterator[JobManager]:
    manager = open_jobs(database)
    yield manager
    manager.close(SECONDS)


@pytest.fixture
def released(run: Callable[..., Release], database: Database) -> Release:
    return run(database, POLICY, document=canonical_json(policy_to_proto(POLICY)))


def ended(jobs: JobManager, request: ClassificationRequest) -> Job:
    number = jobs.submit(classification_work(request, "{}", stored_policy)).number
    deadline = time.monotonic() + SECONDS
    *_, last = jobs.watch(number, lambda: time.monotonic() > deadline)
    assert last.state.ended, last
    return last


def assessed(jobs: JobManager, database: Database, request: ClassificationRequest = ASKED) -> Classification:
    job = ended(jobs, request)
    assert job.state is JobState.SUCCEEDED, job.failure
    assert job.result is not None
    found = Results[Classification](database, JobKind.CLASSIFICATION).get(job.result)
    assert job.warnings == found.warnings
    return found


def asked(**changes: Any) -> ClassificationRequest:
    return replace(ASKED, **changes)


def accuracies(assessment: Assessment) -> tuple[float, float, float]:
    [comparison] = assessment.comparisons
    return assessment.baseline.accuracy, comparison.original.accuracy, comparison.anonymized.accuracy


# --- what is found --------------------------------------------------------------------------------------------------


def test_what_is_found(jobs: JobManager, database: Database, session: Session, released: Release) -> None:
    """A tree by age alone tells nearly all, on both sides; and the rows' order does not matter."""
    found = assessed(jobs, database, asked(classes=("ill", "score")))
    ill, score = found.assessments
    assert (found.release, found.records, found.sampled_records, found.folds) == (1, 600, 600, 3)
    assert found.suppressed_records == released.suppressed_records > 0
    assert (ill.features, ill.class_labels, ill.records) == (("age", "place"), ("no", "yes"), 600)
    most = session.value("SELECT max(n) / 600 FROM (SELECT count(*) AS n FROM people GROUP BY ill)")
    baseline, original, anonymized = accuracies(ill)
    assert baseline == pytest.approx(most)
    assert original > 0.85
    assert anonymized > 0.85
    assert score.comparisons[0].relative_accuracy is None
    assert score.class_labels == ("0", "1")
    assert ["The transformation" in found.warnings[0], "no relative accuracy" in found.warnings[1]] == [True, True]
    session.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM people ORDER BY hash(name)")
    assert assessed(jobs, database, asked(classes=("ill", "score"))).assessments == found.assessments


def test_some_records_inside_folds(jobs: JobManager, database: Database, released: Release) -> None:
    request = asked(choose_inside_folds=True, max_records=400, seed=3, features=("score", "age"))
    found = assessed(jobs, database, request)
    assert (found.records, found.sampled_records) == (600, 400)
    assert found.assessments[0].records == 400
    assert found.assessments[0].features == ("score", "age")
    assert [warning.split(":")[0] for warning in found.warnings] == [
        "The figures are of 400 of the 600 records, drawn by the seed 3",
        "Inside the folds a transformation was chosen for the 400 records that were drawn, not for all 600.",
    ]
    assert accuracies(found.assessments[0])[2] > 0.8


@pytest.mark.long
def test_aggregated_columns(run: Callable[..., Release], jobs: JobManager, database: Database) -> None:
    age = AttributePolicy("age", Role.QUASI_IDENTIFIER, nulls=NullHandling.ERROR, aggregation=Aggregation())
    mixed = replace(POLICY, attributes=(age, *POLICY.attributes[1:]))
    run(database, mixed, document=canonical_json(policy_to_proto(mixed)))
    found = assessed(jobs, database)
    assert found.assessments[0].features == ("age", "place")
    # All of a place have one mean.
    assert accuracies(found.assessments[0])[2] < 0.7 < accuracies(found.assessments[0])[1]
    inside = assessed(jobs, database, asked(choose_inside_folds=True))
    assert accuracies(inside.assessments[0])[2] < 0.7


def test_clusters(run: Callable[..., Release], jobs: JobManager, database: Database, session: Session) -> None:
    """Classifiers are trained on the aggregates that were released, and evaluated on those of everybody."""
    age = AttributePolicy("age", Role.QUASI_IDENTIFIER, nulls=NullHandling.ERROR, aggregation=Aggregation())
    place = replace(POLICY.attributes[1], aggregation=Aggregation(AggregateFunction.MODE, Scale.NOMINAL))
    policy = replace(POLICY, attributes=(age, place, *POLICY.attributes[2:]), methods=(Microaggregation(),))
    run(database, policy, document=canonical_json(policy_to_proto(policy)))
    found = assessed(jobs, database)
    baseline, original, anonymized = accuracies(found.assessments[0])
    assert baseline < anonymized <= original + 0.05
    with pytest.raises(InvalidError) as raised:
        jobs.submit(classification_work(asked(choose_inside_folds=True), "{}", stored_policy))
    [fault] = raised.value.faults
    assert fault.field == "choose_inside_folds"


@pytest.mark.long
def test_clusters_of_people_with_several_records(
    run: Callable[..., Release], jobs: JobManager, database: Database, session: Session
) -> None:
    """The release is rebuilt, with the same clusters: who is in which is known from the people's own order."""
    session.execute("CREATE OR REPLACE TABLE people AS SELECT * REPLACE ('n' || hash(name) % 150 AS name) FROM people")
    age = AttributePolicy("age", Role.QUASI_IDENTIFIER, nulls=NullHandling.ERROR, aggregation=Aggregation())
    place = AttributePolicy("place", Role.IDENTIFYING)
    policy = replace(POLICY, person_column="name", methods=(Microaggregation(),))
    policy = replace(policy, attributes=(age, place, *POLICY.attributes[2:]))
    run(database, policy, document=canonical_json(policy_to_proto(policy)))
    before = assessed(jobs, database)
    baseline, original, anonymized = accuracies(before.assessments[0])
    assert baseline < anonymized <= original + 0.05
    session.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM people ORDER BY hash(ill, age)")
    assert assessed(jobs, database).assessments == before.assessments


@pytest.mark.long
def test_all_suppressed(run: Callable[..., Release], jobs: JobManager, database: Database) -> None:
    """Then the release is worth what is known without it."""
    nothing = replace(POLICY, privacy_models=(KAnonymity(600),), suppression_limit=Decimal(1))
    run(database, nothing, document=canonical_json(policy_to_proto(nothing)))
    found = assessed(jobs, database)
    baseline, _, anonymized = accuracies(found.assessments[0])
    assert (found.suppressed_records, anonymized) == (600, baseline)
    assert any("learns nothing" in warning for warning in found.warnings)


# --- what is refused ------------------------------------------------------------------------------------------------


UNFIT: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"classes": ("ilL",)}, "classes[0]", "Did you mean 'ill'?"),
    ({"classes": ("score", "age")}, "classes[1]", "'age', which is quasi identifier"),
    ({"classes": ("name",)}, "classes[0]", "'name', which is identifying"),
    ({"features": ("age", "name")}, "features[1]", "'name', which is identifying"),
    ({"features": ("plase",)}, "features[0]", "Did you mean 'place'?"),
)


def test_columns_that_do_not_fit(jobs: JobManager, released: Release) -> None:
    for changes, field, found in UNFIT:
        with pytest.raises(InvalidError) as raised:
            jobs.submit(classification_work(asked(**changes), "{}", stored_policy))
        [fault] = raised.value.faults
        assert fault.field == field
        assert found in str(fault)


def test_rows_that_do_not_fit(
    run: Callable[..., Release], jobs: JobManager, database: Database, session: Session
) -> None:
    session.execute("CREATE OR REPLACE TABLE people AS SELECT * REPLACE ('yes' AS ill) FROM people LIMIT 20")
    run(database, POLICY, document=canonical_json(policy_to_proto(POLICY)))
    failure = ended(jobs, asked(folds=30)).failure
    assert failure is not None
    assert failure.kind is FailureKind.INVALID
    assert [fault.field for fault in failure.faults] == ["folds", "classes[0]"]
    assert "1 different values" in failure.faults[1].found
    assert "yes" not in failure.to_json()


@pytest.mark.long
def test_no_fold_is_feasible(jobs: JobManager, database: Database, run: Callable[..., Release]) -> None:
    """600 records in one class are 599 too few for the training records of a fold."""
    strict = replace(POLICY, privacy_models=(KAnonymity(550),), suppression_limit=Decimal("0.1"))
    attributes = (replace(strict.attributes[0], maximum_level=None), *strict.attributes[1:])
    # The illness of more than half of the people follows from their age, where a class has 550.
    attributes = tuple(replace(a, acknowledged=a.role is Role.SENSITIVE) for a in attributes)
    strict = replace(strict, attributes=attributes)
    run(database, strict, document=canonical_json(policy_to_proto(strict)))
    failure = ended(jobs, asked(choose_inside_folds=True)).failure
    assert failure is not None
    assert (failure.kind, failure.code) == (FailureKind.INFEASIBLE, "FOLD_INFEASIBLE")
    assert failure.faults[0].field == "choose_inside_folds"


@pytest.mark.long
def test_what_is_not_there_any_more(
    run: Callable[..., Release], jobs: JobManager, database: Database, session: Session, released: Release
) -> None:
    with pytest.raises(NotFoundError):
        jobs.submit(classification_work(asked(release=9), "{}", stored_policy))
    session.execute("UPDATE people SET ill = 'no' WHERE name = 'n7' AND ill = 'yes' OR name = 'n8'")
    session.execute("UPDATE people SET age = age + 1 WHERE name = 'n9'")
    failure = ended(jobs, ASKED).failure
    assert failure is not None
    assert (failure.kind, failure.code) == (FailureKind.CONFLICT, "SOURCE_CHANGED")
    again = replace(POLICY, release=plain_target("main", "published", if_exists=IfExists.REPLACE), repeat_reason="new")
    run(database, again, document=canonical_json(policy_to_proto(again)))
    with pytest.raises(ConflictError, match="later release has replaced"):
        jobs.submit(classification_work(ASKED, "{}", stored_policy))
    session.execute("DROP TABLE people")
    with pytest.raises(NotFoundError, match="whose tables are not all there"):
        jobs.submit(classification_work(asked(release=2), "{}", stored_policy))


# --- what is published ----------------------------------------------------------------------------------------------


def test_published_figures(
    run: Callable[..., Release], jobs: JobManager, database: Database, session: Session, released: Release
) -> None:
    """They are the release's own: they go with it, and nothing else is taken for them."""
    table = "published_classification"
    session.execute(f"CREATE TABLE {table} (mine INTEGER)")
    with pytest.raises(ConflictError, match="no assessment of releases/1 wrote"):
        jobs.submit(classification_work(asked(publish=True), "{}", stored_policy))
    session.execute(f"DROP TABLE {table}")
    assert assessed(jobs, database).published == ""
    assert [kind for kind in objects(database) if kind is ObjectKind.CLASSIFICATION] == []
    found = assessed(jobs, database, asked(publish=True, classes=("ill", "score")))
    assert found.published == table
    rows = session.rows(f"SELECT class_column, classifier, measure, class, value FROM {table}")
    assert ("ill", "ZERO_R", "accuracy", None, found.assessments[0].baseline.accuracy) in rows
    [tree] = found.assessments[0].comparisons
    assert ("ill", "DECISION_TREE", "relative_accuracy", None, tree.relative_accuracy) in rows
    assert ("ill", "DECISION_TREE", "anonymized_recall", "yes", tree.anonymized.classes[1].recall) in rows
    assert objects(database)[ObjectKind.CLASSIFICATION] == len(rows)
    assessed(jobs, database, asked(publish=True))
    assert session.value(f"SELECT count(DISTINCT class_column) FROM {table}") == 1
    again = replace(POLICY, release=plain_target("main", "published", if_exists=IfExists.REPLACE), repeat_reason="new")
    run(database, again, document=canonical_json(policy_to_proto(again)))
    assert session.value(f"SELECT count(*) FROM duckdb_tables() WHERE table_name = '{table}'") == 0


def test_nothing_is_published_where_another_person_has_to_approve(database: Database, released: Release) -> None:
    manager = open_jobs(database, JobSettings(approval=["MAIN"]))
    try:
        failure = ended(manager, asked(publish=True)).failure
        assert failure is not None
        assert failure.code == "APPROVAL_NEEDED"
        assert assessed(manager, database).published == ""
    finally:
        manager.close(SECONDS)
    assert ObjectKind.CLASSIFICATION not in objects(database)


def objects(database: Database) -> dict[ObjectKind, int]:
    return {item.kind: item.row_count for item in Releases(database).get(1).objects}


# --- local recoding -------------------------------------------------------------------------------------------------

LOCAL = replace(
    POLICY,
    methods=(LocalRecoding(),),
    suppressed_records=SuppressedRecords.KEEP,
    marker_column="suppressed",
    quality_model=LossModel(),
)


@pytest.mark.long
def test_local_recoding(run: Callable[..., Release], jobs: JobManager, database: Database, session: Session) -> None:
    """Ages of labels of all widths count as numbers; nobody guesses whose row is whose."""
    release = run(database, LOCAL, document=canonical_json(policy_to_proto(LOCAL)))
    assert session.value("SELECT count(*) FROM published WHERE suppressed") == release.suppressed_records > 0
    ill, score = (found := assessed(jobs, database, asked(classes=("ill", "score")))).assessments
    assert (found.records, found.suppressed_records) == (600, release.suppressed_records)
    assert (ill.features, ill.class_labels, ill.records, score.records) == (("age", "place"), ("no", "yes"), 600, 600)
    baseline, original, anonymized = accuracies(ill)
    assert baseline + 0.1 < anonymized <= original
    assert "local recoding" in found.warnings[0]
    session.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM people ORDER BY hash(name)")
    assert assessed(jobs, database, asked(classes=("ill", "score"))).assessments == found.assessments
    some = assessed(jobs, database, asked(max_records=300, features=("age", "score")))
    assert (some.sampled_records, some.assessments[0].records) == (300, 300)
    with pytest.raises(InvalidError, match="false: records of other folds"):
        jobs.submit(classification_work(asked(choose_inside_folds=True), "{}", stored_policy))
    session.execute("UPDATE published SET score = 1 - score WHERE rowid = 7")
    failure = ended(jobs, ASKED).failure
    assert failure is not None
    assert failure.code == "RELEASE_CHANGED"


@pytest.mark.parametrize("kind", once(ReleaseKind))
def test_rows_of_a_local_recoding_beside_records(
    run: Callable[..., Release], database: Database, session: Session, kind: ReleaseKind
) -> None:
    """Per class, the records' features are a permutation of the released rows', read as numbers by hand."""
    policy = replace(LOCAL, release=plain_target("main", "published", kind))
    release = run(database, policy, document=canonical_json(policy_to_proto(policy)))
    with session.transaction():
        subject = resolve_assessed(session, ASKED, stored_policy)
        sample = draw_sample(session, subject.source, 600, 0)
        classes = {"ill": labels_of(session, sample, "ill")}
        read = read_again(session, subject)
        assert isinstance(read, Dictionaries)
        levels = {found.column.name: (found, range(found.levels.top + 1)) for found in read.generalized}
        rows = written_rows(session, subject)
        [records] = paired_at_random(session, sample, RowsBeside(rows, levels), ("age", "place"), classes, 0)
    age, place = (feature.released for feature in records.features)
    assert age.numbers is not None

    def middle(label: str | None) -> float | None:
        if label in (None, "*"):
            return None
        ends = [float(end) for end in str(label).strip("[]").split(", ")]
        return sum(ends) / len(ends)

    numbers = [None if number != number else float(number) for number in age.numbers[age.codes]]
    places = [code == place.unknown for code in place.codes]
    texts = [records.class_labels[code] for code in records.classes]
    kept = records.kept.tolist()
    written = session.rows("SELECT ill, age::VARCHAR, place FROM published WHERE NOT suppressed")
    wanted = Counter((ill, middle(a), p in (None, "*")) for ill, a, p in written)
    assert Counter(row for row, k in zip(zip(texts, numbers, places, strict=True), kept, strict=True) if k) == wanted
    assert kept.count(False) == release.suppressed_records
    assert all(n is None and p for n, p, k in zip(numbers, places, kept, strict=True) if not k)
    assert Counter(texts) == Counter(ill for (ill,) in session.rows("SELECT ill FROM people"))
