"""Replacing and removing rows beside jobs: one transaction each, and nothing that a job or a release needs."""

from dataclasses import replace as changed
from functools import partial

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import TableveilError
from tableveil.policy import TableReference
from tableveil.runtime import JobManager, Loads, Removals
from tableveil.runtime.loads import LoadRequest
from tableveil.state.loads import Load, LoadMode, RemovalKind
from tests.service.jobs.managed import PATIENTS, POLICY, Gate, ended, submit, to
from tests.service.jobs.test_loads import ROW, Rows, code, count

TABLE = TableReference("", "main", "patients")
WAYS = (RemovalKind.TRUNCATE, RemovalKind.DROP)


@pytest.fixture
def loads(database: Database, jobs: JobManager) -> Loads:
    return Loads(database, jobs)


@pytest.fixture
def removals(database: Database, jobs: JobManager) -> Removals:
    return Removals(database, jobs)


def replace(loads: Loads, rows: pa.Table = ROW, table: TableReference = TABLE) -> Load:
    return loads.load(LoadRequest(table, LoadMode.REPLACE), lambda: Rows(rows), Control()).load


def remove(removals: Removals, kind: RemovalKind, table: str = "patients") -> int:
    return removals.remove(kind, TableReference("", "main", table), Control()).rows


@pytest.mark.usefixtures("patients")
def test_replacing_keeps_the_columns(loads: Loads, session: Session) -> None:
    before = session.described("FROM patients")
    done = replace(loads)
    assert (done.rows, done.removed_rows, count(session)) == (1, PATIENTS, 1)
    assert session.described("FROM patients") == before
    assert code(lambda: replace(loads, ROW.drop_columns(["ward"]))) == "COLUMNS_DIFFER"
    assert code(lambda: replace(loads, ROW.set_column(0, "age", pa.array(["old"])))) == "VALUES_DO_NOT_FIT"
    assert count(session) == 1


def test_replacing_nothing_makes_the_table(loads: Loads, session: Session) -> None:
    assert replace(loads).removed_rows == 0
    session.execute("CREATE OR REPLACE TABLE patients (age INTEGER PRIMARY KEY, ward INTEGER, illness VARCHAR)")
    replace(loads)
    # The key of the row is free again before the row comes back.
    assert replace(loads).removed_rows == count(session) == 1
    session.execute("CREATE VIEW shown AS FROM patients")
    assert code(lambda: replace(loads, table=TableReference("", "main", "shown"))) == "TABLE_NOT_FOUND"


def test_the_ledger_knows_rows_that_are_gone(
    jobs: JobManager, loads: Loads, removals: Removals, session: Session
) -> None:
    """A second release of the same people under another name needs a reason, although their first table is gone."""
    session.execute(
        "CREATE TABLE patients AS SELECT i % 3 AS age, i % 2 AS ward, md5(i::VARCHAR) AS illness FROM range(60) r(i)"
    )
    session.execute("CREATE TABLE again AS FROM patients WHERE age < 2")
    telling = (*POLICY.attributes[:2], changed(POLICY.attributes[2], acknowledged=True))
    assert ended(jobs, submit(jobs, to("released", attributes=telling)).number).failure is None
    assert replace(loads).removed_rows == 60
    assert remove(removals, RemovalKind.DROP) == 1
    again = to("other", attributes=telling, source=TableReference("", "main", "again"), repeat_reason="")
    failure = ended(jobs, submit(jobs, again).number).failure
    assert failure is not None
    assert failure.code == "REPEATED_RELEASE"


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.usefixtures("patients")
def test_removals(removals: Removals, session: Session, kind: RemovalKind) -> None:
    done = removals.remove(kind, TableReference("", "main", "PATIENTS"), Control())
    assert (done.rows, done.table) == (PATIENTS, "patients")
    there = session.value("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'patients'")
    assert there == (kind is RemovalKind.TRUNCATE)
    assert session.rows("SELECT kind, row_count FROM tableveil.removals") == [(kind.value, PATIENTS)]


def refused(removals: Removals, session: Session, table: str = "patients") -> set[str]:
    """The codes by which the removal of a table is refused; nothing changes."""
    before = session.rows(f"FROM {table} ORDER BY ALL")
    found = {code(partial(remove, removals, kind, table)) for kind in WAYS}
    assert session.rows(f"FROM {table} ORDER BY ALL") == before
    assert session.rows("FROM tableveil.removals") == []
    return found


@pytest.mark.usefixtures("patients")
def test_tables_that_others_need(jobs: JobManager, loads: Loads, removals: Removals, session: Session) -> None:
    ended(jobs, submit(jobs, POLICY).number)
    assert refused(removals, session, "released") == {"TABLE_RELEASED"}
    assert code(lambda: replace(loads, table=TableReference("", "main", "released"))) == "TABLE_RELEASED"
    session.execute("CREATE VIEW shown AS FROM PATIENTS")
    assert code(lambda: remove(removals, RemovalKind.DROP)) == "TABLE_HAS_DEPENDANTS"
    assert refused(removals, session, "shown") == {"TABLE_NOT_FOUND"}
    session.execute("DROP VIEW shown")
    for name in ("nothing", "", "nul\0"):
        assert code(partial(remove, removals, RemovalKind.DROP, name)) in ("TABLE_NOT_FOUND", "TABLE_INVALID")


@pytest.mark.usefixtures("patients")
def test_tables_that_a_job_reads(
    jobs: JobManager, loads: Loads, removals: Removals, gate: Gate, session: Session
) -> None:
    submit(jobs, POLICY)
    gate.wait_for(1)
    assert refused(removals, session) == {"TABLE_IN_USE"}
    assert code(lambda: replace(loads)) == "TABLE_IN_USE"
    jobs.cancel(1)
    ended(jobs, 1)
    assert remove(removals, RemovalKind.TRUNCATE) == PATIENTS


@pytest.mark.usefixtures("patients")
def test_stopped(removals: Removals, session: Session) -> None:
    control = Control()
    control.cancel()
    with pytest.raises(TableveilError) as raised:
        removals.remove(RemovalKind.TRUNCATE, TABLE, control)
    assert raised.value.code == "CANCELLED"
    assert count(session) == PATIENTS
