"""Releases by microaggregation of people with several records, counted anew in SQL and in plain Python."""

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tableveil.aggregation.coordinates import Clustered
from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.disclosure.check import Measured
from tableveil.errors import InfeasibleError, InternalError, InvalidError
from tableveil.microaggregation.solve import ClusterProblem, solve
from tableveil.pipelines import microaggregation as run_microaggregation
from tableveil.pipelines.anonymize import anonymize
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    AverageRisk,
    DistinctLDiversity,
    Dominance,
    IfExists,
    KAnonymity,
    LeftBehind,
    NullHandling,
    Policy,
    PrivacyModel,
    ProbabilisticLDiversity,
    Role,
    TableReference,
    TCloseness,
    validate_policy,
)
from tableveil.policy.methods.microaggregation import Clustering, Microaggregation
from tableveil.privacy.diversity_of_people import DistinctOfPeopleRule
from tableveil.privacy.people import DominanceRule, KPeopleRule
from tableveil.release import clusters
from tableveil.state import jobs
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs import test_people
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
Row = tuple[int | None, datetime.date, float, str | None, int, str]

database, clean = test_people.database, test_people.clean


def numeric(column: str, **options: Any) -> AttributePolicy:
    nulls = options.pop("nulls", NullHandling.ERROR)
    return AttributePolicy(column, Role.QUASI_IDENTIFIER, nulls=nulls, aggregation=Aggregation(**options))


NAMES = ("age", "day", "stay", "illness", "visit", "person")

POLICY = Policy(
    source=TableReference("", "main", "visits"),
    attributes=(
        numeric("age", function=AggregateFunction.INTERVAL, grid=Decimal(5)),
        numeric("day"),
        numeric("stay"),
        AttributePolicy("illness", Role.SENSITIVE, acknowledged=True),
        AttributePolicy("visit", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("person", Role.IDENTIFYING),
    ),
    person_column="person",
    privacy_models=(KAnonymity(4),),
    release=plain_target("main", "out"),
    methods=(Microaggregation(),),
)


def visits(seed: int, people: int = 70) -> list[Row]:
    """Each person has an age and few illnesses, and 1 to 20 visits; a visit's number tells its row."""
    random = Random(seed)
    rows: list[Row] = []
    for person in range(people):
        age, own = random.randrange(90), random.sample(["flu", "Flu ", "gout", "cold", "cough", None], 2)
        day = datetime.date(2024, 1, 1) + datetime.timedelta(days=random.randrange(300))
        for _ in range(random.choice([1, 1, 2, 3, 20])):
            at = day + datetime.timedelta(days=random.randrange(30))
            rows.append((age, at, float(random.randrange(8)), random.choice(own), len(rows), f"P{person:03}"))
    return rows


def create(session: Session, rows: Sequence[Row]) -> None:
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    with session.relation("given", pa.table({name: pa.array(values) for name, values in columns.items()})):
        session.execute("CREATE OR REPLACE TABLE visits AS FROM given")


def classes(session: Session, rows: Sequence[Row]) -> list[list[Row]]:
    """The source's records in each class of the released rows, found by the numbers of visits."""
    known = {row[4]: row for row in rows}
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for *labels, visit in session.rows("SELECT age, day, stay, visit FROM out"):
        found[tuple(labels)].append(known[visit])
    return list(found.values())


def people_of(part: Sequence[Row]) -> Counter[str]:
    return Counter(row[5] for row in part)


# --- promises -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clustering", once([Clustering.AUTO, Clustering.V_MDAV, Clustering.PARTITION]))
def test_every_class_has_k_people(database: Database, session: Session, run: Run, clustering: Clustering) -> None:
    rows = visits(1)
    create(session, rows)
    release = run(database, replace(POLICY, methods=(Microaggregation(clustering),)))
    found = classes(session, rows)
    # Counted by SQL, too: nothing of what the search knows.
    counted = session.value(
        "SELECT min(people) FROM (SELECT count(DISTINCT v.person) AS people FROM out AS o "
        "JOIN visits AS v USING (visit) GROUP BY o.age, o.day, o.stay)"
    )
    assert counted == min(len(people_of(part)) for part in found) >= 4
    assert len(found) >= 8
    assert sum(map(len, found)) == len(rows) == release.records
    for part in found:
        assert session.value(f"SELECT stay FROM out WHERE visit = {part[0][4]}") == pytest.approx(
            sum(row[2] for row in part) / len(part)
        )
    reached = {guarantee.model: guarantee for guarantee in release.guarantees}
    assert (reached["k_anonymity"].before, reached["k_anonymity"].after) == (1, counted)
    shares = [Fraction(max(people_of(part).values()), len(part)) for part in found]
    assert reached["dominance"].after == float(max(shares))
    assert any(f"{float(max(shares)):.1%} of the records of a class" in warning for warning in release.warnings)
    assert "of 4 people each" in release.proof.strategy


def test_nobody_dominates_a_class(database: Database, session: Session, run: Run) -> None:
    rows = visits(2)
    create(session, rows)
    release = run(database, replace(POLICY, privacy_models=(KAnonymity(3), Dominance(Decimal("0.25")))))
    found = classes(session, rows)
    assert max(Fraction(max(people_of(part).values()), len(part)) for part in found) <= Fraction(1, 4)
    assert len(found) >= 20
    assert not any("of the records of a class" in warning for warning in release.warnings)


@pytest.mark.parametrize(
    "model", once([DistinctLDiversity("illness", 3), ProbabilisticLDiversity("illness", Decimal("1.4"))]), ids=str
)
@pytest.mark.parametrize("days", once([1, 20]))
def test_few_people_of_a_class_have_a_value(
    database: Database, session: Session, run: Run, model: PrivacyModel, days: int
) -> None:
    """With few different days and ages, clusters have the same values and are one class of the rows."""
    rows = [
        (row[0] // 30 * 30 if row[0] is not None else None, datetime.date(2024, 1, 1 + row[4] % days), 0.0, *row[3:])
        for row in visits(3)
    ]
    create(session, rows)
    run(database, replace(POLICY, privacy_models=(KAnonymity(3), model)))
    found = classes(session, rows)
    assert len(found) > 1
    for part in found:
        pairs = {(row[5], row[3].strip().lower()) for row in part if row[3] is not None}
        known, having = len({who for who, _ in pairs}), Counter(value for _, value in pairs)
        if isinstance(model, DistinctLDiversity):
            assert len(having) >= 3
            assert known - max(having.values()) >= 2
        else:
            assert max(having.values()) * Decimal("1.4") <= known


@pytest.mark.long
@pytest.mark.parametrize("function", once([AggregateFunction.MEAN, AggregateFunction.INTERVAL]))
def test_clusters_that_look_alike_are_one_class_in_what_is_told(
    database: Database, session: Session, run: Run, function: AggregateFunction
) -> None:
    """With one place, or one interval of all, what somebody has of a cluster is more than their part of the rows."""
    rows = [(40 + row[0] % 5 if row[0] is not None else 0, row[1], 0.0, *row[3:]) for row in visits(13)]
    if function is AggregateFunction.MEAN:
        rows = [(40, *row[1:]) for row in rows]
    create(session, rows)
    grid = Decimal(90) if function is AggregateFunction.INTERVAL else None
    attributes = (
        numeric("age", function=function, grid=grid),
        AttributePolicy("day", Role.IDENTIFYING),
        AttributePolicy("stay", Role.IDENTIFYING),
        *POLICY.attributes[3:],
    )
    release = run(database, replace(POLICY, attributes=attributes))
    assert session.value("SELECT count(DISTINCT age) FROM out") == 1
    reached = {guarantee.model: guarantee.after for guarantee in release.guarantees}
    assert reached["k_anonymity"] == len(people_of(rows))
    assert reached["dominance"] == max(people_of(rows).values()) / len(rows)


@pytest.mark.long
def test_models_of_records_hold_of_records(database: Database, session: Session, run: Run) -> None:
    rows = visits(4)
    create(session, rows)
    release = run(database, replace(POLICY, privacy_models=(KAnonymity(3), TCloseness("illness", Decimal("0.4")))))
    assert min(len(people_of(part)) for part in classes(session, rows)) >= 3
    assert any("hold of records, not of people" in warning for warning in release.warnings)


@pytest.mark.long
@pytest.mark.parametrize(
    "names", once([("class", "value", "w"), ("place", "Class", "k0"), ("q0", "v0", "CLASS")]), ids=" ".join
)
def test_columns_that_are_called_as_the_verification_calls_its_own(
    database: Database, session: Session, run: Run, names: tuple[str, str, str]
) -> None:
    """A person or an illness that is called class was taken for the number of the class."""
    rows = visits(14)
    create(session, rows)
    renamed = dict(zip(("illness", "person", "stay"), names, strict=True))
    for before, name in renamed.items():
        session.execute(f'ALTER TABLE visits RENAME COLUMN "{before}" TO "{name}"')
    attributes = tuple(replace(each, column=renamed.get(each.column, each.column)) for each in POLICY.attributes)
    models = (KAnonymity(3), Dominance(Decimal("0.4")), DistinctLDiversity(renamed["illness"], 2))
    policy = replace(POLICY, attributes=attributes, person_column=renamed["person"], privacy_models=models)
    assert run(database, policy).classes >= 8


def test_the_order_of_rows_says_nothing(database: Database, session: Session, run: Run) -> None:
    """Many equal places, so that numbers of people decide who is in which cluster."""
    rows = [(40, row[1].replace(day=1), 1.0, *row[3:]) for row in visits(5)]
    policy = replace(POLICY, privacy_models=(KAnonymity(3), Dominance(Decimal("0.3"))))
    create(session, rows)
    run(database, policy)
    before = session.rows("FROM out")
    create(session, Random(2).sample(rows, len(rows)))
    again = replace(policy, repeat_reason="shuffled", release=replace(POLICY.release, if_exists=IfExists.REPLACE))
    run(database, again)
    assert session.rows("FROM out") == before


@pytest.mark.long
def test_as_many_people_as_records_are_as_rows_of_people(database: Database, session: Session, run: Run) -> None:
    rows = [(*row[:5], f"P{i}") for i, row in enumerate(visits(6))]
    create(session, rows)
    first = run(database, replace(POLICY, privacy_models=(KAnonymity(4), DistinctLDiversity("illness", 2))))
    shown = session.rows("FROM out")
    alone = replace(POLICY, person_column=None, repeat_reason="a test", release=plain_target("main", "alone"))
    second = run(database, replace(alone, privacy_models=(KAnonymity(4), DistinctLDiversity("illness", 2))))
    assert session.rows("FROM alone") == shown
    assert (second.score, second.proof.strategy) == (first.score, first.proof.strategy)


def test_people_of_records_set_aside_are_told(database: Database, session: Session, run: Run) -> None:
    rows = visits(8)
    gone, half = rows[0][5], next(row[5] for row in reversed(rows) if people_of(rows)[row[5]] > 1)
    first = next(row[4] for row in rows if row[5] == half)
    rows = [(None if row[5] == gone or row[4] == first else row[0], *row[1:]) for row in rows]
    create(session, rows)
    age = numeric("age", nulls=NullHandling.SUPPRESS)
    policy = replace(POLICY, attributes=(age, *POLICY.attributes[1:]), suppression_limit=Decimal("0.5"))
    release = run(database, policy)
    assert (
        "Records set aside because of NULLs are all records of 1 person, and some records of 1 person."
        in release.warnings
    )
    assert min(len(people_of(part)) for part in classes(session, rows)) >= 4
    # An erasure has to find all people of the source.
    known = f"SELECT count(*) FROM tableveil.release_persons WHERE release = {release.number}"
    assert session.value(known) == len(people_of(rows)) == 70


# --- what is not released ---------------------------------------------------------------------------------------------


def refused(kind: type[Any], database: Database, policy: Policy) -> Any:
    with database.session() as own:
        own.control = Control()
        with pytest.raises(kind) as caught:
            anonymize(context(own, database, jobs.next_number(own.ledger)), policy)
        assert own.value("SELECT count(*) FROM tableveil.releases") == 0
    return caught.value


def test_one_person_with_all_records_or_too_many(database: Database, session: Session) -> None:
    rows = visits(9)
    create(session, [(*row[:5], "P1") for row in rows])
    (fault,) = refused(InfeasibleError, database, POLICY).faults
    assert fault.field == "privacy_models[0]"
    create(session, [(*row[:5], "P1" if row[4] % 3 else row[5]) for row in rows])
    policy = replace(POLICY, privacy_models=(KAnonymity(4), Dominance(Decimal("0.25"))))
    (fault,) = refused(InfeasibleError, database, policy).faults
    assert fault.field == "privacy_models[1]"
    assert "Feasible would be share = 0.6" in fault.hint


def test_what_counts_records_is_refused(database: Database, session: Session) -> None:
    create(session, visits(10))
    assert [
        fault.field
        for fault in validate_policy(replace(POLICY, privacy_models=(KAnonymity(4), AverageRisk(Decimal("0.1")))))
    ]
    together = replace(POLICY, record_column="visit", release=replace(POLICY.release, left_behind=LeftBehind.REPORT))
    assert "release.left_behind" in {fault.field for fault in validate_policy(together)}
    quasi_identifying = (*POLICY.attributes[:-1], numeric("person"))
    assert "attributes[5].role" in {
        fault.field for fault in validate_policy(replace(POLICY, attributes=quasi_identifying))
    }
    session.execute("UPDATE visits SET person = NULL WHERE visit = 3")
    error = refused(InvalidError, database, POLICY)
    assert "person_column" in {fault.field for fault in error.faults}


def judged(kind: type[Any], answer: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(kind, "releasable", answer)


@pytest.mark.parametrize(
    ("models", "patches", "found"),
    [
        ((KAnonymity(4),), judged(KPeopleRule, lambda rule, all_: all_.counts >= 4), "fewer than k = 4"),
        (
            (KAnonymity(2), Dominance(Decimal("0.4"))),
            judged(DominanceRule, lambda rule, all_: all_.counts >= 2),
            "not of share = 0.4-dominance|0.4",
        ),
        (
            (KAnonymity(2), DistinctLDiversity("illness", 3)),
            judged(DistinctOfPeopleRule, lambda rule, all_: rule.of_records.releasable(all_)),
            "the people of .* classes are not of",
        ),
    ],
    ids=["k", "dominance", "people's values"],
)
def test_a_search_that_counts_records_does_not_pass_the_verification(
    database: Database,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    models: tuple[PrivacyModel, ...],
    patches: Callable[[pytest.MonkeyPatch], None],
    found: str,
) -> None:
    create(session, visits(11))
    patches(monkeypatch)

    def of_records(problem: ClusterProblem, *others: Any) -> Clustered:
        return solve(replace(problem, points=replace(problem.points, people=None)), *others)

    monkeypatch.setattr(run_microaggregation, "solve", of_records)
    assert re.search(found, str(refused(InternalError, database, replace(POLICY, privacy_models=models))))


@pytest.mark.parametrize("fault", ["people", "places"])
def test_records_written_into_other_clusters_do_not_pass(
    database: Database, session: Session, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The rows are recounted from the source: neither members nor the writer are believed."""
    create(session, [(*row[:3], "flu", *row[4:]) for row in visits(12)])
    if fault == "people":
        plan = run_microaggregation._plan

        def moved(*given: Any) -> Any:
            made: Any = plan(*given)
            members = made.recoding.members
            shifted = (*members.sensitive[:-1], members.sensitive[-1][::-1].copy())
            return replace(made, recoding=replace(made.recoding, members=replace(members, sensitive=shifted)))

        monkeypatch.setattr(run_microaggregation, "_plan", moved)
    else:
        joined = clusters._joined
        monkeypatch.setattr(clusters, "_joined", lambda plan, members: list(joined(plan, members))[:-1])
        # The exposure needs the people of the rows.
        publish = import_module("tableveil.lifecycle.publish")
        monkeypatch.setattr(publish, "check_exposure", lambda *_: Measured((), ()))
    error = refused(InternalError, database, POLICY)
    found = {"people": "the clusters do not have every record", "places": "the rows are not the records of the people"}
    assert found[fault] in str(error)
