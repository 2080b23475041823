"""A release of what was released before: what it replaces, and what the ledger knows of it."""

from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError, InternalError, InvalidError
from tableveil.policy import IfExists, ReleaseKind, TableReference
from tableveil.release import write
from tests.service.jobs import test_release
from tests.service.jobs.plain import plain_target
from tests.service.jobs.test_release import BLANK, KEPT, NAMES, POLICY, REPLACE, Run, objects

patients = test_release.patients

# --- the target -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_replaces_an_earlier_release(database: Database, session: Session, run: Run) -> None:
    """Tables and views each by each, whatever the case: nothing of the earlier one stays behind."""
    table, view = ReleaseKind.TABLE, ReleaseKind.VIEW
    numbers = [run(database, replace(POLICY, **BLANK)).number]
    for name, kind in (("Released", table), ("released", view), ("RELEASED", view), ("released", table)):
        target = plain_target("main", name, kind, IfExists.REPLACE)
        later = run(database, replace(POLICY, release=target, repeat_reason="a better one"))
        numbers.append(later.number)
        assert session.rows("SELECT * FROM released") == KEPT
        assert {found.casefold() for found, _ in objects(session)} == NAMES
        assert len(objects(session)) == 4
        snapshots = session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'snapshot%'")
        assert snapshots == ([(f"snapshot_{later.number}",)] if kind is view else [])
    assert [number for (number,) in session.rows("SELECT number FROM tableveil.releases ORDER BY number")] == numbers


def test_a_release_of_another_name_is_not_replaced(database: Database, session: Session, run: Run) -> None:
    """`released_classes` belongs to the release `released`: a release of that name must not take it."""
    run(database, POLICY)
    before = session.rows("SELECT * FROM released_classes")
    target = plain_target("main", "released_classes", if_exists=IfExists.REPLACE)
    with pytest.raises(ConflictError) as raised:
        run(database, replace(POLICY, release=target, repeat_reason="a test"))
    assert raised.value.code == "TARGET_EXISTS"
    assert session.rows("SELECT * FROM released_classes") == before


def test_a_replaced_release_is_back_if_the_job_fails(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(database, replace(POLICY, release=replace(POLICY.release, kind=ReleaseKind.VIEW)))
    before, tables = session.rows("SELECT * FROM released"), objects(session)

    def fail(*arguments: object) -> None:
        raise InternalError("TEST", "a writer that fails")

    monkeypatch.setattr(write, "write_risk_histogram", fail)
    with pytest.raises(InternalError):
        run(database, replace(POLICY, release=REPLACE, repeat_reason="a test"))
    assert (session.rows("SELECT * FROM released"), objects(session)) == (before, tables)


def test_existing_target_is_kept_by_default(database: Database, session: Session, run: Run) -> None:
    run(database, POLICY)
    with pytest.raises(ConflictError) as raised:
        run(database, replace(POLICY, repeat_reason="a test"))
    assert raised.value.code == "TARGET_EXISTS"
    (fault,) = raised.value.faults
    assert fault.found.startswith("tables 'released', 'released_classes'")
    assert session.value("SELECT count(*) FROM tableveil.releases") == 1


# --- the ledger -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_second_release_needs_a_reason(database: Database, session: Session, run: Run) -> None:
    first = run(database, POLICY)
    again = replace(POLICY, release=plain_target("main", "again"))
    for reason in ("", "  \n"):
        with pytest.raises(InvalidError) as raised:
            run(database, replace(again, repeat_reason=reason))
        assert raised.value.code == "REPEATED_RELEASE"
        assert f"releases/{first.number}" in str(raised.value)
    assert {name for name, _ in objects(session)} == NAMES
    run(database, replace(again, repeat_reason="for the ministry"))
    assert session.value("SELECT count(*) FROM again") == 10


def test_the_ledger_knows_the_rows_under_another_name(database: Database, session: Session, run: Run) -> None:
    run(database, POLICY)
    session.execute("ALTER TABLE patients RENAME TO people")
    moved = replace(POLICY, source=TableReference("", "main", "people"), release=plain_target("main", "again"))
    with pytest.raises(InvalidError) as raised:
        run(database, moved)
    assert raised.value.code == "REPEATED_RELEASE"


def test_the_ledger_knows_the_name_with_other_rows(database: Database, session: Session, run: Run) -> None:
    """Mostly the same people, even if one was added."""
    run(database, POLICY)
    session.execute("INSERT INTO patients VALUES (99, 'north', 'illness 0', 21)")
    with pytest.raises(InvalidError) as raised:
        run(database, replace(POLICY, release=plain_target("main", "again")))
    assert raised.value.code == "REPEATED_RELEASE"


@pytest.mark.long
def test_other_rows_of_another_name_are_no_repetition(database: Database, session: Session, run: Run) -> None:
    run(database, POLICY)
    session.execute("CREATE TABLE others AS SELECT id + 100 AS id, ward, illness, age + id % 2 AS age FROM patients")
    session.execute("UPDATE others SET illness = 'none' WHERE id = 100")
    session.execute("UPDATE others SET ward = 'south' WHERE ward = 'north'")
    other = replace(POLICY, source=TableReference("", "main", "others"), release=plain_target("main", "again"))
    run(database, other)
    assert session.value("SELECT count(*) FROM again") == 10
