"""DuckDB's account of a failure goes nowhere: neither its exceptions nor the literals of a statement."""

import logging

import duckdb
import pytest

from tableveil.backend import Database, Session
from tableveil.backend.redacted import without_literals
from tableveil.errors import ConflictError, InternalError


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def test_duckdb_is_not_imported_for_its_errors_by_those_above(session: Session) -> None:
    """No DuckDB exception leaves a session."""
    for statement in ("SELEC", "SELECT 1/0::INTEGER + 'x'", "CREATE TABLE a.b.c.d (x INT)", "COMMIT"):
        try:
            session.execute(statement)
        except duckdb.Error as error:
            pytest.fail(f"{type(error).__name__} left the session")
        except InternalError:
            pass
        except ConflictError:
            pass


@pytest.mark.parametrize(
    ("statement", "logged"),
    [
        ("SELECT 'Smith''s', E'a\\'b', $$Smith$$, x'AB'", "SELECT ? , ? , ? , x ?"),
        ("SELECT 4711, -4.7e11, 4_711, 0x4711, .4711", "SELECT ? , - ? , ? , ? , . ?"),
        ('SELECT "name", $1, ? FROM "it\'s" -- Smith', 'SELECT "name" , $ ? , ? FROM "it\'s"'),
        ("SELECT 'a\\', CAST(\"a\" AS ENUM('Smith', 'Jones'))", 'SELECT ? , CAST ( "a" AS ENUM ( ? , ? ) )'),
        ("SELECT 'Smith", "(a statement that cannot be read)"),
    ],
)
def test_literals_are_logged_by_their_place(statement: str, logged: str) -> None:
    assert without_literals(statement) == logged


def test_a_failing_statement_is_logged_without_literals(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(InternalError):
        session.execute("SELECT CAST('Smith' AS INTEGER) FROM range(4711)")
    assert "SELECT CAST ( ? AS INTEGER ) FROM range ( ? )" in caplog.text
    assert "Smith" not in caplog.text
    assert "4711" not in caplog.text
