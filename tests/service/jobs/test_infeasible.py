"""Policies that nothing meets: what is said to be feasible is, when it is submitted, whatever the models are."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database
from tableveil.errors import InfeasibleError
from tableveil.hierarchy import InlineLevels, Intervals, SuppressionOnly
from tableveil.jobs.model import Failure
from tableveil.jobs.read import count
from tableveil.jobs.report import Report
from tableveil.jobs.run import chosen_plan
from tableveil.policy import (
    AttributePolicy,
    AverageRisk,
    BetaLikeness,
    Choose,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    Game,
    Inclusion,
    KAnonymity,
    NoAttack,
    NTCloseness,
    Policy,
    Population,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    ReleaseTarget,
    Role,
    SampleUniqueness,
    SearchOptions,
    Success,
    SuppressedRecords,
    TableReference,
    TCloseness,
    validate_policy,
)
from tableveil.search import Control, SearchOutcome, search
from tableveil.state.releases import Release
from tests.engine.search.changes import with_changes

Run = Callable[..., Release]

ILLNESSES = InlineLevels(
    (("flu", "lungs", "*"), ("asthma", "lungs", "*"), ("ulcer", "stomach", "*"), ("gastritis", "stomach", "*"))
)

POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("5", "10", "50")), maximum_level=1),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly(), maximum_level=0),
        AttributePolicy("illness", Role.SENSITIVE, ILLNESSES),
    ),
    person_column="id",
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "released"),
    game=Game(Decimal(1200), Decimal(9000), Decimal(900), Decimal(20)),
)
EVERYBODY = Population(TableReference("", "main", "people"))


@pytest.fixture
def database(shared_database: Database) -> Database:
    with shared_database.session() as session:
        if not session.value("SELECT count(*) FROM information_schema.tables WHERE table_name = 'patients'"):
            draw = random.Random(3)
            session.execute("CREATE TABLE patients (id INTEGER, age INTEGER, sex VARCHAR, illness VARCHAR)")
            session.execute("CREATE TABLE people (age INTEGER, sex VARCHAR)")
            for number in range(40):
                age, sex = 20 + number % 4 * 10 + number % 7, draw.choice("fm")
                illness = "flu" if 30 <= age < 35 else draw.choice(["flu", "asthma", "ulcer", "gastritis"])
                session.execute("INSERT INTO patients VALUES (?, ?, ?, ?)", [number, age, sex, illness])
                for _ in range(2):
                    session.execute("INSERT INTO people VALUES (?, ?)", [age, sex])
    return shared_database


def asking(*models: PrivacyModel, **changes: Any) -> Policy:
    return replace(POLICY, privacy_models=models, **changes)


def levels(age: int, sex: int) -> SearchOptions:
    return SearchOptions(levels=(("age", age), ("sex", sex)))


KEEP: dict[str, Any] = {"suppressed_records": SuppressedRecords.KEEP, "marker_column": "gone"}

INFEASIBLE: dict[str, Policy] = {
    "k-anonymity": asking(KAnonymity(9), suppression_limit=Decimal("0.05")),
    "presence": asking(DeltaPresence(Decimal("0.1"), Decimal("0.3")), population=EVERYBODY),
    "with inclusion": asking(Inclusion(), KAnonymity(30), population=EVERYBODY),
    "average risk": asking(AverageRisk(Decimal("0.01")), SampleUniqueness(Decimal(0))),
    "population uniqueness": asking(PopulationUniqueness(Decimal("0.0001")), population=Population(size=5000)),
    "two diversities": asking(ProbabilisticLDiversity("illness", Decimal(4)), EntropyLDiversity("illness", Decimal(4))),
    "t-closeness and k": asking(TCloseness("illness", Decimal("0.01")), KAnonymity(20)),
    "(n,t)-closeness": asking(NTCloseness("illness", 20, Decimal("0.01"))),
    "disclosure and likeness": asking(
        DeltaDisclosure("illness", Decimal("0.1")), BetaLikeness("illness", Decimal("0.1"))
    ),
    "both games": asking(NoAttack(), Profitability(), suppression_limit=Decimal("0.1")),
    "a marketer": asking(Profitability(Success.MARKETER), KAnonymity(30)),
    "kept records": asking(KAnonymity(9), suppression_limit=Decimal("0.2"), **KEEP),
    "kept records and t": asking(TCloseness("illness", Decimal("0.05")), suppression_limit=Decimal("0.2"), **KEEP),
    "given levels": asking(
        KAnonymity(9), search=levels(1, 0), attributes=tuple(replace(a, maximum_level=None) for a in POLICY.attributes)
    ),
    "linked columns": asking(
        KAnonymity(9),
        search=SearchOptions(linked=(("age", "sex"),)),
        attributes=tuple(replace(a, maximum_level=None) for a in POLICY.attributes),
    ),
    "values are not asked": asking(
        KAnonymity(9), DistinctLDiversity("illness", 2), search=SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY)
    ),
}


def refused(database: Database, run: Run, policy: Policy) -> InfeasibleError:
    with pytest.raises(InfeasibleError) as raised:
        run(database, policy)
    assert raised.value.code == "INFEASIBLE"
    return raised.value


def choose(database: Database, policy: Policy) -> None:
    """All of a job up to where it would write; raises what the job would."""
    with database.session() as session:
        session.control = Control()
        chosen_plan(session, count(session, policy, Report()), Report())


@pytest.mark.parametrize("title", INFEASIBLE)
def test_what_is_said_to_be_feasible_is(title: str, database: Database, run: Run) -> None:
    policy = INFEASIBLE[title]
    assert not validate_policy(policy)
    error = refused(database, run, policy)
    assert error.relaxations
    # All that a fault of a field says is in the relaxations too, and where something of it alone would do, it says so.
    fields = [fault.field for fault in error.faults]
    assert len(fields) == len(set(fields)) > 0
    for relaxation in error.relaxations:
        if len(relaxation.changes) == 1:
            assert any(relaxation.changes[0].value in fault.hint for fault in error.faults)
    for relaxation in error.relaxations:
        relaxed = with_changes(policy, relaxation.changes)
        assert not validate_policy(relaxed)
        choose(database, relaxed)
    assert Failure.from_json(Failure.of(error).to_json()) == Failure.of(error)


def test_one_fault_for_each_requirement_that_conflicts(database: Database, run: Run) -> None:
    error = refused(database, run, asking(DistinctLDiversity("illness", 2), KAnonymity(30)))
    assert {fault.field for fault in error.faults} >= {"privacy_models[1]"}
    assert "privacy_models[0]" not in {fault.field for fault in error.faults}
    assert all(fault.found and fault.expected and fault.hint for fault in error.faults)


def test_nothing_found_in_time_is_not_nothing(database: Database, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that was ended before it found anything: what comes after it looks for anything at all."""

    def ended(*arguments: Any) -> SearchOutcome:
        return replace(search(*arguments), best=None, complete=False)

    monkeypatch.setattr("tableveil.jobs.run.search", ended)
    policy = asking(KAnonymity(2), suppression_limit=Decimal("0.5"), search=SearchOptions(Decimal(1)))
    error = refused(database, run, policy)
    [fault] = error.faults
    assert fault.field == "search.time_limit_seconds"
    [relaxation] = error.relaxations
    assert [change.field for change in relaxation.changes] == ["search.levels[age]", "search.levels[sex]"]
    monkeypatch.undo()
    given = tuple((c.field.removeprefix("search.levels[").removesuffix("]"), int(c.value)) for c in relaxation.changes)
    choose(database, replace(policy, search=SearchOptions(levels=given)))
