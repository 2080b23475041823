"""Releases that use the classes of an earlier one: labels stay, every class holds, and what does not fit is refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError, InfeasibleError, InvalidError
from tableveil.hierarchy import InlineLevels, Intervals
from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    IfExists,
    KAnonymity,
    KMap,
    LocalRecoding,
    NullHandling,
    Policy,
    Population,
    PrivacyModel,
    ReleaseTarget,
    Role,
    SuppressedRecords,
    TableReference,
)
from tableveil.release import withdraw
from tableveil.state.releases import Release
from tests.service.jobs.test_local_recoding import LETTERS, MODELS, POLICY, Row, create, drawn, fits, holds

Run = Callable[..., Release]

FIRST = replace(POLICY, release=ReleaseTarget("main", "january"))


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
    return replace(
        POLICY, **{"local_recoding": classes, "release": target, "repeat_reason": "a month later", **changes}
    )


def classes(session: Session, name: str) -> dict[Row, list[str]]:
    found = defaultdict(list)
    for *labels, illness in session.rows(f"SELECT letter, age, illness FROM {name}"):
        found[tuple(labels)].append(illness)
    return found


@pytest.mark.parametrize("models", MODELS[::2] + MODELS[-1:], ids=lambda models: str(models[0]))
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


def test_the_same_rows_have_the_same_release(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    february = run(database, again(january))
    assert classes(session, "february").keys() == classes(session, "january").keys()
    assert february.score == pytest.approx(january.score)
    assert february.proof.lower_bound == 0


def test_it_replaces_the_release_whose_classes_it_uses(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    target = ReleaseTarget("main", "january", if_exists=IfExists.REPLACE)
    run(database, again(january, release=target))
    with pytest.raises(InvalidError, match="a later release has replaced"):
        run(database, again(january))


def test_other_models_are_met(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    models = (KAnonymity(12), DistinctLDiversity("illness", 3))
    run(database, again(january, privacy_models=models))
    assert all(len(values) >= 12 and len(set(values)) == 3 for values in classes(session, "february").values())


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


@pytest.mark.parametrize("handling", [SuppressedRecords.BLANK, SuppressedRecords.KEEP])
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


def test_a_release_of_one_transformation_has_classes_too(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, replace(FIRST, local_recoding=None))
    run(database, again(january))
    assert classes(session, "february").keys() == classes(session, "january").keys()


@pytest.mark.parametrize("rows", [[], [("a", 3, "flu")]])
def test_too_few_rows(database: Database, session: Session, run: Run, rows: list[Row]) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    create(session, rows or drawn(1, 1))
    if not rows:
        session.execute("DELETE FROM people")
    with pytest.raises(InfeasibleError if rows else InvalidError):
        run(database, again(january))


def refused(database: Database, run: Run, policy: Policy) -> InvalidError:
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    return raised.value


def with_letters(hierarchy: InlineLevels, **changes: Any) -> tuple[AttributePolicy, ...]:
    return (replace(POLICY.attributes[0], hierarchy=hierarchy, **changes), *POLICY.attributes[1:])


def test_values_that_are_new_to_a_hierarchy(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    more = InlineLevels(tuple((c, "vowel" if c in "aei" else "other", "*") for c in "abcdefghiz"))
    create(session, [*drawn(3, 200), *[("z", 3, "flu")] * 4])
    run(database, again(january, attributes=with_letters(more)))
    assert ("z", "3") in {labels[:2] for labels in classes(session, "february")}


def test_other_labels(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, replace(FIRST, attributes=with_letters(LETTERS, minimum_level=1)))
    renamed = InlineLevels(tuple((c, "V" if c in "aei" else "O", "any") for c in "abcdefghi"))
    error = refused(database, run, again(january, attributes=with_letters(renamed)))
    assert error.code == "CLASSES_DO_NOT_FIT"
    assert [fault.field for fault in error.faults] == ["attributes[0].hierarchy"]


def test_levels_beyond_the_limits(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    error = refused(database, run, again(january, attributes=with_letters(LETTERS, minimum_level=1)))
    assert "limits beyond which 'letter' has" in str(error)


def test_a_column_that_is_held_at_fewer_levels(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    held = LocalRecoding((("age", 1),), january.number)
    error = refused(database, run, again(january, local_recoding=held))
    assert [fault.field for fault in error.faults] == ["local_recoding.most_levels['age']"]
    as_before = run(database, again(january, local_recoding=replace(held, classes_of=None), release=POLICY.release))
    run(database, again(as_before, local_recoding=replace(held, classes_of=as_before.number)))
    assert session.value("SELECT count(DISTINCT length(age) > 2) FROM february") == 1


def test_other_columns(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    attributes = (replace(POLICY.attributes[0], role=Role.INSENSITIVE, hierarchy=None), *POLICY.attributes[1:])
    error = refused(database, run, again(january, attributes=attributes))
    assert error.faults[0].field == "local_recoding.classes_of"
    assert "'letter' only in releases/" in str(error)
    session.execute("UPDATE tableveil.release_attributes SET aggregation = 'mean' WHERE column_name = 'age'")
    assert "whose values are aggregated" in str(refused(database, run, again(january)))


def test_a_release_that_is_not_there(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    error = refused(database, run, again(replace(january, number=january.number + 7)))
    assert error.faults[0].field == "local_recoding.classes_of"
    session.execute("UPDATE tableveil.releases SET needs_approval = true")
    assert "which waits for approval" in str(refused(database, run, again(january)))
    session.execute("UPDATE tableveil.releases SET needs_approval = false")
    withdraw(database, january, "it was wrong")
    assert "withdrawn" in str(refused(database, run, again(january)))


def test_classes_that_were_changed(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(3, 200))
    january = run(database, FIRST)
    session.execute("UPDATE january_classes SET letter = 'a' WHERE letter = 'b'")
    with pytest.raises(ConflictError) as raised:
        run(database, again(january))
    assert raised.value.code == "RELEASE_CHANGED"


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
