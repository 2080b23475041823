"""Releases that use the classes of an earlier one: labels stay, and every class holds."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.policy import (
    KAnonymity,
    KMap,
    NullHandling,
    Policy,
    Population,
    PrivacyModel,
    ReleaseTarget,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.plain import plain_target
from tests.service.jobs.test_local_recoding import MODELS, POLICY, Row, create, drawn, fits, holds

Run = Callable[..., Release]

FIRST = replace(POLICY, release=plain_target("main", "january"))


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def clean(session: Session) -> Iterator[None]:
    yield
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal"):
        session.execute(f'DROP TABLE "{name}"')
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")


def again(earlier: Release, **changes: Any) -> Policy:
    classes, target = LocalRecoding(classes_of=earlier.number), ReleaseTarget("main", "february")
    return replace(POLICY, **{"methods": (classes,), "release": target, "repeat_reason": "a month later", **changes})


def classes(session: Session, name: str) -> dict[Row, list[str]]:
    found = defaultdict(list)
    for *labels, illness in session.rows(f"SELECT letter, age, illness FROM {name}"):
        found[tuple(labels)].append(illness)
    return found


@pytest.mark.parametrize("models", once([MODELS[0], MODELS[-1], *MODELS[2::2]]), ids=lambda models: str(models[0]))
def test_the_next_month_has_the_labels_of_the_first(
    database: Database, session: Session, run: Run, models: tuple[PrivacyModel, ...]
) -> None:
    limit = Decimal("0.05")
    create(session, drawn(3, 200))
    january = run(database, replace(FIRST, privacy_models=models, suppression_limit=limit))
    people = [*drawn(18, 250), ("e", 39, "flu")]
    create(session, people)
    february = run(database, again(january, privacy_models=models, suppression_limit=limit))
    before, after = classes(session, "january"), classes(session, "february")
    source = Counter(illness for *_, illness in people)
    assert all(holds(model, values, source) for model in models for values in after.values())
    assert sum(map(len, after.values())) == february.records - february.suppressed_records >= 251 * (1 - limit)
    known = before.keys() & after.keys()
    assert 3 * len(known) >= len(before)
    if models == (KAnonymity(4),):
        # A class that is there again has every person whose labels no other class of January has.
        for labels in known:
            others = before.keys() - {labels}
            only = [p for p in people if fits(p, labels) and not any(fits(p, other) for other in others)]
            assert not Counter(illness for *_, illness in only) - Counter(after[labels])
    text = february.proof.strategy
    assert f"{len(known)} of {january.classes} classes of releases/{january.number}" in text
    assert f"have {sum(len(after[labels]) for labels in known)} records" in text


@pytest.mark.long
def test_k_map_and_a_population(database: Database, session: Session, run: Run) -> None:
    people, others = drawn(5, 60), drawn(6, 300)
    create(session, people)
    create(session, people + others, "everyone")
    given: dict[str, Any] = {
        "privacy_models": (KMap(6),),
        "population": Population(TableReference("", "main", "everyone")),
    }
    january = run(database, replace(FIRST, **given))
    run(database, again(january, **given))
    for labels in classes(session, "february"):
        assert sum(fits(person, labels) for person in people + others) >= 6


@pytest.mark.long
@pytest.mark.parametrize("handling", once([SuppressedRecords.BLANK, SuppressedRecords.KEEP]))
def test_suppressed_records_that_are_shown(
    database: Database, session: Session, run: Run, handling: SuppressedRecords
) -> None:
    shown: dict[str, Any] = {
        "suppressed_records": handling,
        "marker_column": "gone",
        "suppression_limit": Decimal("0.3"),
    }
    create(session, drawn(3, 100))
    january = run(database, replace(FIRST, **shown))
    create(session, drawn(4, 100))
    february = run(database, again(january, **shown))
    gone = session.value("SELECT count(*) FROM february WHERE gone")
    assert gone == february.suppressed_records
    assert (None, None) not in session.rows("SELECT letter, age FROM february WHERE NOT gone")


@pytest.mark.long
def test_nulls(database: Database, session: Session, run: Run) -> None:
    nulls = [(None, 3, "flu")] * 4 + [("a", None, "flu")]
    create(session, [*drawn(2, 80), *nulls])
    suppress = replace(POLICY.attributes[1], nulls=NullHandling.SUPPRESS)
    given: dict[str, Any] = {
        "attributes": (POLICY.attributes[0], suppress, POLICY.attributes[2]),
        "suppression_limit": Decimal("0.1"),
    }
    january = run(database, replace(FIRST, **given))
    february = run(database, again(january, **given))
    assert february.suppressed_records >= 1
    assert classes(session, "february").keys() == classes(session, "january").keys()


@pytest.mark.long
def test_a_release_of_one_transformation_has_classes_too(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, replace(FIRST, methods=()))
    run(database, again(january))
    assert classes(session, "february").keys() == classes(session, "january").keys()


@pytest.mark.long
def test_numbers_and_dates_as_labels(database: Database, session: Session, run: Run) -> None:
    """Labels at level 0 have the column's own type, if all records have that level."""
    session.execute(
        "CREATE TABLE people AS SELECT i % 3 AS letter, 0.5 * (i % 4) AS age, 'flu' AS illness FROM range(96) r(i)"
    )
    halves = Intervals("0", "4", ("1", "2"))
    threes = InlineLevels(tuple((str(i), "*") for i in range(3)))
    attributes = (
        replace(POLICY.attributes[0], hierarchy=threes),
        replace(POLICY.attributes[1], hierarchy=halves),
        POLICY.attributes[2],
    )
    january = run(database, replace(FIRST, attributes=attributes))
    assert january.score == 0
    february = run(database, again(january, attributes=attributes))
    assert (february.score, february.classes) == (0, january.classes)
