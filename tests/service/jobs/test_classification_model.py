"""Jobs that optimize for classification: the score of the written table, and classes that there are none of."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InvalidError
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.policy import (
    Aggregation,
    AttributePolicy,
    ClassificationModel,
    IfExists,
    KAnonymity,
    NullHandling,
    Policy,
    Role,
    SearchOptions,
    Strategy,
    TableReference,
)
from tableveil.state.releases import Release
from tests.inserted import insert
from tests.once import once
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]

AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("5", "20")), nulls=NullHandling.SUPPRESS)
POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("id", Role.IDENTIFYING),
        AGE,
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("city", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("income", Role.SENSITIVE),
        AttributePolicy("shift", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("buys", Role.INSENSITIVE, acknowledged=True),
    ),
    default_role=Role.INSENSITIVE,
    person_column="id",
    privacy_models=(KAnonymity(3),),
    release=plain_target("main", "released", if_exists=IfExists.REPLACE, guards=UNGUARDED),
    repeat_reason="a test",
    suppression_limit=Decimal("0.2"),
)
RECORDS = 200


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    """Income goes with age and shift, what somebody buys with the city; both are NULL at times."""
    draw = random.Random(3)
    rows: list[list[Any]] = []
    for number in range(RECORDS):
        age, sex, city, shift = (
            draw.randint(20, 59),
            draw.choice("fm"),
            draw.choice("abc"),
            draw.choice([0.0, -0.0, 1.5]),
        )
        income = None if number % 41 == 0 else "high" if age + 10 * shift + draw.randint(-5, 5) > 45 else "low"
        buys = None if number % 53 == 0 else draw.choice("xyz" if city == "a" else "xxy")
        rows.append([number, None if number % 20 == 0 else age, sex, city, income, shift, buys])
    with shared_database.session() as session:
        columns = "id INTEGER, age INTEGER, sex VARCHAR, city VARCHAR, income VARCHAR, shift DOUBLE, buys VARCHAR"
        session.execute(f"CREATE TABLE people ({columns})")
        insert(session, "people", rows)
    return shared_database


def asking(*classes: str, features: tuple[str, ...] = (), **changes: Any) -> Policy:
    return replace(POLICY, quality_model=ClassificationModel(classes, features), **changes)


def score(session: Session, classes: tuple[str, ...], features: tuple[str, ...]) -> float:
    """The score of the written table by definition."""
    cost = 0.0
    for name in classes:
        votes: defaultdict[tuple[Any, ...], list[Any]] = defaultdict(list)
        for *by, value in session.rows(f"SELECT {', '.join((*features, name))} FROM released"):
            votes[tuple(by)].append(value)
        for cast in votes.values():
            (_, most), *others = Counter(cast).most_common()
            cost += len(cast) if others and others[0][1] == most else len(cast) - most
        cost += 0.5 * (RECORDS - sum(map(len, votes.values())))
    return cost / (RECORDS * len(classes))


@pytest.mark.parametrize(
    ("classes", "features", "told_by"),
    once(
        [
            (("income",), (), ("age", "sex", "city")),
            (("income", "buys"), ("city", "age", "shift"), ("city", "age", "shift")),
            (("buys",), ("shift",), ("shift",)),
        ],
        several=True,
    ),
)
def test_the_score_is_that_of_the_written_table(
    database: Database,
    session: Session,
    run: Run,
    classes: tuple[str, ...],
    features: tuple[str, ...],
    told_by: tuple[str, ...],
) -> None:
    release = run(database, asking(*classes, features=features))
    assert release.proof.optimal
    assert release.suppressed_records >= RECORDS // 20
    assert release.score == pytest.approx(score(session, classes, told_by), abs=1e-12)


@pytest.mark.long
def test_the_score_is_that_of_the_written_table_where_people_have_several_records(
    database: Database, session: Session, run: Run
) -> None:
    """People are counted beside the classes: none may be taken for the other."""
    session.execute("CREATE OR REPLACE TABLE visits AS SELECT * REPLACE (id // 3 AS id) FROM people")
    asked = asking("income", "buys", features=("city", "shift"), source=TableReference("", "main", "visits"))
    release = run(database, asked)
    assert release.score == pytest.approx(score(session, ("income", "buys"), ("city", "shift")), abs=1e-12)


@pytest.mark.long
def test_strategies_agree(database: Database, run: Run) -> None:
    found = [
        run(database, asking("income", search=SearchOptions(strategy=strategy)))
        for strategy in (Strategy.EXACT, Strategy.BEST_FIRST, Strategy.ANYTIME)
    ]
    assert len({(release.score, release.suppressed_records, release.classes) for release in found}) == 1
    assert all(release.proof.optimal for release in found)


def test_aggregated_columns_are_no_features_and_records_set_aside_are_suppressed(
    database: Database, session: Session, run: Run
) -> None:
    aggregated = replace(AGE, hierarchy=None, aggregation=Aggregation())
    attributes = tuple(aggregated if attribute is AGE else attribute for attribute in POLICY.attributes)
    release = run(database, asking("income", attributes=attributes))
    assert release.suppressed_records >= RECORDS // 20
    assert release.score == pytest.approx(score(session, ("income",), ("sex", "city")), abs=1e-12)


@pytest.mark.parametrize(
    ("classes", "features", "field"),
    [
        (("incme",), (), "quality_model.classification.classes[0]"),
        (("income",), ("age", "shfit"), "quality_model.classification.features[1]"),
        (("buys", "income"), ("id",), "quality_model.classification.features[0]"),
    ],
)
def test_columns_that_are_not_there_are_refused(
    database: Database, run: Run, classes: tuple[str, ...], features: tuple[str, ...], field: str
) -> None:
    with pytest.raises(InvalidError) as caught:
        run(database, asking(*classes, features=features))
    assert [fault.field for fault in caught.value.faults] == [field]


def test_a_class_that_nearly_every_record_has_for_itself_is_refused(
    database: Database, session: Session, run: Run
) -> None:
    session.execute("CREATE TABLE counted AS SELECT *, id % 150 AS number FROM people")
    source = TableReference("", "main", "counted")
    with pytest.raises(InvalidError) as caught:
        run(database, asking("income", "number", source=source))
    found = {fault.field: fault.found for fault in caught.value.faults}
    assert "150 values in 200 records" in found.pop("quality_model.classification.classes[1]")
    # The column gets its role by default, and singles few people out by itself.
    assert list(found) == ["default_role"]
