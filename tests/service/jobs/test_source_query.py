"""Sources that are queries: at every step, the results equal those of a table with the query's rows."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tableveil.backend import Database, Session
from tableveil.convert import canonical_json, policy_from_json, policy_from_proto, stored_policy
from tableveil.document import read_policy
from tableveil.errors import ConflictError, InvalidError
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lookups import Results
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.classification import classification_work
from tableveil.pipelines.frontier import frontier_work
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.pipelines.work import JobReport, Work
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    DeltaPresence,
    KAnonymity,
    Policy,
    Population,
    ReleaseKind,
    Role,
    Scale,
    TableReference,
    validate_policy,
)
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.requests.classification import ClassificationRequest, Classifier
from tableveil.requests.frontier import FrontierGrid
from tableveil.runtime import FailureKind, Job, JobManager, open_jobs
from tableveil.state.frontiers import Frontier
from tableveil.state.jobs import JobKind, JobPhase
from tableveil.state.releases import Release
from tableveil.state.utility_reports import StoredUtility
from tests.once import once
from tests.service.convert.policy_to_proto import policy_to_proto
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]

SECONDS = 60.0
"""How long a test waits for what should take a moment."""

EXAMPLES = Path(__file__).parents[3] / "examples"

NO_TABLE = TableReference("", "main", "")

QUERY = (
    "WITH latest AS (FROM visits QUALIFY rank() OVER (PARTITION BY person ORDER BY day DESC) = 1) "
    "SELECT person, p.age, city, illness FROM latest JOIN people AS p USING (person) JOIN wards USING (ward) "
    "WHERE p.age >= 20"
)

POLICY = Policy(
    source=NO_TABLE,
    source_query=QUERY,
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "50"))),
        AttributePolicy("city", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE),
    ),
    person_column="person",
    default_role=Role.IDENTIFYING,
    privacy_models=(KAnonymity(3),),
    release=plain_target("main", "released"),
    suppression_limit=Decimal("0.1"),
)


@pytest.fixture(autouse=True)
def tables(session: Session) -> None:
    for statement in (
        "CREATE TABLE people AS SELECT i AS person, (hash(i) % 60)::INT + 10 AS age FROM range(150) r(i)",
        "CREATE TABLE visits AS SELECT i % 150 AS person, i // 150 AS day, (hash(i, 2) % 6)::INT AS ward, "
        "'illness ' || hash(i, 3) % 3 AS illness, i / 7 AS cost FROM range(450) r(i)",
        "CREATE TABLE wards AS SELECT i AS ward, 'city ' || i % 2 AS city FROM range(6) r(i)",
        "CREATE TABLE unrelated AS SELECT i AS n, i % 3 AS part FROM range(30) r(i)",
    ):
        session.execute(statement)


@pytest.fixture
def jobs(database: Database) -> Iterator[JobManager]:
    manager = open_jobs(database)
    yield manager
    manager.close(SECONDS)


def ended(jobs: JobManager, work: Work) -> Job:
    number = jobs.submit(work).number
    deadline = time.monotonic() + SECONDS
    *_, last = jobs.watch(number, lambda: time.monotonic() > deadline)
    assert last.state.ended, last
    return last


def documented(policy: Policy) -> str:
    return canonical_json(policy_to_proto(policy))


def evidence(release: Release) -> list[object]:
    """The findings of a release, without the name of its source and what it shows together with earlier releases."""
    attributes = [(a.column, a.level, a.loss, a.distinct_before, a.distinct_after) for a in release.attributes]
    counts = (release.records, release.suppressed_records, release.classes, release.score)
    own = [guarantee for guarantee in release.guarantees if not guarantee.model.startswith("joint_k")]
    return [attributes, counts, release.risk_before, release.risk_after, own]


# --- a release of a query -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", once(ReleaseKind))
def test_it_is_the_release_of_a_table_of_the_same_rows(
    database: Database, session: Session, run: Run, kind: ReleaseKind
) -> None:
    session.execute(f"CREATE TABLE same AS {QUERY}")
    of_table = replace(POLICY, source=TableReference("", "main", "same"), source_query="")
    of_table = replace(of_table, release=plain_target("main", "of_table"), repeat_reason="to compare")
    found = run(database, replace(POLICY, release=replace(POLICY.release, kind=kind)))
    expected = run(database, of_table)
    assert evidence(found) == evidence(expected)
    assert found.source_fingerprint == expected.source_fingerprint
    assert session.rows("FROM released") == session.rows("FROM of_table")
    assert session.rows("FROM released_classes") == session.rows("FROM of_table_classes")
    assert (found.source.schema, found.source.table) == ("", "")
    assert [table.table for table in found.source_tables] == ["people", "visits", "wards"]
    assert expected.source_tables == ()


@pytest.mark.long
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    least=st.integers(10, 40),
    grouped=st.booleans(),
    join=st.sampled_from(["JOIN", "LEFT JOIN"]),
    wards=st.sets(st.integers(0, 5), min_size=2),
    distinct=st.booleans(),
)
def test_whatever_is_joined_filtered_and_aggregated(
    database: Database,
    session: Session,
    run: Run,
    least: int,
    grouped: bool,
    join: str,
    wards: set[int],
    distinct: bool,
) -> None:
    """The rows are counted here in Python, from those of the tables."""
    ages = dict(session.rows("FROM people"))
    cities = {ward: city for ward, city in session.rows("FROM wards") if ward in wards}
    rows = [
        (ages[person], cities.get(ward), illness)
        for person, ward, illness in session.rows("SELECT person, ward, illness FROM visits")
        if ages[person] >= least and (ward in cities or join == "LEFT JOIN")
    ]
    chosen = "max(p.age) AS age, city, illness" if grouped else f"{'DISTINCT' if distinct else ''} p.age, city, illness"
    if grouped:
        groups: dict[tuple[str | None, str], int] = {}
        for age, city, illness in rows:
            groups[city, illness] = max(age, groups.get((city, illness), 0))
        rows = [(age, city, illness) for (city, illness), age in groups.items()]
    elif distinct:
        rows = list(set(rows))
    inside = ", ".join(map(str, sorted(wards)))
    query = (
        f"SELECT {chosen} FROM visits {join} (FROM wards WHERE ward IN ({inside})) USING (ward) "
        f"JOIN people p USING (person) WHERE p.age >= {least} {'GROUP BY ALL' if grouped else ''}"
    )
    policy = replace(POLICY, source_query=query, person_column=None, privacy_models=(KAnonymity(1),))
    bottom = tuple(replace(attribute, maximum_level=0) for attribute in policy.attributes[:2])
    policy = replace(policy, attributes=(*bottom, policy.attributes[2]), repeat_reason="another query")
    for written in policy.release.object_names:
        session.execute(f"DROP TABLE IF EXISTS {written}")
    release = run(database, policy)
    assert release.records == len(rows)

    def in_order(found: list[tuple[int, str | None, str]]) -> list[tuple[int, str, str]]:
        return sorted((age, city or "", illness) for age, city, illness in found)

    assert in_order(session.rows("SELECT age, city, illness FROM released")) == in_order(rows)


@pytest.mark.long
def test_microaggregation_and_subsets_are_of_the_querys_rows(database: Database, session: Session, run: Run) -> None:
    query = (
        "SELECT person + 150 * day AS person, age, city, day = 2 AS recent "
        "FROM visits JOIN people USING (person) JOIN wards USING (ward)"
    )
    population = Population(None, "recent")
    policy = replace(
        POLICY,
        source_query=query,
        attributes=POLICY.attributes[:2],
        population=population,
        privacy_models=(KAnonymity(3), DeltaPresence(Decimal(0), Decimal("0.9"))),
        suppression_limit=Decimal(1),
    )
    release = run(database, policy)
    assert release.records == 150
    mean = Aggregation(AggregateFunction.MEAN, Scale.NUMERIC)
    clustered = replace(
        POLICY,
        attributes=(replace(POLICY.attributes[0], hierarchy=None, aggregation=mean), POLICY.attributes[2]),
        methods=(Microaggregation(),),
        repeat_reason="clusters",
        release=plain_target("main", "clustered"),
        suppression_limit=Decimal(0),
    )
    assert run(database, clustered).records == session.value(f"SELECT count(*) FROM ({QUERY})")


def test_people_with_several_rows_are_counted(database: Database, run: Run) -> None:
    query = "SELECT person, age, city, illness FROM visits JOIN people USING (person) JOIN wards USING (ward)"
    release = run(database, replace(POLICY, source_query=query))
    assert release.records == 450
    assert any("a person with several records" in warning for warning in release.warnings), release.warnings


def test_a_query_without_rows_has_nothing_to_release(database: Database, run: Run) -> None:
    with pytest.raises(InvalidError, match="source_query: found the source query, which is empty"):
        run(database, replace(POLICY, source_query=QUERY + " AND false"))


def test_the_release_must_not_take_the_place_of_a_table_that_is_read(database: Database, run: Run) -> None:
    with pytest.raises(InvalidError, match="'WARDS', which is read by the source query"):
        run(database, replace(POLICY, release=plain_target("main", "WARDS")))


@pytest.mark.long
def test_the_example_releases_the_latest_visit_of_everybody(database: Database, session: Session, run: Run) -> None:
    message, unread = read_policy((EXAMPLES / "latest-visit.yaml").read_text(encoding="utf-8"), "yaml")
    policy, faults = policy_from_proto(message)
    assert [*unread, *faults] == []
    assert policy is not None
    # Each diagnosis below is of one visit only, so that a record tells which.
    acknowledged = (replace(a, acknowledged=a.column == "diagnosis") for a in policy.attributes)
    policy = replace(policy, attributes=tuple(acknowledged))
    session.execute("DROP TABLE visits")
    session.execute(
        "CREATE TABLE visits AS SELECT i AS visit_id, i % 90 AS patient_id, DATE '2020-01-01' + i::INT AS visit_date, "
        "10 + i % 60 AS age, i % 2 = 0 AS sex, 'illness ' || i AS diagnosis FROM range(270) r(i)"
    )
    session.execute(
        "CREATE TABLE discharges AS SELECT i AS patient_id, 'county ' || i % 3 AS county FROM range(80) r(i)"
    )
    release = run(database, policy)
    latest = {person: (age, row) for person, row, age in ((i % 90, i, 10 + i % 60) for i in range(270))}
    adults = {f"illness {row}" for age, row in latest.values() if age >= 18}
    assert release.records == len(adults)
    released = {diagnosis for (diagnosis,) in session.rows("SELECT diagnosis FROM latest_visits")}
    assert released <= adults
    assert len(released) == release.records - release.suppressed_records
    session.execute("INSERT INTO visits SELECT 269, 89, max(visit_date), 50, true, 'twice' FROM visits")
    again = run(database, replace(policy, repeat_reason="again", release=plain_target("main", "again")))
    assert any("rows do not say whose they are" in warning for warning in again.warnings), again.warnings


# --- tables that change between counting and writing ----------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    once(
        [
            "UPDATE people SET age = age + 1 WHERE person = (SELECT max(person) FROM people WHERE age > 30)",
            "INSERT INTO visits VALUES (3, 9, 1, 'illness 9', 0)",
            "DROP TABLE wards",
            "ALTER TABLE people ALTER age TYPE BIGINT",
            "ALTER TABLE people RENAME age TO years",
        ],
        2,
    ),
)
def test_what_changes_the_querys_rows_is_found(database: Database, session: Session, run: Run, statement: str) -> None:
    def change(begun: JobPhase) -> None:
        if begun is JobPhase.WRITING:
            session.execute(statement)

    with pytest.raises(ConflictError) as raised:
        run(database, POLICY, JobReport(on_phase=change))
    assert raised.value.code == "SOURCE_CHANGED"
    assert {fault.field for fault in raised.value.faults} == {"source_query"}
    assert session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name LIKE 'released%'") == []
    assert session.rows("FROM tableveil.releases") == session.rows("FROM tableveil.release_sources") == []


@pytest.mark.long
def test_what_does_not_change_the_querys_rows_is_no_change(database: Database, session: Session, run: Run) -> None:
    def change(begun: JobPhase) -> None:
        if begun is JobPhase.WRITING:
            session.execute("CREATE OR REPLACE TABLE wards AS FROM wards ORDER BY ward DESC")
            session.execute("UPDATE visits SET cost = 0")
            session.execute("INSERT INTO people VALUES (1000, 50)")
            session.execute("ALTER TABLE visits ADD COLUMN note VARCHAR")

    assert run(database, POLICY, JobReport(on_phase=change)).records > 100


# --- the ledger -----------------------------------------------------------------------------------------------------


OTHER = replace(
    POLICY,
    source_query="SELECT 30 AS age, city, 'x' AS illness FROM main.WARDS",
    person_column=None,
    release=plain_target("main", "other"),
    suppression_limit=Decimal(1),
)

OF_WARDS = replace(
    OTHER,
    source=TableReference("", "main", "wards"),
    source_query="",
    attributes=(AttributePolicy("ward", Role.IDENTIFYING), POLICY.attributes[1]),
)

UNRELATED = replace(OTHER, source_query="SELECT n AS age, 'x' AS city, 'y' AS illness FROM unrelated")


def test_a_table_that_a_released_query_read_is_known_again(database: Database, run: Run) -> None:
    run(database, POLICY)
    for again in (replace(POLICY, release=OTHER.release), OTHER, OF_WARDS):
        with pytest.raises(InvalidError, match="releases/1 came from") as raised:
            run(database, again)
        assert raised.value.code == "REPEATED_RELEASE"
    assert run(database, UNRELATED).number == 2
    assert (
        run(database, replace(OF_WARDS, repeat_reason="both are needed", release=plain_target("main", "third"))).number
        == 3
    )


def test_a_query_is_known_to_read_a_table_that_was_released(database: Database, run: Run) -> None:
    run(database, OF_WARDS)
    with pytest.raises(InvalidError, match="releases/1 came from tables that it reads"):
        run(database, POLICY)


# --- what is found out about it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", once(["utility", "classification", "inside folds"]))
def test_reports_run_the_query_again_as_long_as_it_has_the_same_rows(
    database: Database, session: Session, jobs: JobManager, kind: str
) -> None:
    released = ended(jobs, release_work(POLICY, documented(POLICY)))
    assert released.failure is None
    assert released.result is not None
    asked = ClassificationRequest(released.result, ("illness",), classifiers=(Classifier.DECISION_TREE,), folds=2)
    asked = replace(asked, choose_inside_folds=kind == "inside folds")
    utility = utility_report_work(released.result, "{}", stored_policy)
    work = utility if kind == "utility" else classification_work(asked, "{}", stored_policy)
    report = ended(jobs, work)
    assert report.failure is None
    assert report.result is not None
    if kind == "utility":
        found = Results[StoredUtility](database, JobKind.UTILITY_REPORT).get(report.result).report
        age = next(c for c in found.columns if c.column == "age")
        assert age.before.mean == pytest.approx(session.value(f"SELECT avg(age) FROM ({QUERY})"))
    session.execute("UPDATE wards SET city = 'elsewhere' WHERE ward = 1")
    failure = ended(jobs, work).failure
    assert failure is not None
    assert failure.code == "SOURCE_CHANGED"
    assert "of a query" in failure.message


def test_a_frontier_is_of_the_querys_rows(database: Database, session: Session, jobs: JobManager) -> None:
    job = ended(jobs, frontier_work(POLICY, FrontierGrid((2, 3), (Decimal("0.1"),)), documented(POLICY)))
    assert job.failure is None
    assert job.result is not None
    found = Results[Frontier](database, JobKind.FRONTIER).get(job.result)
    assert found.records == session.value(f"SELECT count(*) FROM ({QUERY})")


def test_what_fails_on_the_rows_fails_the_job_and_names_no_value(database: Database, jobs: JobManager) -> None:
    policy = replace(POLICY, source_query=QUERY.replace("illness FROM", "illness::DATE AS illness FROM"))
    failure = ended(jobs, release_work(policy, documented(policy))).failure
    assert failure is not None
    assert (failure.kind, failure.code) == (FailureKind.INVALID, "SOURCE_QUERY_FAILED")
    assert "illness 0" not in repr(failure)


# --- the policy -----------------------------------------------------------------------------------------------------


def test_the_query_survives_the_proto_and_the_stored_document() -> None:
    policy, faults = policy_from_proto(policy_to_proto(POLICY))
    assert (policy, faults) == (POLICY, [])
    assert policy_from_proto(policy_from_json(documented(POLICY)))[0] == POLICY


def test_a_policy_has_a_table_or_a_query() -> None:
    both = replace(POLICY, source=TableReference("", "main", "people"))
    neither = replace(POLICY, source_query="")
    assert [(f.field, f.found) for f in validate_policy(both)] == [("source_query", "a query beside 'main.people'")]
    assert [(f.field, f.found) for f in validate_policy(neither)] == [("source.table", "nothing")]
    assert validate_policy(POLICY) == []
