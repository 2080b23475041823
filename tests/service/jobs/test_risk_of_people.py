"""Risk analyses of people with several records, against plain Python over the rows."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from tableveil.backend import Database, Session
from tableveil.policy import Population, TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.state.jobs import JobState
from tableveil.state.risk_analyses import Measure, RiskAnalysis
from tests.service.jobs import test_compared_risks
from tests.service.jobs.test_compared_risks import Analyze

THRESHOLDS = (Decimal("0.2"), Decimal("0.333"), Decimal("0.5"), Decimal("0.999999"))
ASKED = RiskRequest(TableReference("", "main", "visits"), None, ("sex", "dose"), None, THRESHOLDS, person_column="id")

analyze, found = test_compared_risks.analyze, test_compared_risks.found


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    with shared_database.session() as session:
        session.execute(
            "CREATE TABLE visits AS SELECT 'p' || (hash(i, 1) % 40) ** 2 // 40 AS id, hash(i, 2) % 2 = 0 AS sex, "
            "CASE hash(i, 3) % 9 WHEN 0 THEN NULL WHEN 1 THEN -0.0::DOUBLE WHEN 2 THEN 'nan'::DOUBLE "
            "ELSE hash(i, 3) % 4 END AS dose, i AS visit FROM range(300) r(i)"
        )
    return shared_database


def owners(session: Session, names: str) -> list[Counter[str]]:
    """Per class the records of each person; NULL is a value, and so is NaN."""
    of: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for person, *values in session.rows(f"SELECT id, {names} FROM visits"):
        # Python writes -0.0 with its sign, and NaN differs from itself.
        of[tuple("0.0" if value == 0 else str(value) for value in values)][person] += 1
    return list(of.values())


def expected(classes: list[Counter[str]]) -> set[Measure]:
    risks = {
        "prosecutor": [(Fraction(max(of.values()), of.total()), of.total()) for of in classes],
        "people": [(Fraction(1, len(of)), of.total()) for of in classes],
    }
    records = sum(of.total() for of in classes)
    alone = sum(of.total() for of in classes if len(of) == 1)
    measures = {
        Measure("sample", "unique_records", None, float(alone)),
        Measure("sample", "uniqueness", None, alone / records),
    }
    for model, found in risks.items():
        highest, lowest = max(found)[0], min(found)[0]
        measures |= {
            Measure(model, "highest_risk", None, float(highest)),
            Measure(model, "average_risk", None, round(float(sum(risk * n for risk, n in found) / records), 12)),
            Measure(model, "lowest_risk", None, float(lowest)),
            Measure(model, "records_at_highest_risk", None, float(sum(n for risk, n in found if risk == highest))),
            Measure(model, "records_at_lowest_risk", None, float(sum(n for risk, n in found if risk == lowest))),
        }
        for threshold in THRESHOLDS:
            above = sum(n for risk, n in found if risk > Fraction(threshold))
            measures.add(Measure(model, "records_above_threshold", str(threshold), float(above)))
    return measures


def rounded(measures: tuple[Measure, ...]) -> set[Measure]:
    """Sums of floats depend on their order."""
    return {
        replace(each, value=round(each.value, 12)) if each.measure == "average_risk" and each.value else each
        for each in measures
    }


def test_risks_are_shares_of_people(found: Callable[[RiskRequest], RiskAnalysis], session: Session) -> None:
    analysis = found(replace(ASKED, compare=(("sex",), ("dose", "sex"))))
    classes = owners(session, "sex, dose")
    assert rounded(analysis.measures) == expected(classes)
    assert (analysis.records, analysis.classes, analysis.subsets) == (300, len(classes), ())
    assert any("People have several records" in warning for warning in analysis.warnings)
    for compared, names in zip(analysis.compared, ("sex", "dose, sex"), strict=True):
        classes = owners(session, names)
        assert compared.classes == len(classes)
        assert rounded(compared.measures) - {Measure("sample", "classes", None, float(len(classes)))} <= expected(
            classes
        )


def test_one_record_each_is_the_analysis_without_people(found: Callable[[RiskRequest], RiskAnalysis]) -> None:
    alone = found(replace(ASKED, person_column="visit", largest_subset=2))
    assert alone.measures == found(replace(ASKED, person_column="", largest_subset=2)).measures
    assert alone.subsets


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"population": Population(size=9000)}, "population"),
        ({"weight_column": "visit"}, "weight_column"),
        ({"largest_subset": 2}, "largest_subset"),
        ({"records": True}, "records"),
    ],
)
def test_what_counts_records_is_refused_by_name(analyze: Analyze, change: dict[str, object], field: str) -> None:
    request = replace(ASKED, source_query="SELECT * REPLACE (visit + 1 AS visit) FROM visits", table=None)
    job = analyze(replace(request, **change))  # type: ignore[arg-type]
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert [fault.field for fault in job.failure.faults] == [field]


def test_a_record_without_a_person_is_refused(analyze: Analyze) -> None:
    query = "SELECT * REPLACE (CASE WHEN visit <> 3 THEN id END AS id) FROM visits"
    job = analyze(replace(ASKED, source_query=query, table=None))
    assert job.failure is not None
    assert [fault.field for fault in job.failure.faults] == ["person_column"]
