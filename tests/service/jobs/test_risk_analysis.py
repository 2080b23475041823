"""Jobs for risk analyses: what they find is what the rows say, they store it, and end as other jobs do."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.convert import canonical_json, stored_policy
from tableveil.errors import ConflictError, InvalidError, NotFoundError
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lookups import RiskAnalyses
from tableveil.pipelines.risk_analysis import risk_analysis_work
from tableveil.policy import (
    AttributePolicy,
    IfExists,
    KAnonymity,
    Policy,
    Population,
    ReleaseKind,
    Role,
    SuppressedRecords,
    TableReference,
)
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.runtime import FailureKind, Job, JobManager, open_jobs
from tableveil.state.jobs import JobState
from tableveil.state.releases import Release
from tableveil.state.risk_analyses import RiskAnalysis
from tests.once import once
from tests.service.convert.policy_to_proto import policy_to_proto
from tests.service.jobs.plain import plain_target

SECONDS = 60.0
"""How long a test waits for what should take a moment."""

ASKED = RiskRequest(TableReference("", "main", "people"), None, ("age", "sex", "place"))

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "127", ("8", "32")), maximum_level=2),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("place", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("weight", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("mine", Role.IDENTIFYING),
    ),
    person_column=None,
    privacy_models=(KAnonymity(3),),
    release=plain_target("main", "published"),
    suppression_limit=Decimal("0.3"),
    suppressed_records=SuppressedRecords.BLANK,
    marker_column="gone",
)


@pytest.fixture(autouse=True)
def people(session: Session) -> None:
    session.execute(
        "CREATE TABLE everybody AS SELECT (hash(i, 1) % 60)::INT AS age, hash(i, 2) % 2 = 0 AS sex, "
        "CASE WHEN hash(i, 3) % 9 > 0 THEN 'p' || hash(i, 3) % 9 END AS place, 1 + i % 7 AS weight, "
        "i % 4 = 0 AS mine FROM range(1600) r(i)"
    )
    session.execute("CREATE TABLE people AS SELECT * FROM everybody WHERE mine")


@pytest.fixture
def jobs(database: Database) -> Iterator[JobManager]:
    manager = open_jobs(database)
    yield manager
    manager.close(SECONDS)


def ended(jobs: JobManager, request: RiskRequest) -> Job:
    number = jobs.submit(risk_analysis_work(request, "{}", stored_policy)).number
    deadline = time.monotonic() + SECONDS
    *_, last = jobs.watch(number, lambda: time.monotonic() > deadline)
    assert last.state.ended, last
    return last


def analyzed(jobs: JobManager, database: Database, request: RiskRequest = ASKED) -> RiskAnalysis:
    job = ended(jobs, request)
    assert job.state is JobState.SUCCEEDED, job.failure
    assert job.result is not None
    analysis = RiskAnalyses(database).get(job.result)
    assert job.warnings == analysis.warnings
    return analysis


def measures(analysis: RiskAnalysis) -> dict[tuple[str, ...], float | None]:
    return {
        (m.model, m.measure) if m.threshold is None else (m.model, m.measure, m.threshold): m.value
        for m in analysis.measures
    }


def asked(**changes: Any) -> RiskRequest:
    return replace(ASKED, **changes)


# --- what is found --------------------------------------------------------------------------------------------------


def test_a_table_with_its_population_and_weights(jobs: JobManager, database: Database, session: Session) -> None:
    """Every measure that SQL can say in a line, said so."""
    request = asked(
        population=Population(table=TableReference("", "main", "everybody")),
        weight_column="weight",
        thresholds=(Decimal("0.25"), Decimal("0.5")),
        records=True,
    )
    analysis = analyzed(jobs, database, request)
    found = measures(analysis)
    joined = (
        "(SELECT s.f, p.f AS people FROM (SELECT age, sex, place, count(*) AS f FROM people GROUP BY ALL) s JOIN "
        "(SELECT age, sex, place, count(*) AS f FROM everybody GROUP BY ALL) p ON s.age = p.age AND s.sex = p.sex AND "
        "s.place IS NOT DISTINCT FROM p.place)"
    )
    classes, unique, highest, average, above, journalist, marketer, above_journalist = session.row(
        "SELECT count(*), count_if(f = 1), max(1 / f), count(*) / sum(f), sum(f) FILTER (1 / f > 0.25), "
        f"max(1 / people), sum(f / people) / sum(f), sum(f) FILTER (people < 4) FROM {joined}"
    )
    assert (analysis.records, analysis.classes, analysis.population_size) == (400, classes, 1600)
    assert found["sample", "unique_records"] == unique
    assert found["sample", "uniqueness"] == unique / 400
    assert found["prosecutor", "highest_risk"] == highest
    assert found["prosecutor", "average_risk"] == pytest.approx(average)
    assert found["prosecutor", "records_above_threshold", "0.25"] == above
    assert found["journalist", "highest_risk"] == journalist
    assert found["journalist", "records_above_threshold", "0.25"] == above_journalist
    assert found["marketer", "success_rate"] == pytest.approx(marketer)
    assert 0 < (found["individual", "average_risk"] or 0) < average
    twos = session.value(f"SELECT count_if(f = 2) FROM {joined}")
    assert found["special uniques", "correct_match_probability"] == unique / 4 / (unique / 4 + 2 * 3 / 4 * twos)
    estimated = [m for m in analysis.measures if m.model.startswith("population (") and m.measure == "uniqueness"]
    assert [m.model.split(":")[0] for m in estimated] == [
        "population (pitman)", "population (zayatz)", "population (snb)", "population (dankar",
    ]  # fmt: skip
    rule = estimated[-1].model.removeprefix("population (dankar: ")
    assert estimated[-1].value == found[f"population ({rule}", "uniqueness"]
    assert analysis.warnings == ()
    subsets = {subset.columns: subset for subset in analysis.subsets}
    assert list(subsets) == [
        ("age",), ("sex",), ("place",), ("age", "sex"), ("age", "place"), ("sex", "place"), ("age", "sex", "place"),
    ]  # fmt: skip
    distinct, alone = session.row(
        "SELECT count(*), count_if(f = 1) FROM (SELECT count(*) f FROM people GROUP BY age, place)"
    )
    assert subsets["age", "place"].distinction == distinct / 400
    assert subsets["age", "place"].unique_records == alone
    rows = session.rows(f"SELECT * FROM tableveil.{analysis.record_risks} ORDER BY ALL")
    assert len(rows) == classes
    of_each = session.rows(
        "SELECT s.*, 1 / s.f, 1 / p.f FROM (SELECT age, sex, place, count(*) f FROM people GROUP BY ALL) s JOIN "
        "(SELECT age, sex, place, count(*) f FROM everybody GROUP BY ALL) p "
        "ON (s.age, s.sex) = (p.age, p.sex) AND s.place IS NOT DISTINCT FROM p.place ORDER BY ALL"
    )
    assert [row[:6] for row in rows] == of_each
    with RiskAnalyses(database).read_records(analysis.number) as reader:
        assert reader.schema.names == [
            "age", "sex", "place", "records", "prosecutor_risk", "journalist_risk", "individual_risk",
            "special_uniques_score", "smallest_minimal_unique",
        ]  # fmt: skip
        assert reader.read_all().num_rows == classes


def test_without_a_population_the_journalist_is_the_prosecutor(jobs: JobManager, database: Database) -> None:
    analysis = analyzed(jobs, database, asked(largest_subset=2))
    found = measures(analysis)
    assert found["journalist", "highest_risk"] == found["prosecutor", "highest_risk"]
    assert analysis.population_size is None
    assert not any(model.startswith("population") for model, *_ in found)
    assert ["cannot exceed" in analysis.warnings[0], "not known" in analysis.warnings[1]] == [True, True]
    assert (analysis.largest_subset, len(analysis.subsets)) == (2, 6)
    with pytest.raises(NotFoundError) as raised, RiskAnalyses(database).read_records(analysis.number):
        pass
    assert raised.value.code == "RECORD_RISKS_NOT_KEPT"


def test_estimates_that_there_are_not_are_told(jobs: JobManager, database: Database, session: Session) -> None:
    session.execute("CREATE TABLE alone AS SELECT i AS x FROM range(20) r(i)")
    alone = asked(table=TableReference("", "main", "alone"), quasi_identifiers=("x",), population=Population(size=100))
    analysis = analyzed(jobs, database, alone)
    missing = [m.model for m in analysis.measures if m.measure == "uniqueness" and m.value is None]
    assert missing == ["population (pitman)", "population (snb)"]
    assert "by Pitman and SNB" in analysis.warnings[1]
    assert [subset.proposed for subset in analysis.subsets] == [True]


def test_a_fraction_that_its_rows_contradict_is_told(jobs: JobManager, database: Database) -> None:
    by_rows = Population(subset_column="mine")
    source = asked(table=TableReference("", "main", "everybody"), population=by_rows)
    analysis = analyzed(jobs, database, source)
    assert (analysis.records, analysis.population_size, analysis.warnings) == (400, 1600, ())
    contradicting = replace(source, population=replace(by_rows, sampling_fraction=Decimal("0.1")))
    analysis = analyzed(jobs, database, contradicting)
    assert analysis.population_size == 4000
    assert "1600 rows" in analysis.warnings[0]


@pytest.mark.parametrize(
    ("kind", "handling"),
    once([(ReleaseKind.TABLE, SuppressedRecords.DROP), (ReleaseKind.VIEW, SuppressedRecords.BLANK)], several=True),
)
def test_the_released_rows_of_a_release(
    jobs: JobManager,
    database: Database,
    session: Session,
    run: Callable[..., Release],
    kind: ReleaseKind,
    handling: SuppressedRecords,
) -> None:
    session.execute("INSERT INTO people VALUES (120, true, 'p1', 1, true)")
    marker = "" if handling is SuppressedRecords.DROP else "gone"
    target = replace(POLICY.release, kind=kind)
    policy = replace(POLICY, release=target, suppressed_records=handling, marker_column=marker)
    document = canonical_json(policy_to_proto(policy))
    release = run(database, policy, document=document)
    assert release.suppressed_records
    of_release = asked(table=None, release=release.number, quasi_identifiers=())
    analysis = analyzed(jobs, database, of_release)
    assert analysis.source.table == "published"
    assert analysis.quasi_identifiers == ("age", "sex", "place")
    assert analysis.records == release.records - release.suppressed_records
    assert measures(analysis)["prosecutor", "highest_risk"] == release.risk_after.highest
    with pytest.raises(NotFoundError):
        jobs.submit(risk_analysis_work(replace(of_release, quasi_identifiers=("gone",)), "{}", stored_policy))
    replaced = replace(policy, release=replace(target, if_exists=IfExists.REPLACE), repeat_reason="again")
    run(database, replaced, document=document)
    with pytest.raises(ConflictError) as raised:
        jobs.submit(risk_analysis_work(of_release, "{}", stored_policy))
    assert raised.value.code == "RELEASE_REPLACED"


# --- what cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field", "told"),
    [
        ({"quasi_identifiers": ("age", "sexx")}, "quasi_identifiers[1]", "sex"),
        ({"table": TableReference("", "main", "peple")}, "table.table", "people"),
        ({"table": TableReference("", "main", "seen")}, "table.table", "view"),
        ({"weight_column": "wieght"}, "weight_column", "weight"),
        ({"weight_column": "mine"}, "weight_column", "BOOLEAN"),
        ({"population": Population(TableReference("", "main", "nobody"))}, "population.table.table", "nobody"),
        ({"population": Population(subset_column="sex")}, "quasi_identifiers[1]", "subset"),
    ],
)
def test_what_does_not_fit_the_database_is_refused_at_once(
    jobs: JobManager, session: Session, changes: dict[str, Any], field: str, told: str
) -> None:
    session.execute("CREATE VIEW seen AS SELECT * FROM people")
    with pytest.raises((InvalidError, NotFoundError)) as raised:
        jobs.submit(risk_analysis_work(asked(**changes), "{}", stored_policy))
    (fault,) = raised.value.faults
    assert fault.field == field
    assert told in f"{fault.found} {fault.expected} {fault.hint}"


def test_too_many_subsets(jobs: JobManager, session: Session) -> None:
    names = tuple(f"q{j}" for j in range(25))
    session.execute(f"CREATE TABLE wide AS SELECT {', '.join(f'1 AS {name}' for name in names)}")
    wide = asked(table=TableReference("", "main", "wide"), quasi_identifiers=names, largest_subset=2**31 - 1)
    with pytest.raises(InvalidError) as raised:
        jobs.submit(risk_analysis_work(wide, "{}", stored_policy))
    assert [fault.field for fault in raised.value.faults] == ["largest_subset"]
    assert "at most 2" in raised.value.faults[0].expected


@pytest.mark.parametrize(
    ("statement", "changes", "field"),
    once(
        [
            ("UPDATE people SET weight = -1 WHERE age = 3", {"weight_column": "weight"}, "weight_column"),
            ("DELETE FROM people", {}, "table"),
            ("DELETE FROM everybody WHERE age = 3", {"population": "everybody"}, "population"),
            ("DELETE FROM everybody WHERE NOT mine OR age = 3", {"population": "everybody"}, "population.table"),
            ("SELECT 1", {"population": 399}, "population.size"),
            ("SELECT 1", {"population": 10**16}, "population.size"),
            ("SELECT 1", {"population": Decimal("1e-40")}, "population.sampling_fraction"),
        ],
        4,
        several=True,
    ),
)
def test_rows_that_do_not_fit_end_the_job(
    jobs: JobManager, session: Session, statement: str, changes: dict[str, Any], field: str
) -> None:
    session.execute(statement)
    population = changes.get("population")
    if isinstance(population, str):
        changes = {"population": Population(table=TableReference("", "main", population))}
    elif isinstance(population, Decimal):
        changes = {"population": Population(sampling_fraction=population)}
    elif population is not None:
        changes = {"population": Population(size=population)}
    job = ended(jobs, asked(**changes))
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert [fault.field for fault in job.failure.faults] == [field]
    assert session.value("SELECT count(*) FROM tableveil.risk_analyses") == 0


def test_cancelled(jobs: JobManager, session: Session) -> None:
    """Nothing is stored, and it ends within a moment: also while subsets are counted, outside of the database."""
    names = tuple(f"q{j}" for j in range(20))
    answers = ", ".join(f"(hash(i, {j}) % 40)::INT AS {name}" for j, name in enumerate(names))
    session.execute(f"CREATE TABLE wide AS SELECT {answers} FROM range(300000) r(i)")
    wide = asked(table=TableReference("", "main", "wide"), quasi_identifiers=names, largest_subset=3, records=True)
    number = jobs.submit(risk_analysis_work(wide, "{}", stored_policy)).number
    deadline = time.monotonic() + SECONDS
    for job in jobs.watch(number, lambda: time.monotonic() > deadline):
        if job.phase == "SEARCHING" and not job.state.ended:
            jobs.cancel(number)
    assert job.state is JobState.CANCELLED
    assert job.failure is not None
    assert job.failure.kind is FailureKind.CANCELLED
    assert session.value("SELECT count(*) FROM tableveil.risk_analyses") == 0
    assert session.value("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'record_risks%'") == 0


def test_the_same_request_again_is_the_same_job(jobs: JobManager) -> None:
    work = risk_analysis_work(asked(), "{}", stored_policy)
    first = jobs.submit(work, "r-1")
    assert jobs.submit(work, "r-1").number == first.number
    with pytest.raises(ConflictError):
        jobs.submit(replace(work, document='{"records":true}'), "r-1")


GRADES = {("a", "f"): "1123", ("a", "m"): "4455", ("b", "f"): "2222"}
"""The grades of each class."""


def test_the_models_that_rows_meet_are_measured(jobs: JobManager, database: Database, session: Session) -> None:
    rows = ", ".join(f"('{place}', '{sex}', {grade})" for (place, sex), grades in GRADES.items() for grade in grades)
    session.execute(f"CREATE TABLE graded AS SELECT * FROM (VALUES {rows}) r(place, sex, grade)")
    request = RiskRequest(TableReference("", "main", "graded"), None, ("place", "sex"), sensitive=("grade",))
    found = measures(analyzed(jobs, database, request))
    values = {key[1]: value for key, value in found.items() if key[0] == "privacy of grade"}
    shares = {grade: sum(grades.count(grade) for grades in GRADES.values()) / 12 for grade in "12345"}
    assert values["distinct_l_diversity: l"] == 1
    assert values["probabilistic_l_diversity: l"] == 1
    assert values["entropy_l_diversity: l"] == pytest.approx(1)
    farthest = max(
        sum(abs(grades.count(grade) / 4 - share) for grade, share in shares.items()) / 2 for grades in GRADES.values()
    )
    assert values["t_closeness (equal): t"] == pytest.approx(farthest)
    ordered = max(
        sum(abs(sum(grades.count(g) / 4 - shares[g] for g in "12345"[:end])) for end in range(1, 5)) / 4
        for grades in GRADES.values()
    )
    assert values["t_closeness (ordered): t"] == pytest.approx(ordered)
    most = max(grades.count(g) / 4 / shares[g] - 1 for grades in GRADES.values() for g in set(grades))
    assert values["beta_likeness: beta"] == pytest.approx(most)
    # A class of one value meets no recursive diversity.
    assert values["recursive_cl_diversity (l = 2): c"] is None
    missing = replace(request, sensitive=("grad",))
    job = ended(jobs, missing)
    assert job.failure is not None
    assert "Did you mean 'grade'?" in job.failure.message


def test_rows_that_are_hidden_throughout_are_told_apart(jobs: JobManager, database: Database, session: Session) -> None:
    session.execute(
        "CREATE TABLE hidden AS SELECT * FROM (VALUES ('<50', 'f'), ('<50', 'f'), ('*', 'm'), ('*', 'm'), ('*', '*'), "
        "(NULL, 'x'), (NULL, 'x')) r(age, sex)"
    )
    request = RiskRequest(TableReference("", "main", "hidden"), None, ("age", "sex"))
    found = analyzed(jobs, database, request)
    assert found.records == 6
    assert measures(found)["prosecutor", "highest_risk"] == 0.5
    assert found.warnings[0].startswith("1 row is * in all of the columns: it says nothing")
    session.execute("DELETE FROM hidden WHERE sex = '*'")
    assert not any("* in all" in warning for warning in analyzed(jobs, database, request).warnings)


def test_a_release_is_measured_against_its_source(
    jobs: JobManager, database: Database, session: Session, run: Callable[..., Release]
) -> None:
    sensitive = replace(POLICY.attributes[3], role=Role.SENSITIVE)
    policy = replace(POLICY, attributes=(*POLICY.attributes[:3], sensitive, POLICY.attributes[4]))
    release = run(database, policy, document=canonical_json(policy_to_proto(policy)))
    request = RiskRequest(None, release.number, (), sensitive=("weight",))
    found = measures(analyzed(jobs, database, request))
    known = {
        f"{one.model}: {one.parameter}": None if one.after == math.inf else one.after
        for one in release.guarantees
        if one.column == "weight"
    }
    assert {key[1]: value for key, value in found.items() if key[0] == "privacy of weight"} == known
