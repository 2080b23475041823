"""The PostgreSQL of the tests: databases of their own, passwords, and a crash."""

import pytest

from tests.postgresql import Cluster


def test_a_crash_keeps_what_was_committed(postgresql: Cluster) -> None:
    url = postgresql.new_database()
    postgresql.rows(url, "CREATE TABLE visits AS SELECT 1 AS patient")
    postgresql.crash()
    postgresql.start()
    assert postgresql.rows(url, "SELECT patient FROM visits") == [(1,)]


def test_other_roles_need_their_password(postgresql: Cluster) -> None:
    from adbc_driver_postgresql import dbapi

    url = postgresql.new_database()
    postgresql.rows(url, "CREATE ROLE analyst LOGIN PASSWORD 'of the analyst'")
    with pytest.raises(dbapi.OperationalError, match="password"):
        postgresql.rows(url.replace("postgres@", "analyst@"), "SELECT 1")
