"""One release, and others that use its classes: what is the same, what is new, and what does not fit and is refused."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError, InfeasibleError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.lifecycle import withdraw
from tableveil.policy import AttributePolicy, DistinctLDiversity, IfExists, KAnonymity, Policy, Role
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.state.releases import Release
from tests.migrated import opened, passing
from tests.service.jobs.plain import plain_target
from tests.service.jobs.test_classes_again import FIRST, Run, again, classes
from tests.service.jobs.test_local_recoding import LETTERS, POLICY, Row, create, drawn


@pytest.fixture(scope="module")
def released_in_january(tmp_path_factory: pytest.TempPathFactory, run: Run) -> tuple[Path, Release]:
    """A database file with the release, to be copied: making it takes most of a test."""
    path = tmp_path_factory.mktemp("january") / "test.duckdb"
    for database in opened(path):
        with database.session() as session:
            create(session, drawn(3, 200))
        release = run(database, FIRST)
    return path, release


@pytest.fixture
def january(released_in_january: tuple[Path, Release]) -> Release:
    return released_in_january[1]


@pytest.fixture
def database(released_in_january: tuple[Path, Release], tmp_path: Path) -> Iterator[Database]:
    yield from passing(tmp_path / "test.duckdb", released_in_january[0])


def refused(database: Database, run: Run, policy: Policy) -> InvalidError:
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    return raised.value


def with_letters(hierarchy: InlineLevels, **changes: Any) -> tuple[AttributePolicy, ...]:
    return (replace(POLICY.attributes[0], hierarchy=hierarchy, **changes), *POLICY.attributes[1:])


def test_the_same_rows_have_the_same_release(january: Release, database: Database, session: Session, run: Run) -> None:
    february = run(database, again(january))
    assert classes(session, "february").keys() == classes(session, "january").keys()
    assert february.score == pytest.approx(january.score)
    assert february.proof.lower_bound == 0


@pytest.mark.long
def test_it_replaces_the_release_whose_classes_it_uses(
    january: Release, database: Database, session: Session, run: Run
) -> None:
    target = plain_target("main", "january", if_exists=IfExists.REPLACE)
    run(database, again(january, release=target))
    with pytest.raises(InvalidError, match="a later release has replaced"):
        run(database, again(january))


@pytest.mark.long
def test_other_models_are_met(january: Release, database: Database, session: Session, run: Run) -> None:
    models = (KAnonymity(12), DistinctLDiversity("illness", 3))
    run(database, again(january, privacy_models=models))
    assert all(len(values) >= 12 and len(set(values)) == 3 for values in classes(session, "february").values())


@pytest.mark.parametrize("rows", [[], [("a", 3, "flu")]])
def test_too_few_rows(january: Release, database: Database, session: Session, run: Run, rows: list[Row]) -> None:
    create(session, rows or drawn(1, 1))
    if not rows:
        session.execute("DELETE FROM people")
    with pytest.raises(InfeasibleError if rows else InvalidError):
        run(database, again(january))


@pytest.mark.long
def test_values_that_are_new_to_a_hierarchy(january: Release, database: Database, session: Session, run: Run) -> None:
    more = InlineLevels(tuple((c, "vowel" if c in "aei" else "other", "*") for c in "abcdefghiz"))
    create(session, [*drawn(3, 200), *[("z", 3, "flu")] * 4])
    run(database, again(january, attributes=with_letters(more)))
    assert ("z", "3") in {labels[:2] for labels in classes(session, "february")}


def test_other_labels(january: Release, database: Database, run: Run) -> None:
    attributes = with_letters(LETTERS, minimum_level=1)
    higher = run(database, again(january, attributes=attributes, methods=(LocalRecoding(),), release=POLICY.release))
    renamed = InlineLevels(tuple((c, "V" if c in "aei" else "O", "any") for c in "abcdefghi"))
    error = refused(database, run, again(higher, attributes=with_letters(renamed)))
    assert error.code == "CLASSES_DO_NOT_FIT"
    assert [fault.field for fault in error.faults] == ["attributes[0].hierarchy"]


def test_levels_beyond_the_limits(january: Release, database: Database, session: Session, run: Run) -> None:
    error = refused(database, run, again(january, attributes=with_letters(LETTERS, minimum_level=1)))
    assert "limits beyond which 'letter' has" in str(error)


@pytest.mark.long
def test_a_column_that_is_held_at_fewer_levels(
    january: Release, database: Database, session: Session, run: Run
) -> None:
    held = LocalRecoding((("age", 1),), january.number)
    error = refused(database, run, again(january, methods=(held,)))
    assert [fault.field for fault in error.faults] == ["local_recoding.most_levels['age']"]
    as_before = run(database, again(january, methods=(replace(held, classes_of=None),), release=POLICY.release))
    run(database, again(as_before, methods=(replace(held, classes_of=as_before.number),)))
    assert session.value("SELECT count(DISTINCT length(age) > 2) FROM february") == 1


def test_other_columns(january: Release, database: Database, session: Session, run: Run) -> None:
    attributes = (replace(POLICY.attributes[0], role=Role.INSENSITIVE, hierarchy=None), *POLICY.attributes[1:])
    error = refused(database, run, again(january, attributes=attributes))
    assert error.faults[0].field == "local_recoding.classes_of"
    assert "'letter' only in releases/" in str(error)
    aggregated = """replace(document, '"aggregation":""', '"aggregation":"mean"')"""
    session.execute(f"UPDATE tableveil.releases SET document = {aggregated}")
    assert "whose values are aggregated" in str(refused(database, run, again(january)))


def test_a_release_that_is_not_there(january: Release, database: Database, session: Session, run: Run) -> None:
    error = refused(database, run, again(replace(january, number=january.number + 7)))
    assert error.faults[0].field == "local_recoding.classes_of"
    session.execute("UPDATE tableveil.releases SET needs_approval = true")
    assert "which waits for approval" in str(refused(database, run, again(january)))
    session.execute("UPDATE tableveil.releases SET needs_approval = false")
    withdraw(database, january, "it was wrong")
    assert "withdrawn" in str(refused(database, run, again(january)))


def test_classes_that_were_changed(january: Release, database: Database, session: Session, run: Run) -> None:
    session.execute("UPDATE january_classes SET letter = 'a' WHERE letter = 'b'")
    with pytest.raises(ConflictError) as raised:
        run(database, again(january))
    assert raised.value.code == "RELEASE_CHANGED"
