"""A file in a load directory that is swapped while it is loaded: the permitted file is read, or nothing is."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tableveil import loading
from tableveil.backend import Database, Session, Settings
from tableveil.control import Control
from tableveil.errors import ConflictError, InvalidError
from tableveil.loading import CsvFormat, FileFormat, LoadDirectory, ParquetFormat, paths, write
from tableveil.policy import TableReference
from tableveil.runtime import JobSettings, Loads, open_jobs
from tableveil.runtime.loads import LoadRequest
from tableveil.state.loads import LoadMode
from tests.service.jobs.managed import SECONDS

FORMATS: dict[str, FileFormat] = {"a.csv": CsvFormat(), "a.parquet": ParquetFormat()}

Swap = Callable[[Path, Path], object]
"""An attack by a user who may write the file's directory; the second path is a file that only the server may read."""


@pytest.fixture(scope="module")
def allowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("allowed")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, allowed: Path) -> Iterator[Database]:
    database = Database(Settings(tmp_path_factory.mktemp("own") / "d*b.duckdb", threads=2, directories=(allowed,)))
    yield database
    database.close()


@pytest.fixture(scope="module")
def loads(database: Database, allowed: Path) -> Iterator[Loads]:
    jobs = open_jobs(database, JobSettings(1))
    yield Loads(database, jobs, [LoadDirectory(allowed)])
    jobs.close(SECONDS)


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    with database.session() as session:
        session.execute("DROP TABLE IF EXISTS n")
        yield session


@pytest.fixture(params=FORMATS)
def file(request: pytest.FixtureRequest, allowed: Path) -> Path:
    """With the number 1, in a folder of its own."""
    folder = allowed / f"folder {len(list(allowed.iterdir()))}"
    return written(folder / request.param, 1)


@pytest.fixture
def secret(file: Path, tmp_path: Path) -> Path:
    """With the number 2, where nothing may be loaded from."""
    return written(tmp_path / "secret" / file.name, 2)


def written(path: Path, number: int) -> Path:
    path.parent.mkdir()
    duckdb.sql(f"COPY (SELECT {number} AS n) TO '{path}'")
    return path


def load(loads: Loads, file: Path) -> None:
    target, form = TableReference("", "main", "n"), FORMATS[file.name]
    request = LoadRequest(target, LoadMode.CREATE, "", f"{file.parent.name}/{file.name}", form)
    loads.load(request, pytest.fail, Control())


def before(monkeypatch: pytest.MonkeyPatch, of: Any, name: str, act: Callable[[], object]) -> None:
    """Does something right before a function of a module is called for the first time."""
    function, acts = getattr(of, name), [act]

    def called(*arguments: Any, **options: Any) -> Any:
        if acts:
            acts.pop()()
        return function(*arguments, **options)

    monkeypatch.setattr(of, name, called)


def a_link(file: Path, secret: Path) -> None:
    file.rename(file.with_name("moved"))
    file.symlink_to(secret)


def a_pipe(file: Path, _: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def a_folder(file: Path, secret: Path) -> None:
    file.parent.rename(file.parent.with_name(f"moved {file.parent.name}"))
    file.parent.symlink_to(secret.parent)


def another_file(file: Path, _: Path) -> None:
    written(file.parent / "new" / file.name, 2).rename(file)


def other_content(file: Path, _: Path) -> None:
    file.write_bytes(written(file.parent / "new" / file.name, 2).read_bytes())
    os.utime(file, ns=(0, 0))


def nothing(file: Path, _: Path) -> None:
    file.unlink()


@pytest.mark.parametrize("swap", [a_link, a_pipe, a_folder])
def test_between_the_check_and_the_opening(
    loads: Loads, session: Session, file: Path, secret: Path, swap: Swap, monkeypatch: pytest.MonkeyPatch
) -> None:
    before(monkeypatch, os, "open", lambda: swap(file, secret))
    with pytest.raises(InvalidError) as raised:
        load(loads, file)
    assert raised.value.code == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    ("when", "swap"),
    [
        *(("rows", swap) for swap in (a_link, a_pipe, a_folder, another_file, other_content, nothing)),
        *(("create", swap) for swap in (a_link, other_content)),
    ],
)
def test_while_it_is_read(
    loads: Loads,
    session: Session,
    database: Database,
    file: Path,
    secret: Path,
    when: str,
    swap: Swap,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between its header and its rows, or before either."""
    name = when if when == "create" else ("csv_rows" if file.suffix == ".csv" else "parquet_rows")
    before(monkeypatch, loading, name, lambda: swap(file, secret))
    with pytest.raises(ConflictError) as raised:
        load(loads, file)
    assert raised.value.code == "FILE_CHANGED"
    assert session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name = 'n'") == []
    assert loads.page(None, 9) == []
    assert list(database.spill_directory.iterdir()) == []


def test_swapped_and_back(
    loads: Loads, session: Session, file: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing shows afterwards, and nothing needs to: the database was never led to the other file."""

    def swap_back() -> None:
        file.unlink()
        file.with_name("moved").rename(file)

    name = "csv_rows" if file.suffix == ".csv" else "parquet_rows"
    before(monkeypatch, loading, name, lambda: a_link(file, secret))
    before(monkeypatch, write, "sql", swap_back)
    load(loads, file)
    assert session.rows("FROM n") == [(1,)]
    session.execute("DELETE FROM tableveil.loads")


def test_a_system_that_does_not_tell_what_is_open(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another than Linux, or one without /proc: nothing is opened, and the reason is told."""
    monkeypatch.setattr(paths, "_DESCRIPTORS", tmp_path / "none")
    with pytest.raises(InvalidError) as raised, paths.allowed_file(str(file), [file.parent]):
        pass
    assert raised.value.code == "LOADING_NOT_ALLOWED"
    assert "this server cannot tell which file it has opened" in raised.value.faults[0].expected
