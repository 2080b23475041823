"""The contract of sessions: no raw values in failures, transactions that hold, statements that can be stopped."""

import logging
import threading
import time
import traceback
from collections.abc import Callable

import pyarrow as pa
import pytest
from sqlglot import exp

from tableveil.backend import Database, Session, catalog, table
from tableveil.control import Control, Stopped
from tableveil.errors import ConflictError, InternalError
from tests.sql.backend.conftest import tree

ENDLESS = "SELECT count(*) FROM range(1_000_000_000_000) r(i) WHERE hash(i) = 1"
SOON = 10.0
"""Seconds, on a busy machine, too; otherwise it takes a tenth of one."""


@pytest.fixture
def database(engine_database: Database) -> Database:
    return engine_database


# --- results --------------------------------------------------------------------------------------------------------


def test_results_as_rows_values_arrays_and_batches(session: Session) -> None:
    assert session.rows(tree("SELECT * FROM (VALUES (1, 'a'), (2, NULL)) ORDER BY 1")) == [(1, "a"), (2, None)]
    assert session.row(tree("SELECT 1, 2")) == (1, 2)
    assert session.value(tree("SELECT ?"), ["it's"]) == "it's"
    arrays = session.arrays(tree("SELECT i::INTEGER AS i FROM range(3) r(i)"))
    assert arrays["i"].tolist() == [0, 1, 2]
    batches = session.batches(tree("SELECT i FROM range(10) r(i)"), 4)
    assert batches.read_all().column("i").to_pylist() == list(range(10))


def test_arrow_tables_are_readable_while_the_block_runs(session: Session) -> None:
    with session.relation('odd; "name', pa.table({"a": [1, 2]})):
        assert session.value(tree('SELECT sum(a) FROM "odd; ""name"')) == 3
    with pytest.raises(InternalError):
        session.value(tree('SELECT sum(a) FROM "odd; ""name"'))


def test_temporary_tables_belong_to_the_session(database: Database, session: Session) -> None:
    session.execute(tree("CREATE TEMP TABLE mine AS SELECT 1"))
    with database.session() as other, pytest.raises(InternalError):
        other.rows(tree("SELECT * FROM mine"))


def test_a_staged_query_is_counted_and_belongs_to_the_session(database: Database, session: Session) -> None:
    assert session.stage("staged", tree("SELECT * FROM (VALUES (1), (2), (?)) AS found(i)"), [None]) == 3
    assert session.rows(tree("SELECT i FROM staged ORDER BY i NULLS LAST")) == [(1,), (2,), (None,)]
    with database.session() as other, pytest.raises(InternalError):
        other.rows(tree("SELECT * FROM staged"))


def test_a_query_is_described_without_being_run(session: Session) -> None:
    query = tree("SELECT 1 AS \"a b\", CAST('x' AS DATE) AS d")
    assert session.described(query) == [("a b", "INTEGER"), ("d", "DATE")]


def test_a_closed_session_runs_nothing(database: Database) -> None:
    session = database.session()
    session.execute("SELECT 1")
    session.close()
    session.close()
    assert session.step == (1, 0.0)
    for control in (None, Control()):
        session.control = control
        with pytest.raises(InternalError, match="the database refused a statement"):
            session.execute("SELECT 1")


# --- failures -------------------------------------------------------------------------------------------------------

RUNS: dict[str, Callable[[Session, exp.Expr], object]] = {
    "execute": lambda session, statement: session.execute(statement),
    "rows": lambda session, statement: session.rows(statement),
    "arrays": lambda session, statement: session.arrays(statement),
    "batches": lambda session, statement: session.batches(statement, 10).read_all(),
}


@pytest.mark.parametrize("run", [RUNS["execute"], RUNS["rows"], RUNS["arrays"]])
@pytest.mark.parametrize(
    "expression",
    ["name::INTEGER", "name::DATE", "name::BOOLEAN", "(name || 'x')::UUID", "name::JSON", "error(name)", "name::BIT"],
)
def test_raw_values_reach_neither_errors_nor_logs(
    session: Session, caplog: pytest.LogCaptureFixture, run: Callable[[Session, exp.Expr], object], expression: str
) -> None:
    session.execute(tree("CREATE OR REPLACE TABLE people AS SELECT 'Smith-4711' AS name"))
    with caplog.at_level(logging.DEBUG), pytest.raises(InternalError) as raised:
        run(session, tree(f"SELECT {expression} FROM people"))
    told = "".join(traceback.format_exception(raised.value)) + str(raised.value.faults) + caplog.text
    assert "Smith" not in told
    assert "4711" not in told
    assert raised.value.code == "DATABASE_ERROR"
    assert "Exception" in str(raised.value)
    # The statement itself is named, so that the failure can be found.
    assert "statement failed" in caplog.text


@pytest.mark.parametrize("run", list(RUNS.values()))
def test_names_that_are_wrong_fail_alike(session: Session, run: Callable[[Session, exp.Expr], object]) -> None:
    with pytest.raises(InternalError) as raised:
        run(session, tree("SELECT nothing FROM nowhere"))
    assert raised.value.__suppress_context__


def test_parameters_reach_no_log(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    value = "-".join(["Smith", "4711"])  # The traceback shows this line.
    with caplog.at_level(logging.DEBUG), pytest.raises(InternalError) as raised:
        session.value(tree("SELECT CAST(? AS INTEGER)"), [value])
    assert value not in caplog.text + "".join(traceback.format_exception(raised.value))


def test_session_goes_on_after_a_failure(session: Session) -> None:
    with pytest.raises(InternalError):
        session.execute(tree("SELECT nothing"))
    assert session.value(tree("SELECT 1")) == 1


# --- transactions ---------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(session: Session) -> Callable[[], int]:
    """Number of rows of table t, as another session sees it."""
    session.execute(tree("CREATE OR REPLACE TABLE t (a INTEGER PRIMARY KEY)"))
    return lambda: int(session.value(tree("SELECT count(*) FROM t")))


def test_commits(session: Session, counted: Callable[[], int]) -> None:
    with session.transaction():
        session.execute(tree("INSERT INTO t VALUES (1)"))
    assert counted() == 1


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, Stopped])
def test_rolls_back_whatever_is_raised(
    session: Session, counted: Callable[[], int], failure: type[BaseException]
) -> None:
    def fail() -> None:
        with session.transaction():
            session.execute(tree("INSERT INTO t VALUES (1)"))
            raise failure

    with pytest.raises(failure):
        fail()
    assert counted() == 0


def test_rolls_back_after_a_failed_statement(session: Session, counted: Callable[[], int]) -> None:
    def insert_twice() -> None:
        with session.transaction():
            session.execute(tree("INSERT INTO t VALUES (1)"))
            session.execute(tree("INSERT INTO t VALUES (1)"))

    with pytest.raises(ConflictError) as raised:
        insert_twice()
    assert raised.value.code == "CONSTRAINT_BROKEN"
    assert counted() == 0


def test_the_ledger_is_written_in_the_session_s_transaction(session: Session, counted: Callable[[], int]) -> None:
    def fail() -> None:
        with session.transaction():
            session.ledger.execute(tree("INSERT INTO t VALUES (1)"))
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert counted() == 0
    with session.transaction():
        session.ledger.execute(tree("INSERT INTO t VALUES (1)"))
    assert counted() == 1


def test_cancel_before_the_commit_rolls_back(session: Session, counted: Callable[[], int]) -> None:
    control = session.control = Control()

    def insert() -> None:
        with session.transaction():
            session.execute(tree("INSERT INTO t VALUES (1)"))
            control.cancel()

    with pytest.raises(Stopped):
        insert()
    session.control = None
    assert counted() == 0


def test_concurrent_changes_conflict(database: Database, session: Session, counted: Callable[[], int]) -> None:
    session.execute(tree("INSERT INTO t VALUES (1)"))
    with database.session() as other, other.transaction():
        other.execute(tree("UPDATE t SET a = 2"))
        with pytest.raises(ConflictError) as raised:
            session.execute(tree("UPDATE t SET a = 3"))
    assert raised.value.code == "WRITE_CONFLICT"


# --- stopping -------------------------------------------------------------------------------------------------------


def cancel_later(control: Control, seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, control.cancel)
    timer.start()
    return timer


@pytest.mark.parametrize("run", [RUNS["execute"], RUNS["rows"], RUNS["arrays"]])
def test_a_long_statement_is_interrupted_soon(session: Session, run: Callable[[Session, exp.Expr], object]) -> None:
    session.control = Control()
    timer = cancel_later(session.control, 0.2)
    with pytest.raises(Stopped):
        run(session, tree(ENDLESS))
    timer.join()
    started = time.monotonic()
    session.control = Control()
    session.control.cancel()
    # A statement that starts when it should have stopped is one, too.
    with pytest.raises(Stopped):
        run(session, tree(ENDLESS))
    assert time.monotonic() - started < SOON
    session.control = Control()
    assert session.value(tree("SELECT 1")) == 1


def test_interrupt_comes_soon_after_the_cancel(session: Session) -> None:
    control = session.control = Control()
    cancelled: list[float] = []

    def cancel() -> None:
        cancelled.append(time.monotonic())
        control.cancel()

    timer = threading.Timer(0.2, cancel)
    timer.start()
    with pytest.raises(Stopped):
        session.execute(tree(f"CREATE TEMP TABLE big AS {ENDLESS}"))
    assert time.monotonic() - cancelled[0] < SOON
    timer.join()


def test_a_deadline_interrupts_as_well(session: Session) -> None:
    session.control = Control()
    session.control.limit(time.monotonic() + 0.2)
    started = time.monotonic()
    with pytest.raises(Stopped):
        session.value(tree(ENDLESS))
    assert 0.15 < time.monotonic() - started < SOON
    # Statements after the deadline was lifted run.
    session.control.limit(None)
    assert session.value(tree("SELECT 1")) == 1


def test_an_interrupt_stops_one_session_only(database: Database, session: Session) -> None:
    session.control = Control()
    failures: list[BaseException] = []

    def work() -> None:
        with database.session() as other:
            other.control = Control()
            try:
                for _ in range(200):
                    assert other.value(tree("SELECT count(*) FROM range(100_000) r(i) WHERE hash(i) = 1")) == 0
            except BaseException as error:
                failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(3):
        session.control = Control()
        timer = cancel_later(session.control, 0.05)
        with pytest.raises(Stopped):
            session.value(tree(ENDLESS))
        timer.join()
    thread.join()
    assert failures == []


def test_an_interrupted_transaction_leaves_nothing(session: Session) -> None:
    session.control = Control()
    timer = cancel_later(session.control, 0.2)

    def write() -> None:
        with session.transaction():
            session.execute(tree("CREATE TABLE half_written AS SELECT 1 AS a"))
            session.execute(tree(ENDLESS))

    with pytest.raises(Stopped):
        write()
    timer.join()
    session.control = None
    assert not catalog.has_table(session, "main", "half_written")


def test_sessions_without_a_control_are_never_stopped(database: Database) -> None:
    with database.session() as session:
        assert session.control is None
        assert session.value(tree("SELECT count(*) FROM range(1_000_000)")) == 1_000_000


def test_a_stop_inside_a_transaction_is_seen_through_a_relation(session: Session) -> None:
    def stop_while_registered() -> None:
        with session.transaction(), session.relation("some_rows", pa.table({"a": [1]})):
            session.execute(tree("SELECT count(*) FROM range(10000000000) a, range(1000) b"))

    session.control = Control()
    session.control.cancel()
    with pytest.raises(Stopped):
        stop_while_registered()


def test_batches_hold_nothing_under_their_nulls(session: Session) -> None:
    """DuckDB does not fill a column without values: what the memory held before would be sent to the reader."""
    marked = pa.table({"a": pa.array([0x5EC3E7] * 100_000, pa.int64())})
    with session.relation("held", marked):
        session.execute(tree("CREATE TABLE emptied AS SELECT CASE WHEN a = 0 THEN a END AS a, 'x' AS b FROM held"))
    for _ in range(3):
        with session.relation("held", marked):
            assert session.batches(tree("SELECT a + 1 AS a, 'y' AS b FROM held"), 8192).read_all().num_rows == 100_000
        found = session.batches(tree("SELECT a, b FROM emptied"), 8192)
        for batch in found:
            assert batch.column("a").null_count == batch.num_rows
            assert not any(batch.column("a").buffers()[1].to_pybytes()[: 8 * batch.num_rows])


def test_several_tables_are_described_as_each_alone(session: Session) -> None:
    """Also by hostile names, and where a temporary table has the name of one."""
    session.execute('CREATE SCHEMA "a b"')
    session.execute("""CREATE TABLE "a b"."t""1" ("x y" INTEGER, e ENUM('a', 'b'), s STRUCT(a INTEGER, "b c" DATE))""")
    session.execute('CREATE VIEW main.shown AS SELECT * FROM "a b"."t""1"')
    session.execute("CREATE TEMPORARY TABLE shown AS SELECT 1 AS other")
    tables = [table('t"1', "a b", session.catalog), table("shown", "main", session.catalog)]
    assert session.described_tables(tables) == [session.described(exp.select("*").from_(one)) for one in tables]
    assert session.described_tables([]) == []
