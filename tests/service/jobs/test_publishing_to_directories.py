"""Directories of DuckDB files: what a file has, and directories that take none."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Session, catalog
from tableveil.publishing import Edition, directory
from tests.once import once
from tests.service.jobs.published import OBJECTS, Published, Shelf, publishing, same
from tests.small_disk import fill, small_disk


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    (tmp_path / "shelf").mkdir()
    return Shelf(tmp_path / "shelf")


@pytest.fixture
def shelved(path: Path, shelf: Shelf) -> Iterator[Published]:
    with publishing(path, shelf) as found:
        yield found


def test_a_file_has_the_release_and_nothing_else(shelved: Published, shelf: Shelf) -> None:
    with shelved.database.session() as session:
        session.execute("COMMENT ON TABLE released IS 'It''s released'")
        session.execute("COMMENT ON COLUMN released.age IS 'in years'")
    shelved.publishing.publish(1, "shelf", "")
    shelved.wait(1, "PUBLISHED")
    path = shelf.directory / "releases-1.duckdb"
    assert (path.stat().st_mode & 0o777, shelf.names()) == (0o440, {path.name})
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute("SELECT schema_name, table_name, comment FROM duckdb_tables()").fetchall()
        facts = connection.execute("SELECT number, schema, name, format_version FROM tableveil.release").fetchall()
        columns = connection.execute("SELECT comment FROM duckdb_columns() WHERE column_name = 'age'").fetchall()
    names = {("main", f"released{suffix}") for suffix in OBJECTS} | {("tableveil", "release")}
    assert {(schema, name) for schema, name, _ in tables} == names
    assert ("main", "released", "It's released") in tables
    assert (facts, ("in years",) in columns) == ([(1, "main", "released", 1)], True)


def test_a_file_answers_analysts_under_any_name(shelved: Published, shelf: Shelf) -> None:
    shelved.publishing.publish(1, "shelf", "")
    shelved.wait(1, "PUBLISHED")
    mean = "tv_mean(age, age_rank, age_rank + 2)"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{shelf.directory / 'releases-1.duckdb'}' AS given (READ_ONLY)")
        elsewhere = connection.execute(f"SELECT given.main.{mean} FROM given.main.released").fetchall()
        connection.execute("USE given")
        assert connection.execute(f"SELECT {mean} FROM released").fetchall() == elsewhere
        expected = "SELECT avg(age_rank), avg(age_rank) + 2 FROM released"
        assert [(found["low"], found["high"]) for (found,) in elsewhere] == connection.execute(expected).fetchall()


def test_a_transaction_that_lists_the_catalog_does_not_stop_the_file(
    shelved: Published, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another target's does: DuckDB folds no log of a database in which others have a transaction."""
    copied = directory._copy

    def listing(session: Session, edition: Edition, copy: str) -> None:
        other.execute("BEGIN TRANSACTION")
        catalog.comments(other, "main")
        copied(session, edition, copy)

    monkeypatch.setattr(directory, "_copy", listing)
    with shelved.database.session() as other:
        shelved.publishing.publish(1, "shelf", "")
        assert shelved.wait(1, "PUBLISHED", lambda one: one.published_at is not None).attempts == 0
        assert shelf.names() == {"releases-1.duckdb"}


def test_a_directory_that_cannot_be_written_is_tried_again(shelved: Published, shelf: Shelf) -> None:
    shelf.directory.rmdir()
    shelved.publishing.publish(1, "shelf", "")
    failed = shelved.wait(1, "WAITING", lambda one: one.attempts > 0)
    assert (failed.code, str(shelf.directory) in failed.problem) == ("TARGET_UNWRITABLE", True)
    shelf.directory.mkdir()
    shelved.wait(1, "PUBLISHED")


@pytest.mark.parametrize("left", once([0, 2**20]))
def test_a_directory_without_room_gets_nothing_and_is_tried_again(path: Path, tmp_path: Path, left: int) -> None:
    with small_disk(tmp_path, 8) as disk, publishing(path, Shelf(disk)) as there:
        filler = fill(disk, left)
        there.publishing.publish(1, "shelf", "")
        failed = there.wait(1, "WAITING", lambda one: one.attempts > 0)
        assert failed.code == "DISK_FULL"
        assert there.place.names() == {filler.name}
        filler.unlink()
        # The service's own database was not harmed.
        there.wait(1, "PUBLISHED")
        assert same(there, 1, "released")
