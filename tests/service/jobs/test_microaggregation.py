"""Releases by microaggregation: the written values are those of clusters of enough records, and meet every model."""

import datetime
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control, Progress, Stopped
from tableveil.convert import canonical_json, policy_from_proto, stored_policy
from tableveil.convert.frontiers import frontier_from_proto
from tableveil.convert.payout_sweeps import payout_sweep_from_proto
from tableveil.document import read_policy
from tableveil.errors import ConflictError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.risk_analysis import run_risk_analysis
from tableveil.pipelines.work import JobReport
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    IfExists,
    KAnonymity,
    NullHandling,
    Policy,
    Role,
    Scale,
    TableReference,
    ValueOrder,
)
from tableveil.policy.methods.microaggregation import Clustering, Microaggregation
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.state import jobs
from tableveil.state.jobs import JobPhase
from tableveil.state.releases import Release
from tableveil.state.risk_analyses import RISK_ANALYSES
from tableveil.v1 import frontier_service_pb2, payout_service_pb2
from tests.service.convert.policy_to_proto import policy_to_proto
from tests.service.jobs.aggregated_rows import Row, check_aggregates, classes_of, read_rows
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import other_warnings
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]

EXAMPLE = Path(__file__).parents[3] / "examples" / "microaggregation.yaml"

QI = Role.QUASI_IDENTIFIER
ERROR = NullHandling.ERROR

PLACES = InlineLevels(tuple((f"{area}{i}", area, "*") for area in "NSEW" for i in range(4)))
STAGES = ("none", "some", "much", "all")

TAG = AttributePolicy("tag", Role.INSENSITIVE, acknowledged=True)
ILLNESS, CHARGE = (
    AttributePolicy("illness", Role.SENSITIVE),
    AttributePolicy("charge", Role.SENSITIVE, acknowledged=True),
)


def numeric(column: str, **options: Any) -> AttributePolicy:
    weight = options.pop("weight", 1.0)
    return AttributePolicy(column, QI, nulls=ERROR, weight=weight, aggregation=Aggregation(**options))


POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(numeric("age"), numeric("income"), ILLNESS, CHARGE, TAG),
    default_role=Role.IDENTIFYING,
    person_column=None,
    privacy_models=(KAnonymity(4),),
    release=plain_target("main", "out"),
    methods=(Microaggregation(),),
)

EVERY_KIND = replace(
    POLICY,
    attributes=(
        numeric("age", function=AggregateFunction.INTERVAL, grid=Decimal(5), bottom_coding="25", top_coding="60"),
        numeric("income", weight=2.0),
        numeric("height", function=AggregateFunction.GEOMETRIC_MEAN),
        numeric("visits", function=AggregateFunction.MEDIAN),
        numeric("children", function=AggregateFunction.MODE),
        numeric("born"),
        AttributePolicy(
            "stage",
            QI,
            nulls=ERROR,
            order=ValueOrder(values=STAGES),
            aggregation=Aggregation(AggregateFunction.MEDIAN, Scale.ORDINAL),
        ),
        AttributePolicy(
            "place", QI, PLACES, nulls=ERROR, aggregation=Aggregation(AggregateFunction.COMMON_LABEL, Scale.NOMINAL)
        ),
        AttributePolicy(
            "work", QI, PLACES, nulls=ERROR, aggregation=Aggregation(AggregateFunction.MODE, Scale.NOMINAL)
        ),
        ILLNESS,
        CHARGE,
        TAG,
    ),
)


def drawn(rows: int, seed: int = 1) -> list[Row]:
    random = Random(seed)
    people = []
    for i in range(rows):
        age, place = random.randint(18, 70), random.choice("NSEW")
        people.append(
            {
                "tag": i,
                "age": age,
                "income": round(age * 100 + random.gauss(0, 900), 2),
                "height": round(random.uniform(1.5, 2.0), 2),
                "visits": random.randint(0, 20),
                "children": random.choice([0, 0, 1, 2, 3]),
                "born": datetime.date(2020 - age, 1, 1) + datetime.timedelta(random.randint(0, 364)),
                "stage": random.choice(STAGES),
                "place": f"{place}{random.randint(0, 3)}",
                "work": f"{place}{random.randint(0, 3)}",
                "illness": random.choice(["flu", "flu", "cold", "gout"]),
                "charge": random.randint(0, 30) * 10 + age,
            }
        )
    return people


def create(session: Session, rows: Sequence[Row], name: str = "people") -> None:
    columns = {column: pa.array([row[column] for row in rows]) for column in rows[0]}
    with session.relation("given", pa.table(columns)):
        session.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def people(session: Session) -> list[Row]:
    rows = drawn(60)
    create(session, rows)
    return rows


@pytest.fixture(autouse=True)
def clean(session: Session) -> Iterator[None]:
    yield
    for kind in ("view", "table"):
        for (name,) in session.rows(
            f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE schema_name = 'main' AND NOT internal"
        ):
            session.execute(f"DROP {kind} {name}")
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")


def check(policy: Policy, session: Session, source: Sequence[Row], k: int = 4) -> dict[tuple[Any, ...], list[Row]]:
    """The written classes consist of the source's rows, have k of them, and their aggregates."""
    released = read_rows(session, "SELECT * FROM out")
    assert Counter(row["tag"] for row in released) == Counter(row["tag"] for row in source)
    check_aggregates(policy, source, released)
    classes = classes_of(policy, source, released)
    assert min(map(len, classes.values())) >= k
    names = ", ".join(attribute.column for attribute in policy.aggregated)
    listed = {row[:-1]: row[-1] for row in session.rows(f"SELECT {names}, class_size FROM out_classes")}
    assert listed == {shown: len(members) for shown, members in classes.items()}
    return classes


def refused(kind: type[Any], database: Database, session: Session, policy: Policy) -> Any:
    """The error with which a job ends that writes nothing."""
    before = session.value("SELECT count(*) FROM tableveil.releases")
    with database.session() as own:
        own.control = Control()
        with pytest.raises(kind) as caught:
            anonymize(context(own, database, jobs.next_number(own.ledger)), policy)
    assert session.value("SELECT count(*) FROM tableveil.releases") == before
    return caught.value


# --- what is released -----------------------------------------------------------------------------------------------


def test_every_function_makes_of_a_cluster_what_it_says(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    release = run(database, replace(EVERY_KIND, release=replace(EVERY_KIND.release, label_columns=True)))
    classes = check(EVERY_KIND, session, people)
    assert len(classes) >= 5
    assert release.classes == len(classes)
    types = dict(session.rows("SELECT column_name, column_type FROM (DESCRIBE out)"))
    beside = {"age_from": "BIGINT", "age_to": "BIGINT", "age_rank": "INTEGER", "place_rank": "INTEGER"}
    assert types | {"charge": "", "tag": ""} == beside | {
        **dict.fromkeys(["age", "stage", "place", "work", "illness"], "VARCHAR"),
        **dict.fromkeys(["income", "height", "visits"], "DOUBLE"),
        **{"children": "BIGINT", "born": "DATE", "charge": "", "tag": ""},
    }
    shown = {attribute.column: attribute for attribute in release.attributes}
    assert list(shown) == [attribute.column for attribute in EVERY_KIND.aggregated]
    assert shown["age"].aggregation == "interval, rounded to multiples of 5, from 25, up to 60"
    assert shown["income"].aggregation == "mean"
    assert shown["born"].distinct_before == len({row["born"] for row in people})
    assert shown["born"].distinct_after == len({row[5] for row in classes})


def test_the_score_is_the_squared_error(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    policy = replace(POLICY, attributes=(numeric("age", weight=3.0), numeric("income"), ILLNESS, CHARGE, TAG))
    release = run(database, policy)
    classes = check(policy, session, people)
    losses = []
    for column in ("age", "income"):
        centre = fmean(row[column] for row in people)
        whole = sum((row[column] - centre) ** 2 for row in people)
        within_classes = sum(
            (row[column] - fmean(other[column] for other in members)) ** 2
            for members in classes.values()
            for row in members
        )
        losses.append(within_classes / whole)
    assert [attribute.loss for attribute in release.attributes] == pytest.approx(losses, rel=1e-6)
    assert release.score == pytest.approx((3 * losses[0] + losses[1]) / 4, rel=1e-6)
    assert release.quality_model == "squared error, as a share of that of a single cluster"
    assert (release.proof.optimal, release.proof.lower_bound) == (False, 0)
    k = next(found for found in release.guarantees if found.model == "k_anonymity")
    assert [k.before, k.after] == [1, min(map(len, classes.values()))]
    sizes = Counter(Counter((row["age"], row["income"]) for row in people).values())
    assert release.risk_before.unique_records == sizes[1]
    assert release.risk_after.classes == len(classes)


@pytest.mark.long
def test_the_order_of_rows_says_nothing(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    # Many with the same values, which clusters have to split.
    rows = [row | {"age": row["age"] // 10, "income": 0.0} for row in people]
    create(session, rows)
    first = run(database, POLICY)
    before = session.rows("SELECT * FROM out")
    create(session, Random(2).sample(rows, len(rows)))
    again = replace(POLICY, repeat_reason="shuffled", release=replace(POLICY.release, if_exists=IfExists.REPLACE))
    second = run(database, again)
    assert session.rows("SELECT * FROM out") == before
    assert second.score == first.score
    check(POLICY, session, rows)


def test_one_column_has_the_optimum(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    policy = replace(POLICY, attributes=(numeric("income"), ILLNESS, CHARGE, TAG))
    policy = replace(policy, methods=(Microaggregation(Clustering.UNIVARIATE),))
    release = run(database, policy)
    check(policy, session, people)
    values = sorted(row["income"] for row in people)
    least = [0.0] + [float("inf")] * len(values)
    for end in range(4, len(values) + 1):
        for start in range(max(end - 7, 0), end - 3):
            part = values[start:end]
            error = sum((value - fmean(part)) ** 2 for value in part)
            least[end] = min(least[end], least[start] + error)
    whole = sum((value - fmean(values)) ** 2 for value in values)
    assert release.score == pytest.approx(least[-1] / whole, abs=1e-9)
    assert (release.proof.optimal, release.proof.lower_bound) == (True, release.score)


# --- records with equal values ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_many_equal_records_are_found_in_their_clusters_one_by_one(
    database: Database, session: Session, run: Run
) -> None:
    """60,000 clusters in one place: to compare each record with all of them takes 20 seconds."""
    session.execute("CREATE TABLE people AS SELECT 1 AS age, 2 AS income, i % 7 AS tag FROM range(240_000) AS r(i)")
    started = time.process_time()
    run(database, replace(POLICY, attributes=(numeric("age"), numeric("income"), TAG)))
    assert time.process_time() - started < 10
    assert session.rows("SELECT DISTINCT age, income FROM out") == [(1, 2)]
    tags = [dict(session.rows(f"SELECT tag, count(*) FROM {name} GROUP BY tag")) for name in ("people", "out")]
    assert tags[0] == tags[1]


# --- warnings and the other half of a job ---------------------------------------------------------------------------


@pytest.mark.long
def test_warnings_say_what_tells_nothing(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    rows = [row | {"age": 1 if row["tag"] % 4 == 0 else 0} for row in people]
    create(session, rows)
    usual = numeric("age", function=AggregateFunction.MODE, weight=0.0)
    policy = replace(POLICY, attributes=(usual, *POLICY.attributes[1:]), privacy_models=(KAnonymity(15),))
    release = run(database, policy)
    assert other_warnings(release) == ("'age' is the same in all clusters: it tells nothing of any record.",)
    one = replace(policy, privacy_models=(KAnonymity(31),), release=plain_target("main", "other"))
    release = run(database, replace(one, repeat_reason="a test"))
    assert release.classes == 1
    assert release.score == pytest.approx(1)
    assert other_warnings(release) == (
        f"All {release.records:,} records are in one cluster: the quasi-identifiers tell nothing of any of them.",
    )


def test_the_example_is_released(database: Database, session: Session, run: Run) -> None:
    message, faults = read_policy(EXAMPLE.read_text(encoding="utf-8"), "yaml")
    assert not faults
    policy, faults = policy_from_proto(message)
    assert policy is not None, faults
    session.execute(
        "CREATE TABLE discharges AS SELECT i AS patient_id, i * 7 % 100 AS age, i % 40 AS length_of_stay, "
        "DATE '2026-01-01' + (i * 13 % 200)::INTEGER AS admission_date, "
        "if(i % 40 > 0, lpad((i * 31 % 70)::VARCHAR, 5, '0'), NULL) AS zip_code, i * i % 97 AS charge, "
        "'unlisted' AS note "
        "FROM range(120) AS r(i)"
    )
    release = run(database, policy)
    names = [name for name, *_ in session.rows("DESCRIBE discharges_microaggregated")]
    beside = [f"admission_date_{end}" for end in ("from", "to", "rank")]
    assert names == ["age", "length_of_stay", "admission_date", *beside, "zip_code", "zip_code_rank", "charge"]
    assert release.suppressed_records == 3
    reached = {g.model: g.after for g in release.guarantees}
    assert (reached["k_anonymity"] or 0) >= 5
    assert (reached["t_closeness (ordered)"] or 1) <= 0.2


def test_columns_of_one_value_lose_nothing(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    create(session, [row | {"age": 40, "income": -0.0} for row in people])
    release = run(database, POLICY)
    assert release.score == 0
    assert [attribute.loss for attribute in release.attributes] == [0, 0]
    assert {row[:2] for row in session.rows("SELECT DISTINCT age, income FROM out")} == {(40.0, 0.0)}


@pytest.mark.long
def test_a_second_release_needs_a_reason_and_room(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    run(database, POLICY)
    refused(InvalidError, database, session, replace(POLICY, release=plain_target("main", "other")))
    refused(ConflictError, database, session, replace(POLICY, repeat_reason="a test"))


def test_it_tells_how_far_it_is_and_can_be_stopped(database: Database, session: Session, people: list[Row]) -> None:
    seen: list[Progress] = []
    phases: list[JobPhase] = []
    with database.session() as own:
        own.control = Control()
        anonymize(context(own, database, jobs.next_number(own.ledger), JobReport(phases.append, seen.append)), POLICY)
    assert phases == list(JobPhase)
    assert seen
    assert all(progress.of_records and progress.lattice_size == 60 for progress in seen)
    assert seen[-1].checked == 60
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")
    for phase in (JobPhase.SEARCHING, JobPhase.VERIFYING):
        control = Control()

        def on_phase(at: JobPhase, stop: Control = control, last: JobPhase = phase) -> None:
            if at is last:
                stop.cancel()

        with database.session() as own:
            own.control = control
            other = replace(POLICY, release=plain_target("main", "other"))
            with pytest.raises(Stopped):
                anonymize(context(own, database, jobs.next_number(own.ledger), JobReport(on_phase)), other)
    assert session.value("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'other%'") == 0
    assert session.value("SELECT count(*) FROM tableveil.releases") == 0


def test_the_risks_of_a_release_are_those_of_its_classes(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    release = run(database, POLICY, document=canonical_json(policy_to_proto(POLICY)))
    with database.session() as own:
        own.control = Control()
        request = RiskRequest(table=None, quasi_identifiers=(), release=release.number)
        number = run_risk_analysis(context(own, number=jobs.next_number(own.ledger)), request, stored_policy)
    found = RISK_ANALYSES.find(session.ledger, number)
    assert found is not None
    assert found.quasi_identifiers == ("age", "income")
    assert found.classes == release.classes


def test_what_searches_a_lattice_is_refused() -> None:
    message = policy_to_proto(POLICY)
    _, _, _, faults = frontier_from_proto(frontier_service_pb2.SubmitFrontierRequest(policy=message))
    assert [fault.field for fault in faults] == ["microaggregation"]
    _, _, _, faults = payout_sweep_from_proto(payout_service_pb2.SubmitPayoutSweepRequest(policy=message))
    assert "microaggregation" in [fault.field for fault in faults]
