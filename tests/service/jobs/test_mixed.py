"""Jobs that generalize some quasi-identifiers and aggregate the others inside the classes that this makes."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.pipelines.foresight import check_rows
from tableveil.pipelines.frontier import run_frontier
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    DistinctLDiversity,
    EntropyModel,
    IfExists,
    KAnonymity,
    NullHandling,
    Policy,
    Role,
    Scale,
    SearchOptions,
    Strategy,
    TableReference,
)
from tableveil.requests.frontier import FrontierGrid
from tableveil.state import jobs
from tableveil.state.releases import Release
from tests.inserted import insert
from tests.once import once
from tests.searched import searched
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import other_warnings
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]

ZIP = AttributePolicy("zip", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "50")))
AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, nulls=NullHandling.ERROR, aggregation=Aggregation())
INCOME = AttributePolicy(
    "income", Role.QUASI_IDENTIFIER, aggregation=Aggregation(AggregateFunction.INTERVAL, grid=Decimal(100)), weight=0.5
)
TOWN = AttributePolicy(
    "town",
    Role.QUASI_IDENTIFIER,
    InlineLevels((("A", "north", "*"), ("B", "north", "*"), ("C", "south", "*"))),
    aggregation=Aggregation(AggregateFunction.COMMON_LABEL, Scale.NOMINAL),
)
ILLNESS = AttributePolicy("illness", Role.SENSITIVE)

# Zip codes 1 to 3 and 11 to 13, in classes of 4 by their tens; a lonely one; and one without an age.
PEOPLE = [
    (1, 20, 1010, "A", "flu"),
    (2, 30, 1090, "A", "cold"),
    (3, 40, 1150, "A", "flu"),
    (3, 50, 1199, "A", "cold"),
    (11, 60, 2000, "A", "flu"),
    (12, 61, 2001, "B", "cold"),
    (13, 62, 2002, "B", "cold"),
    (13, 69, 2399, "B", "flu"),
    (95, 90, 9000, "C", "cold"),
]


def policy_of(*attributes: AttributePolicy, k: int = 4, **fields: Any) -> Policy:
    policy = Policy(
        TableReference("", "main", "people"),
        (*attributes, ILLNESS),
        None,
        (KAnonymity(k),),
        plain_target("main", "released", if_exists=IfExists.REPLACE, guards=UNGUARDED),
        default_role=Role.IDENTIFYING,
        repeat_reason="a test",
        suppression_limit=Decimal("0.2"),
    )
    return replace(policy, **fields)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def people(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE people (zip INTEGER, age INTEGER, income DOUBLE, town VARCHAR, illness VARCHAR)"
    )
    insert(session, "people", PEOPLE)


def test_aggregates_are_those_of_the_classes_that_labels_make(database: Database, session: Session, run: Run) -> None:
    policy = policy_of(ZIP, AGE, INCOME, TOWN)
    release = run(database, replace(policy, release=replace(policy.release, label_columns=True)))
    assert session.rows("SELECT zip, age, income, town, count(*) FROM released GROUP BY ALL ORDER BY zip") == [
        ("[0, 9]", 35.0, "[1000, 1200)", "A", 4),
        ("[10, 19]", 63.0, "[2000, 2400)", "north", 4),
    ]
    assert session.rows("SELECT zip, age, income, town, class_size FROM released_classes ORDER BY zip") == [
        ("[0, 9]", 35.0, "[1000, 1200)", "A", 4),
        ("[10, 19]", 63.0, "[2000, 2400)", "north", 4),
    ]
    assert release.suppressed_records == 1
    # Every person differs from all others by their age and income.
    assert release.risk_before.unique_records == len(PEOPLE)
    found = {a.column: a for a in release.attributes}
    assert list(found) == ["zip", "age", "income", "town"]
    assert (found["zip"].level, found["zip"].top_level, found["zip"].aggregation) == (1, 3, "")
    assert found["age"].aggregation == "mean"
    assert found["income"].aggregation == "interval, rounded to multiples of 100"
    assert [found[name].level for name in ("age", "income", "town")] == [0, 0, 0]
    assert [found["age"].distinct_before, found["age"].distinct_after] == [9, 2]

    ages = [person[1] for person in PEOPLE]
    mean = sum(ages) / 9
    inside = sum((age - 35) ** 2 for age in ages[:4]) + sum((age - 63) ** 2 for age in ages[4:8])
    share = (inside + (90 - mean) ** 2) / sum((age - mean) ** 2 for age in ages)
    assert found["age"].loss == found["age"].part == pytest.approx(share, abs=1e-11)
    # Weights count in the score, and not in the parts.
    weighted = [a.part * (0.5 if a.column == "income" else 1.0) for a in release.attributes if a.part is not None]
    assert release.score == pytest.approx(sum(weighted) / 4)
    assert release.proof.optimal
    assert searched(release).lattice_size == "4"


@pytest.mark.long
def test_aggregated_columns_decide_what_is_best(database: Database, session: Session, run: Run) -> None:
    """By illness or by zip code: what tells the ages apart is kept."""
    session.execute(
        "CREATE OR REPLACE TABLE people AS "
        "SELECT i % 2 AS zip, i // 8 AS sex, i // 8 * 50 AS age, 'flu' AS illness FROM range(16) r(i)"
    )
    binary = InlineLevels((("0", "*"), ("1", "*")))
    others = (replace(ZIP, hierarchy=binary), AttributePolicy("sex", Role.QUASI_IDENTIFIER, binary))
    for first, levels in ((others, (1, 0)), (others[::-1], (0, 1))):
        # Generalizing either costs as much, and for themselves the first would stay.
        release = run(database, policy_of(*first, AGE, k=5))
        assert tuple(a.level for a in release.attributes)[:2] == levels
    assert session.rows("SELECT DISTINCT age FROM released ORDER BY age") == [(0.0,), (50.0,)]


def test_a_privacy_model_of_a_sensitive_column_is_held_against_the_same_classes(
    database: Database, session: Session, run: Run
) -> None:
    session.execute("UPDATE people SET illness = 'flu' WHERE zip < 10")
    policy = policy_of(ZIP, AGE, privacy_models=(KAnonymity(3), DistinctLDiversity("illness", 2)))
    release = run(database, policy)
    # Zip codes below 10 have one illness: they are released with those below 50.
    assert release.attributes[0].level == 2
    assert release.attributes[1].distinct_after == 1
    (diversity,) = (g for g in release.guarantees if g.model == "distinct_l_diversity")
    # By zip codes alone the source's classes would be too large.
    assert (diversity.before, diversity.after) == (None, 2.0)


def test_records_without_a_value_are_set_aside_and_count_as_suppressed(
    database: Database, session: Session, run: Run
) -> None:
    session.execute("UPDATE people SET age = NULL WHERE zip = 95")
    with pytest.raises(InvalidError, match=r"found 1 NULLs in 'age'.*Use SUPPRESS to set"):
        run(database, policy_of(ZIP, AGE))
    aside = replace(AGE, nulls=NullHandling.SUPPRESS)
    release = run(database, policy_of(ZIP, aside))
    assert (release.records, release.suppressed_records) == (9, 1)
    ages = [person[1] for person in PEOPLE[:8]]
    whole = sum((age - sum(ages) / 8) ** 2 for age in ages)
    inside = sum((age - 35) ** 2 for age in ages[:4]) + sum((age - 63) ** 2 for age in ages[4:])
    assert release.attributes[1].loss == pytest.approx((inside + whole / 8) / (whole * 9 / 8), abs=1e-11)
    assert session.rows("SELECT zip, age FROM released ORDER BY zip LIMIT 1") == [("[0, 9]", 35.0)]

    with pytest.raises(InfeasibleError, match="suppression_limit"):
        run(database, policy_of(ZIP, aside, suppression_limit=Decimal(0)))
    nine = policy_of(ZIP, aside, k=9)
    with database.session() as own, pytest.raises(InfeasibleError, match="asked of 8 records, besides 1 that are set"):
        check_rows(context(own), nine)
    with pytest.raises(InfeasibleError, match="9 of 9 records"):
        run(database, nine)
    session.execute("UPDATE people SET age = NULL")
    with database.session() as own, pytest.raises(InfeasibleError, match="asked of 0 records"):
        check_rows(context(own), policy_of(ZIP, aside, k=2, suppression_limit=Decimal(1)))


def test_columns_of_one_value_cost_nothing(database: Database, session: Session, run: Run) -> None:
    session.execute("UPDATE people SET age = 33, income = 500")
    release = run(database, policy_of(ZIP, AGE, INCOME))
    assert [a.loss for a in release.attributes[1:]] == [0.0, 0.0]
    assert session.rows("SELECT DISTINCT age, income FROM released") == [(33.0, "[500, 600)")]


def test_one_class_of_all_says_nothing(database: Database, session: Session, run: Run) -> None:
    release = run(database, policy_of(ZIP, AGE, k=9))
    assert [a.loss for a in release.attributes] == [1.0, 1.0]
    starts = (
        "'age' has the same aggregate in all released records",
        "'zip' has the same label in all released records",
    )
    assert [warning.split(":")[0] for warning in other_warnings(release)] == list(starts)
    assert session.rows("SELECT DISTINCT zip, round(age, 9) FROM released") == [("*", round(482 / 9, 9))]


def test_other_quality_models_look_at_generalized_columns_only(database: Database, run: Run) -> None:
    release = run(database, policy_of(ZIP, AGE, quality_model=EntropyModel()))
    assert [a.part is None for a in release.attributes] == [False, True]
    assert 0 < release.attributes[1].loss < 1


@pytest.mark.long
@pytest.mark.parametrize("strategy", once([Strategy.ANYTIME, Strategy.BEST_FIRST]))
def test_strategies_find_the_same(database: Database, run: Run, strategy: Strategy) -> None:
    exact, other = (
        run(database, policy_of(ZIP, AGE, TOWN, search=SearchOptions(strategy=s))) for s in (Strategy.EXACT, strategy)
    )
    assert (other.score, other.attributes) == (exact.score, exact.attributes)


@pytest.mark.long
def test_frontiers_have_the_scores_of_releases(database: Database, session: Session, run: Run) -> None:
    policy = policy_of(ZIP, AGE, TOWN)
    grid = FrontierGrid((2, 4), (Decimal(0), Decimal("0.2")))
    with database.session() as own:
        own.control = Control()
        number = jobs.next_number(own.ledger)
        request = jobs.Request(
            number, "", "{}", "", policy.source, policy.release.schema, policy.release.name, jobs.now()
        )
        jobs.insert_request(own.ledger, request)
        run_frontier(context(own, number=number), policy, grid)
    rows = session.rows("SELECT k, score FROM tableveil.frontier_points WHERE suppression_limit = '0.2' ORDER BY k")
    assert rows == [(k, run(database, replace(policy, privacy_models=(KAnonymity(k),))).score) for k in (2, 4)]
