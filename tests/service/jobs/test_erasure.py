"""Erased people: their rows are gone, and what the ledger keeps is as if they had never been there."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tableveil.backend import Database, Scopes, Session, Visibility, seeing
from tableveil.control import Control
from tableveil.policy import AttributePolicy, Role, TableReference
from tableveil.runtime import JobManager, Removals
from tableveil.runtime.removals import Erasure
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.managed import POLICY
from tests.service.jobs.plain import plain_target
from tests.service.jobs.test_loads import code

VISITS = TableReference("", "main", "Visits")
COLUMNS = "i AS id, 20 + i % 3 AS age, i % 2 AS ward, 'illness ' || i % 5 AS illness, md5((i % 40)::VARCHAR) AS address"
ERASED = ["3", "17", "44"]

Run = Callable[..., Release]


@pytest.fixture
def removals(database: Database, jobs: JobManager) -> Removals:
    return Removals(database, jobs)


@pytest.fixture(autouse=True)
def visits(session: Session, jobs: JobManager) -> None:
    session.execute(f"CREATE TABLE Visits AS SELECT {COLUMNS} FROM range(60) r(i)")


def released(database: Database, run: Run, name: str, **changes: Any) -> int:
    """Releases the visits under the name, unless told otherwise."""
    attributes = (*(AttributePolicy(name, Role.IDENTIFYING) for name in ("id", "address")), *POLICY.attributes)
    policy = replace(
        POLICY, source=VISITS, attributes=attributes, person_column="id", release=plain_target("main", name)
    )
    policy = replace(policy, **changes)
    column = "" if policy.person_column is None else f'"person_column":"{policy.person_column}"'
    return run(database, policy, document="{" + column + "}").number


def erase(removals: Removals, *persons: str, column: str = "", table: TableReference = VISITS) -> Erasure:
    return removals.erase(table, column, persons, Control())


def sketch(session: Session, release: int) -> list[tuple[Any, ...]]:
    return session.rows(
        "SELECT column_name, value, records FROM tableveil.release_sample_values JOIN tableveil.release_samples "
        "USING (release, position) WHERE release = ? ORDER BY ALL",
        [release],
    )


def numbers(erasure: Erasure) -> tuple[list[int], list[int]]:
    return [one.number for one in erasure.holding], [one.number for one in erasure.untold]


def test_nothing_is_left(database: Database, removals: Removals, run: Run, session: Session) -> None:
    """The ledger is that of a release without these people."""
    first = released(database, run, "first")
    done = removals.erase(TableReference("", "", "visits"), "", [*ERASED, "99", "3"], Control())
    assert (done.removal.rows, done.removal.persons, done.absent, done.person_column) == (3, 4, 1, "id")
    assert done.removal.table == "Visits"
    assert numbers(done) == ([first], [])
    assert done.holding[0].current
    # Or an older file in the place of this one would bring them back, and nobody would notice.
    assert json.loads(database.path.with_name(f".{database.path.name}.ledger").read_text()).popitem()[1]["rights"] == 1
    assert session.value("SELECT count(*) FROM Visits WHERE id IN (3, 17, 44)") == 0
    second = released(database, run, "second")
    assert sketch(session, first) == sketch(session, second)
    digests = "SELECT digest FROM tableveil.release_persons WHERE release = ? ORDER BY ALL"
    assert session.rows(digests, [first]) == session.rows(digests, [second])
    assert session.value("SELECT count(*) FROM tableveil.release_persons") == 2 * 57
    # The ledger remembers what the digests do not tell any more.
    assert numbers(erase(removals, *ERASED)) == ([], [])
    assert session.rows("SELECT holding, persons FROM tableveil.removals ORDER BY number") == [([first], 4), ([], 3)]


@pytest.mark.long
def test_which_releases_hold_them(database: Database, removals: Removals, run: Run, session: Session) -> None:
    early = released(database, run, "early")
    session.execute("INSERT INTO Visits SELECT 60, 20, 1, 'illness 1', 'there'")
    late = released(database, run, "late")
    session.execute("CREATE TABLE others AS FROM Visits")
    others = TableReference("", "main", "others")
    released(database, run, "of_others", source=others)
    declined = released(database, run, "declined", no_person_digests=True)
    without = released(database, run, "without", person_column=None)
    assert numbers(erase(removals, "60")) == ([late], [declined, without])
    assert numbers(erase(removals, "59", "60")) == ([early, late], [declined, without])
    # An id may stand for somebody else in another table.
    assert session.value("SELECT count(*) FROM others") == 61


def test_releases_of_which_nobody_knows(database: Database, removals: Removals, run: Run) -> None:
    """Their policies keep no digests: that they may hold them is told."""
    declined = released(database, run, "declined", no_person_digests=True)
    without = released(database, run, "without", person_column=None)
    assert numbers(erase(removals, "59", column="id")) == ([], [declined, without])


def test_a_release_that_is_not_seen_offers_no_column(database: Database, removals: Removals, run: Run) -> None:
    """Its policy is none of the caller's business; that there is such a release has to be told."""
    released(database, run, "hidden")
    owner = Visibility(principal="ann", owned=Scopes(tables=frozenset({("main", "visits")})))
    with seeing(lambda: owner):
        assert code(lambda: erase(removals, "3")) == "PERSON_COLUMN_UNKNOWN"
        done = erase(removals, "3", column="id")
    assert (numbers(done), done.hidden) == (([], []), True)


def test_people_with_several_rows(database: Database, removals: Removals, run: Run, session: Session) -> None:
    """The ledger has each of them once, with no class: several rows may be in several ones."""
    session.execute("CREATE TABLE twice AS SELECT * FROM Visits UNION ALL SELECT * FROM Visits WHERE id < 40")
    both = released(database, run, "both", source=TableReference("", "main", "twice"))
    digests = "SELECT digest FROM tableveil.release_persons WHERE release = ? ORDER BY ALL"
    assert session.rows(digests, [both]) == session.rows(digests, [released(database, run, "once")])
    with_class = "SELECT count(*) FROM tableveil.release_persons WHERE release = ? AND class IS NOT NULL"
    assert session.value(with_class, [both]) == 0
    done = erase(removals, "3", "50", table=TableReference("", "main", "twice"))
    assert (done.removal.rows, numbers(done)) == (3, ([both], []))
    assert len(session.rows(digests, [both])) == 58


@pytest.mark.long
def test_by_another_column(database: Database, removals: Removals, run: Run, session: Session) -> None:
    """The ledger knows people by the column of the policy, whatever values are given in another one."""
    first = released(database, run, "first")
    session.execute("ALTER TABLE Visits ADD COLUMN email VARCHAR; UPDATE Visits SET email = (100 - id)::VARCHAR")
    assert numbers(erase(removals, "93", "50", column="email")) == ([first], [])
    session.execute("ALTER TABLE Visits DROP COLUMN email")
    second = released(database, run, "second")
    digests = "SELECT digest FROM tableveil.release_persons WHERE release = ? ORDER BY ALL"
    assert session.rows(digests, [first]) == session.rows(digests, [second])
    people = [[found for found in sketch(session, release) if found[0] == "id"] for release in (first, second)]
    assert people[0] == people[1]


def test_a_query_that_renames(database: Database, removals: Removals, run: Run, session: Session) -> None:
    query = "SELECT id AS patient, age, ward, illness, address FROM Visits WHERE id > 5"
    attributes = tuple(AttributePolicy(name, Role.IDENTIFYING) for name in ("patient", "address"))
    release = released(
        database,
        run,
        "of_query",
        source=TableReference("", "", ""),
        source_query=query,
        person_column="patient",
        attributes=(*attributes, *POLICY.attributes),
    )
    before = sketch(session, release)
    assert code(lambda: erase(removals, "7")) == "PERSON_COLUMN_UNKNOWN"
    assert numbers(erase(removals, "3", "7", column="ID")) == ([release], [])
    after = sketch(session, release)
    counts = [sum(name == "patient" for name, _, _ in values) for values in (before, after)]
    assert counts == [54, 53]
    # Rows of a query cannot be computed from those of its tables.
    assert [any(name == "" for name, _, _ in values) for values in (before, after)] == [True, False]


@pytest.mark.long
def test_changed_columns(database: Database, removals: Removals, run: Run, session: Session) -> None:
    """The rows of the release are unknown then, and all of their values go."""
    release = released(database, run, "first")
    session.execute("ALTER TABLE Visits DROP COLUMN ward")
    erase(removals, "7")
    names = {name for name, _, _ in sketch(session, release)}
    assert names == {"id", "age", "ward", "illness", "address"}


@pytest.mark.parametrize(
    ("persons", "column", "expected"),
    [
        (["007"], "id", "PERSONS_INVALID"),
        (["1", "Miller"], "id", "PERSONS_INVALID"),
        (["1"], "idd", "COLUMN_NOT_FOUND"),
        (["1"], "", "PERSON_COLUMN_UNKNOWN"),
    ],
)
def test_refused(removals: Removals, session: Session, persons: list[str], column: str, expected: str) -> None:
    before = session.rows("FROM Visits")
    assert code(lambda: erase(removals, *persons, column=column)) == expected
    assert session.rows("FROM Visits") == before
    assert session.rows("FROM tableveil.removals") == []


@pytest.mark.parametrize(
    ("type_", "person", "same"),
    once(
        [
            ("VARCHAR", 'it\'s "7"', 'it\'s "7"'),
            ("UUID", "A1DCC652-1666-452B-8114-3EEB1C9598A6", "a1dcc652-1666-452b-8114-3eeb1c9598a6"),
            ("DATE", "2024-02-29", "2024-02-29"),
            ("DECIMAL(9,2)", "7.50", "7.5"),
        ],
        2,
        several=True,
    ),
)
def test_types(removals: Removals, session: Session, type_: str, person: str, same: str) -> None:
    session.execute(f"CREATE TABLE typed (person {type_}, more INTEGER[])")
    session.execute(f"INSERT INTO typed SELECT CAST(? AS {type_}), [1] FROM range(2)", [same])
    session.execute("INSERT INTO typed VALUES (NULL, NULL)")
    done = erase(removals, person, column="person", table=TableReference("", "main", "typed"))
    assert (done.removal.rows, done.absent) == (2, 0)
    assert session.value("SELECT count(*) FROM typed") == 1
