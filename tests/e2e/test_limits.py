"""Things that a server cannot have: a file in use, more memory, larger messages; it reports that, or copes."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError
from tableveil.v1 import faults_pb2, job_service_pb2, policy_pb2
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.ledger import check_whole, digest
from tests.e2e.process import NotServingError, Serve, ServerProcess, durable

# Long texts, which have to be sorted.
LARGE = f"""
    SELECT people.* REPLACE (id * 500 + n AS id, repeat(md5(((id * 500 + n) // 2)::VARCHAR), 4) AS diagnosis)
    FROM ({samples.PEOPLE}) AS people, range(500) AS copies(n)
"""


def test_a_file_that_another_server_has_open(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    server = serve(database)
    with pytest.raises(NotServingError, match=r"(?s)Busy.*DATABASE_LOCKED.*open in another process.*Stop the other"):
        serve(database)
    with Client(server.address) as client:
        job = client.wait(client.submit(samples.message(samples.policy())).name)
    assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, "the first goes on"


def test_a_file_that_somebody_looks_into(tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    program = f"import duckdb, sys; c = duckdb.connect({str(database)!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(NotServingError, match="DATABASE_LOCKED"):
            ServerProcess(database)
        # No server has it, and none can be asked.
        looked_at = tableveil("doctor", "--database", str(database), server="127.0.0.1:1")
        assert (looked_at.exit_code, "DATABASE_LOCKED" in looked_at.stderr) == (7, True)
    with duckdb.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchone() == (samples.ROWS,)
        assert connection.execute("FROM duckdb_schemas() WHERE schema_name = 'tableveil'").fetchall() == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory-limit", "plenty"], "Memory must have a number.*SETTING_INVALID"),
        (["--database", "no/such/directory/x.duckdb"], "DATABASE_UNREADABLE.*'no/such/directory/x.duckdb'"),
        (["--database", __file__], "DATABASE_UNREADABLE"),
        (["--threads", "0"], "threads"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, options: list[str], words: str) -> None:
    with pytest.raises(NotServingError, match=f"(?s){words}") as raised:
        ServerProcess(tmp_path / "clinic.duckdb", *options)
    assert "Traceback" not in str(raised.value)


@pytest.mark.parametrize(("limit", "enough"), [("10MB", False), pytest.param("48MB", True, marks=pytest.mark.long)])
def test_too_little_memory(serve: Serve, tmp_path: Path, limit: str, enough: bool) -> None:
    """The server spills data that does not fit; if that does not help it reports so."""
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=LARGE)
    with duckdb.connect(database) as connection:
        before = digest(connection, "people")
    server = serve(database, "--memory-limit", limit)
    assert server.spill_directory.stat().st_mode & 0o777 == 0o700
    with Client(server.address) as client, watched(server.spill_directory) as spilled:
        *_, seen = client.watch_job(client.submit(samples.message(samples.policy())).name)
    if enough:
        assert seen.state == job_service_pb2.JOB_STATE_SUCCEEDED, seen.failure
        assert max(spilled) > 1_000_000
    else:
        assert seen.failure.kind == faults_pb2.FAILURE_KIND_BUSY
        assert seen.failure.code == "OUT_OF_MEMORY"
        assert "--memory-limit" in seen.failure.faults[0].hint
    with durable(database) as connection:
        check_whole(connection, {"people"})
        assert digest(connection, "people") == before
    assert server.terminate() == 0
    assert not server.spill_directory.exists()


@contextmanager
def watched(directory: Path) -> Iterator[list[int]]:
    """The sizes of a directory as time goes by."""
    sizes = [0]
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            # Files come and go.
            sizes.append(sum(file.stat().st_size for file in directory.glob("*") if file.exists()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield sizes
    finally:
        over.set()
        thread.join()


def test_a_message_over_the_limit(serve: Serve, tmp_path: Path) -> None:
    """It is refused with a hint, and the hint works."""
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    server = serve(database)
    rows = [(f"{i:05}", "x" * 2_000, "*") for i in range(9_000)]
    document = samples.policy()
    document["attributes"][3]["hierarchy"] = {"suppression_only": {}}
    policy = samples.message(document)
    hierarchy = policy.attributes[3].hierarchy
    hierarchy.inline.rows.extend(policy_pb2.HierarchyRow(labels=row) for row in rows)
    with Client(server.address) as client:
        for verb in (client.submit, client.check_policy):
            with pytest.raises(InvalidError) as raised:
                verb(policy)
            assert raised.value.code == "MESSAGE_TOO_LARGE"
            assert "16,777,216 bytes" in raised.value.faults[0].expected
            assert "Store large hierarchies" in raised.value.faults[0].hint
        assert list(client.list_jobs()) == []
        stored = client.create_hierarchy("zip", rows)
        hierarchy.stored.CopyFrom(policy_pb2.StoredHierarchy(name=stored.name, version=stored.version))
        job = client.wait(client.submit(policy).name)
        assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, job.failure
