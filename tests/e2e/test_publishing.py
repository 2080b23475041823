"""Publishing by the command line and over a real server, which is killed in the middle."""

import json
from pathlib import Path

import duckdb
import pytest

from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import NotServingError, Serve


@pytest.fixture
def database(tmp_path: Path) -> Path:
    samples.create(tmp_path / "people.duckdb", people=samples.PEOPLE)
    (tmp_path / "shelf").mkdir()
    (tmp_path / "policy.json").write_text(
        json.dumps(samples.policy(release={"name": "released", "publish": ["shelf"]}))
    )
    return tmp_path / "people.duckdb"


def test_published_by_a_policy_and_again_after_a_kill(database: Path, serve: Serve, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    options = ("--publish", f"shelf=directory:{shelf}")
    server = serve(database, *options)
    assert tableveil("submit", "--wait", str(tmp_path / "policy.json"), server=server.address).exit_code == 0
    done = tableveil("publish", "releases/1", "--to", "shelf", server=server.address)
    assert done.exit_code == 0, done.stderr
    assert (done.exit_code, done.stdout.splitlines()[1].split()[:2]) == (0, ["shelf", "published"])
    with duckdb.connect(str(shelf / "releases-1.duckdb"), read_only=True) as connection:
        rows = connection.execute("FROM main.released").fetchall()
    assert len(rows) > samples.ROWS / 2
    assert "Published" in tableveil("show", "releases/1", server=server.address).stdout

    # Killed once it was asked for, it is done by the next start.
    (shelf / "releases-1.duckdb").unlink()
    assert tableveil("publish", "1", "--to", "shelf", "--wait", "0", server=server.address).exit_code == 0
    server.kill()
    (shelf / "releases-1.duckdb").unlink(missing_ok=True)
    server = serve(database, *options)
    again = tableveil("publish", "1", "--to", "shelf", server=server.address)
    assert again.exit_code == 0
    assert {path.name for path in shelf.iterdir()} == {"releases-1.duckdb"}

    assert tableveil("withdraw", "1", "--reason", "a mistake", server=server.address).exit_code == 0
    gone = tableveil("publish", "1", "--to", "shelf", "--withdraw", server=server.address)
    assert "removed" in gone.stdout
    assert list(shelf.iterdir()) == []


def test_no_password_of_a_target_is_ever_told(database: Path, serve: Serve) -> None:
    with pytest.raises(NotServingError) as raised:
        serve(database, "--publish", "warehouse=postgresql://ann:hush-hush@127.0.0.1/dwh")
    assert ("PGPASSFILE" in str(raised.value), "hush" in str(raised.value)) == (True, False)
    server = serve(database)
    done = tableveil("submit", str(database.with_name("policy.json")), server=server.address)
    assert (done.exit_code, "'shelf'" in done.stderr) == (2, True)
