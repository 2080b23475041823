"""Policies that nothing meets: what is said to be feasible is, when it is submitted, whatever the models are."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database
from tableveil.classes import ClassCounter, EquivalenceClasses, RememberingCounter
from tableveil.control import Control
from tableveil.errors import CancelledError, Change, InfeasibleError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lattice import Transformation
from tableveil.pipelines.full_domain import chosen_plan, search_of
from tableveil.pipelines.relaxing import relaxed
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
    RecursiveCLDiversity,
    Role,
    SampleUniqueness,
    SearchOptions,
    Success,
    SuppressedRecords,
    TableReference,
    TCloseness,
    validate_policy,
)
from tableveil.runtime.model import Failure
from tableveil.search import SearchOutcome, search
from tableveil.search.relaxing.requirements import requirements_of
from tableveil.state.releases import Release
from tests.engine.search.changes import stricter, with_changes
from tests.inserted import insert
from tests.once import once
from tests.service.jobs.contexts import context, count
from tests.service.jobs.plain import plain_target

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
    release=plain_target("main", "released"),
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
            rows = []
            for number in range(40):
                age, sex = 20 + number % 4 * 10 + number % 7, draw.choice("fm")
                illness = "flu" if 30 <= age < 35 else draw.choice(["flu", "asthma", "ulcer", "gastritis"])
                rows.append((number, age, sex, illness))
            insert(session, "patients", rows)
            insert(session, "people", ((age, sex) for _, age, sex, _ in rows for _ in range(2)))
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
        job = context(session)
        chosen_plan(job, count(job, policy))


@pytest.mark.parametrize("title", once(INFEASIBLE, 2))
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


def test_records_that_are_kept_may_be_blanked_with_no_other_change() -> None:
    """A policy that drops them has no marker column."""
    policy = asking(KAnonymity(9), **KEEP)
    kept = next(one for one in requirements_of(policy, [3, 1], 40) if one.field == "suppressed_records.handling")
    [parameter] = kept.parameters
    less = parameter.applied(policy, parameter.last)
    assert less == with_changes(policy, [Change(parameter.field, parameter.spelled(parameter.last))])
    assert not validate_policy(less)


def test_models_that_were_not_asked_are_no_part_of_what_is_feasible(database: Database, run: Run) -> None:
    """Relaxations that hold for the other models may fail them, and the error says so."""
    blindly = SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY)
    policy = asking(KAnonymity(9), BetaLikeness("illness", Decimal("0.01")), search=blindly)
    error = refused(database, run, policy)
    last = error.faults[-1]
    assert (last.field, "without asking privacy_models[1]" in last.hint) == ("search.choose", True)
    for relaxation in error.relaxations:
        with pytest.raises(InfeasibleError) as raised:
            choose(database, with_changes(policy, relaxation.changes))
        assert raised.value.code == "VALUES_UNPROTECTED"
    for asked in (replace(policy, search=SearchOptions()), asking(KAnonymity(9), search=blindly)):
        assert "search.choose" not in {fault.field for fault in refused(database, run, asked).faults}


def test_nothing_found_in_time_is_not_nothing(database: Database, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that ended before it found anything: the job then looks for anything at all."""

    def ended(*arguments: Any) -> SearchOutcome:
        return replace(search(*arguments), best=None, complete=False)

    monkeypatch.setattr("tableveil.pipelines.full_domain.search", ended)
    policy = asking(KAnonymity(2), suppression_limit=Decimal("0.5"), search=SearchOptions(Decimal(1)))
    error = refused(database, run, policy)
    [fault] = error.faults
    assert fault.field == "search.time_limit_seconds"
    [relaxation] = error.relaxations
    assert [change.field for change in relaxation.changes] == ["search.levels[age]", "search.levels[sex]"]
    monkeypatch.undo()
    given = tuple((c.field.removeprefix("search.levels[").removesuffix("]"), int(c.value)) for c in relaxation.changes)
    choose(database, replace(policy, search=SearchOptions(levels=given)))


# --- values that were not asked when the transformation was chosen ---------------------------------------------------

BLINDLY: dict[str, Any] = {
    "search": SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY),
    "attributes": tuple(replace(attribute, maximum_level=None) for attribute in POLICY.attributes),
}
UNPROTECTED: dict[str, tuple[Policy, bool]] = {
    "one model": (asking(KAnonymity(3), DistinctLDiversity("illness", 3), **BLINDLY), True),
    "three models": (
        asking(
            KAnonymity(3),
            EntropyLDiversity("illness", Decimal(4)),
            RecursiveCLDiversity("illness", Decimal("0.5"), 3),
            TCloseness("illness", Decimal("0.01")),
            **BLINDLY,
        ),
        False,
    ),
    "kept records": (
        asking(
            KAnonymity(5),
            TCloseness("illness", Decimal("0.05")),
            BetaLikeness("illness", Decimal("0.01")),
            suppression_limit=Decimal("0.3"),
            **KEEP,
            **BLINDLY,
        ),
        True,
    ),
    "(n,t)-closeness": (asking(KAnonymity(3), NTCloseness("illness", 20, Decimal("0.01")), **BLINDLY), True),
}


@pytest.mark.parametrize("title", once(UNPROTECTED, 2))
def test_what_would_protect_the_values_is_said_and_does(title: str, database: Database, run: Run) -> None:
    policy, by_all = UNPROTECTED[title]
    assert not validate_policy(policy)
    with pytest.raises(InfeasibleError) as raised:
        run(database, policy)
    error = raised.value
    assert error.code == "VALUES_UNPROTECTED"
    *models, choosing = error.faults
    assert [fault.field for fault in models] == [
        f"privacy_models[{i}]" for i, model in enumerate(policy.privacy_models) if not isinstance(model, KAnonymity)
    ]
    assert choosing.field == "search.choose"
    chosen = [relaxation for relaxation in error.relaxations if "search.choose" in str(relaxation)]
    assert bool(chosen) == by_all
    if by_all:
        choose(database, replace(policy, search=SearchOptions()))
    else:
        assert "would find nothing either" in choosing.hint
        with pytest.raises(InfeasibleError):
            choose(database, replace(policy, search=SearchOptions()))
    others = [relaxation for relaxation in error.relaxations if relaxation not in chosen]
    assert others
    with database.session() as session:
        session.control = Control()
        job = context(session)
        counted = count(job, policy)

        def choose_with(changes: Sequence[Change]) -> None:
            chosen_plan(job, replace(counted, policy=with_changes(policy, changes)))

        for relaxation in others:
            assert relaxation.nearest
            choose_with(relaxation.changes)
            for change in relaxation.changes:
                kept = [other for other in relaxation.changes if other != change]
                smaller = stricter(policy, change)
                with pytest.raises(InfeasibleError):
                    choose_with(kept if smaller is None else [*kept, Change(change.field, smaller)])


# --- fewer records than a class must have ----------------------------------------------------------------------------


def test_fewer_records_than_k_are_told_the_k_that_would_do(database: Database, run: Run) -> None:
    policy = asking(
        DistinctLDiversity("illness", 2),
        KAnonymity(41),
        attributes=tuple(replace(attribute, maximum_level=None) for attribute in POLICY.attributes),
    )
    with pytest.raises(InfeasibleError) as raised:
        run(database, policy)
    assert raised.value.code == "TOO_FEW_RECORDS"
    [fault] = raised.value.faults
    assert (fault.field, fault.hint) == ("privacy_models[1]", "Feasible would be k = 40.")
    assert fault.found.startswith("41-anonymity, which refuses 40 of 40 records")
    [relaxation] = raised.value.relaxations
    assert relaxation.nearest
    choose(database, with_changes(policy, relaxation.changes))


# --- how long, and how much memory -----------------------------------------------------------------------------------


def test_a_cancel_ends_the_search_for_hints(database: Database, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """For every kind of cancel: by the client, by Ctrl-C of the one-shot command, or by a server that stops."""
    counted = set()

    def count_one(self: RememberingCounter, transformation: Transformation) -> EquivalenceClasses:
        counted.add(transformation)
        control.cancel()
        return classes(self, transformation)

    classes = RememberingCounter.classes
    policy = INFEASIBLE["t-closeness and k"]
    with database.session() as session:
        session.control = control = Control()
        job = context(session)
        read = count(job, policy)
        problem, found = search_of(job, read)
        assert found.best is None
        monkeypatch.setattr(RememberingCounter, "classes", count_one)
        with pytest.raises(CancelledError):
            relaxed(job, policy, problem, read.base, proven=True)
    assert len(counted) == 1


def test_what_is_remembered_is_a_part_of_the_memory_of_the_job(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = []

    class Noted(RememberingCounter):
        def __init__(self, counter: ClassCounter, budget: int) -> None:
            budgets.append(budget)
            super().__init__(counter, budget)

    monkeypatch.setattr("tableveil.pipelines.relaxing.RememberingCounter", Noted)
    policy = INFEASIBLE["k-anonymity"]
    with database.session() as session:
        session.control, session.memory = Control(), 800
        job = context(session)
        read = count(job, policy)
        problem, _ = search_of(job, read)
        relaxed(job, policy, problem, read.base, proven=True)
    assert budgets == [100]
