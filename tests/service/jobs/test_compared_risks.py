"""Risk analyses that compare sets of columns, and that guess which columns matter."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.convert import stored_policy
from tableveil.errors import NotFoundError
from tableveil.lookups import RiskAnalyses
from tableveil.pipelines.risk_analysis import risk_analysis_work
from tableveil.policy import Population, TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.runtime import Job, open_jobs
from tableveil.state.jobs import JobState
from tableveil.state.risk_analyses import RiskAnalysis

SECONDS = 60.0
ASKED = RiskRequest(TableReference("", "main", "people"), None, ())
SETS = (("age",), ("sex", "age"), ("age", "sex", "x,y"))

Analyze = Callable[[RiskRequest], Job]


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    with shared_database.session() as session:
        session.execute(
            "CREATE TABLE people AS SELECT (hash(i, 1) % 60)::INT AS age, hash(i, 2) % 2 = 0 AS sex, "
            """CASE WHEN hash(i, 3) % 9 > 0 THEN 'p' || hash(i, 3) % 9 END AS "x,y", i AS id, 1 + i % 7 AS weight """
            "FROM range(400) r(i)"
        )
        session.execute("CREATE TABLE codes AS SELECT i AS id, i % 7 AS a, i % 11 AS b FROM range(100) r(i)")
        session.execute("CREATE TABLE names AS SELECT i AS id, 'n' || i AS name FROM range(100) r(i)")
    return shared_database


@pytest.fixture
def analyze(database: Database) -> Iterator[Analyze]:
    """Submits a risk analysis and waits until its job has ended."""
    manager = open_jobs(database)

    def analyze(request: RiskRequest) -> Job:
        number = manager.submit(risk_analysis_work(request, "{}", stored_policy)).number
        deadline = time.monotonic() + SECONDS
        while (job := manager.get(number)).state in (JobState.QUEUED, JobState.RUNNING):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return job

    yield analyze
    manager.close(SECONDS)


@pytest.fixture
def found(analyze: Analyze, database: Database) -> Callable[[RiskRequest], RiskAnalysis]:
    """The stored result of a job that succeeds."""

    def found(request: RiskRequest) -> RiskAnalysis:
        job = analyze(request)
        assert job.state is JobState.SUCCEEDED, job.failure
        assert job.result is not None
        return RiskAnalyses(database).get(job.result)

    return found


def test_sets_side_by_side(found: Callable[[RiskRequest], RiskAnalysis], session: Session) -> None:
    analysis = found(replace(ASKED, compare=SETS, population=Population(size=9000)))
    assert analysis.quasi_identifiers == ("age", "sex", "x,y")
    assert [compared.columns for compared in analysis.compared] == list(SETS)
    for compared in analysis.compared:
        names = ", ".join(f'"{name}"' for name in compared.columns)
        sizes = [n for (n,) in session.rows(f"SELECT count(*) FROM people GROUP BY {names}")]
        measures = {(m.model, m.measure, m.threshold): m.value for m in compared.measures}
        assert compared.classes == len(sizes)
        assert measures["sample", "unique_records", None] == Counter(sizes)[1]
        assert measures["prosecutor", "highest_risk", None] == 1 / min(sizes)
        assert measures["prosecutor", "average_risk", None] == pytest.approx(len(sizes) / 400)
        assert measures["prosecutor", "records_above_threshold", "0.2"] == sum(n for n in sizes if n < 5)
        assert [m.measure for m in compared.measures if m.model.startswith("population (dankar")] == ["uniqueness"]
    # The last set is all columns: its risks are those of the table.
    assert {measure for measure in analysis.compared[-1].measures if measure.measure != "classes"} <= set(
        analysis.measures
    )


def test_without_a_population_nothing_is_estimated(found: Callable[[RiskRequest], RiskAnalysis]) -> None:
    analysis = found(replace(ASKED, quasi_identifiers=("sex", "age"), compare=SETS[:1]))
    assert {measure.model for measure in analysis.compared[0].measures} == {"sample", "prosecutor"}


def test_columns_are_guessed_where_none_are_named(found: Callable[[RiskRequest], RiskAnalysis]) -> None:
    analysis = found(ASKED)
    assert analysis.quasi_identifiers == ("age", "sex")
    assert "guessed by names and types" in analysis.warnings[0]


def test_columns_with_another_part_are_not_guessed(found: Callable[[RiskRequest], RiskAnalysis]) -> None:
    asked = replace(ASKED, population=Population(subset_column="sex"), weight_column="age")
    analysis = found(replace(asked, weight_column="weight"))
    assert analysis.quasi_identifiers == ("age",)


def test_where_names_say_nothing_all_columns_are_taken_that_may_be(
    found: Callable[[RiskRequest], RiskAnalysis],
) -> None:
    analysis = found(replace(ASKED, table=TableReference("", "main", "codes")))
    assert analysis.quasi_identifiers == ("a", "b")
    assert "nothing but their types" in analysis.warnings[0]


def test_nothing_to_guess(analyze: Analyze) -> None:
    job = analyze(replace(ASKED, table=TableReference("", "main", "names")))
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert [fault.field for fault in job.failure.faults] == ["quasi_identifiers"]


def test_a_mistyped_column_is_found_where_it_stands(analyze: Analyze) -> None:
    with pytest.raises(NotFoundError) as caught:
        analyze(replace(ASKED, compare=(("age",), ("age", "sx"))))
    assert [(fault.field, fault.found) for fault in caught.value.faults] == [("compare[1].columns[1]", "'sx'")]
