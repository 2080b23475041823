"""Operating a server: its log, its health, its stop, and backups from which it continues."""

import json
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tableveil.cli.main import cli
from tableveil.client import Client, UnreachableError
from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    DeniedError,
    InternalError,
    InvalidError,
    TableveilError,
    UnauthenticatedError,
)
from tableveil.v1 import access_pb2, access_service_pb2, job_service_pb2
from tests import authenticated
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.ledger import check_whole
from tests.e2e.process import Serve, durable
from tests.small_disk import fill, small_disk

pytestmark = pytest.mark.long

# Long texts, of which no more than two are alike.
LARGE = f"""
    SELECT people.* REPLACE (id * 10000 + n AS id, md5(((id * 10000 + n) // 2)::VARCHAR) AS diagnosis)
    FROM ({samples.PEOPLE}) AS people, range(5000) AS copies(n)
"""

SUCCEEDED = job_service_pb2.JOB_STATE_SUCCEEDED
READY = "tableveil.v1.JobService"
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


def test_a_backup_from_which_another_server_goes_on(serve: Serve, tmp_path: Path) -> None:
    database, backups = tmp_path / "clinic.duckdb", tmp_path / "backups"
    backups.mkdir()
    samples.create(database, people=samples.PEOPLE, wide=samples.wide(24))
    server = serve(database, "--backup-directory", str(backups))
    with Client(server.address) as client:
        rows = [(f"{i:05}", f"{i % 10}", "*") for i in range(100)]
        client.create_hierarchy("zip", rows)
        client.add_grant(access_service_pb2.GrantRule(principal="ann", role=access_pb2.ACCESS_ROLE_ANALYST))
        ann_secret = client.create_token("ann", "test").secret
        released = client.wait(client.submit(samples.message(samples.policy())).name)
        assert released.state == SUCCEEDED
        view = samples.policy(release={"name": "seen", "kind": "VIEW"}, repeat_reason="a test")
        assert client.wait(client.submit(samples.message(view)).name).state == SUCCEEDED
        # A backup is made while a job runs; in the copy the job is unfinished.
        running = client.submit(samples.message(samples.wide_policy(24, target="wide_released")))
        made = tableveil("backup", "first", "--json", server=server.address)
        assert made.exit_code == 0, made.stderr
        client.cancel_job(running.name)
        found = tableveil("doctor", "--json", "--database", str(database), server=server.address)
        assert found.exit_code == 0, found.stdout
        assert "it was asked" in found.stderr
        assert all(f["level"] != "FINDING_LEVEL_PROBLEM" for f in found.documents[0]["findings"])
    server.kill()
    assert made.documents[0]["backup"]["path"] == str(backups / "first.duckdb")

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    restored = elsewhere / "clinic.duckdb"
    command = ["restore", str(backups / "first.duckdb"), "--database", str(restored)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.stderr
    assert "1 unfinished" in result.stdout
    assert CliRunner().invoke(cli, command).exit_code == 6
    assert "2 suspended" in result.stdout

    token = CliRunner().invoke(cli, ["tokens", "create", "admin", "--database", str(restored)]).stdout
    server = serve(restored)
    with Client(server.address) as client, pytest.raises(UnauthenticatedError, match="After a restore"):
        client.get_job(running.name)
    with Client(server.address, token) as client:
        suspended = [found.name for found in client.list_tokens() if found.suspended]
        assert suspended == ["tokens/2", "tokens/1"]
        for name in suspended:
            client.confirm_token(name)
        with Client(server.address, ann_secret) as ann:
            with pytest.raises(DeniedError):
                list(ann.list_releases())
            assert client.confirm_restored(["grants/1", "releases/2"]) == ["releases/1"]
            assert [found.name for found in ann.list_releases()] == ["releases/2"]
    with Client(server.address) as client:
        assert client.get_job(running.name).state == job_service_pb2.JOB_STATE_INTERRUPTED
        assert client.get_release(released.result).job == released.name
        assert client.read_table("releases/2", "seen").num_rows > 0
        assert [info.name for info in client.list_hierarchies()] == ["zip"]
        # The ledger works in the copy: with the original's key it recognizes records, under any name.
        with pytest.raises(InvalidError) as raised:
            client.submit(samples.message(samples.policy(target="again")))
        assert raised.value.code == "REPEATED_RELEASE"
        again = client.submit(samples.message(samples.policy(target="again", repeat_reason="restored")))
        assert int(again.name.removeprefix("jobs/")) > int(running.name.removeprefix("jobs/"))
        ended = client.wait(again.name)
        assert (ended.state, ended.result) == (SUCCEEDED, "releases/3")
    assert server.terminate() == 0
    with durable(restored) as connection:
        check_whole(connection, {"people", "wide"})


def test_a_server_that_is_killed_during_a_backup(serve: Serve, tmp_path: Path) -> None:
    database, backups = tmp_path / "clinic.duckdb", tmp_path / "backups"
    backups.mkdir()
    samples.create(database, large="SELECT md5(i::VARCHAR) AS m FROM range(2000000) t(i)")
    options = ("--backup-directory", str(backups))
    server = serve(database, *options)
    ended: list[TableveilError] = []

    def back_up() -> None:
        with Client(server.address) as client:
            try:
                client.back_up("first")
            except TableveilError as error:
                ended.append(error)

    caller = threading.Thread(target=back_up)
    caller.start()
    _wait_for_a_file(backups)
    with Client(server.address) as client, pytest.raises(BusyError) as raised:
        client.back_up("second")
    assert raised.value.code == "BACKUP_RUNNING"
    server.kill()
    caller.join()
    assert [type(error) for error in ended] == [UnreachableError]
    assert [file.name[0] for file in backups.iterdir() if file.suffix == ".partial"] == ["."]

    server = serve(database, *options)
    assert list(backups.iterdir()) == []
    # A client that gives up, and a stop of the server, leave nothing either.
    caller = threading.Thread(target=back_up)
    caller.start()
    _wait_for_a_file(backups)
    assert server.terminate() == 0
    caller.join()
    # The backup may end within the grace that a stop gives to calls: then it is whole, even if its answer is lost.
    assert all(isinstance(error, (UnreachableError, CancelledError)) for error in ended[1:])
    left = [file.name for file in backups.iterdir()]
    assert left == ["first.duckdb"] or (not left and ended[1:])


def _wait_for_a_file(directory: Path) -> None:
    deadline = time.monotonic() + 30
    while not any(directory.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_database_that_is_replaced_while_it_is_served(serve: Serve, tmp_path: Path) -> None:
    database, backups, rows = tmp_path / "clinic.duckdb", tmp_path / "backups", tmp_path / "more.csv"
    backups.mkdir()
    rows.write_text("a\n1\n")
    samples.create(database, people=samples.PEOPLE)
    server = serve(database, "--backup-directory", str(backups))
    assert tableveil("load", str(rows), "before", server=server.address).exit_code == 0
    for file in (database, database.with_name("clinic.duckdb.wal")):
        file.unlink()
    samples.create(database, others="SELECT 7 AS a")
    another = database.read_bytes()

    # Work that would be lost is never reported as done.
    refused = tableveil("load", str(rows), "after", server=server.address)
    assert refused.exit_code == 1
    assert "DATABASE_REPLACED" in refused.stderr
    with Client(server.address) as client, pytest.raises(InternalError) as raised:
        client.submit(samples.message(samples.policy()))
    assert raised.value.code == "DATABASE_REPLACED"
    found = tableveil("doctor", "--json", server=server.address)
    assert found.exit_code == 1
    assert "not the file that the server has open" in found.stdout
    with authenticated.channel(server.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        assert any(seen.status == NOT_SERVING for seen in stub.Watch(health_pb2.HealthCheckRequest(service=READY)))
    # The contents can be rescued.
    assert tableveil("backup", "rescued", server=server.address).exit_code == 0
    with duckdb.connect(backups / "rescued.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM before").fetchone() == (1,)
    assert server.terminate() == 0
    assert database.read_bytes() == another


def test_alive_while_it_stops_but_not_ready(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    samples.create(database, wide=samples.wide(24))
    server = serve(database, "--concurrent-jobs", "1")
    with Client(server.address) as client, authenticated.channel(server.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        assert tableveil("health", "--ready", server=server.address).exit_code == 0
        watch = stub.Watch(health_pb2.HealthCheckRequest(service=READY))
        assert next(watch).status == SERVING
        running = client.submit(samples.message(samples.wide_policy(24))).name
        waiting = client.submit(samples.message(samples.wide_policy(24, target="other", repeat_reason="x"))).name
        seen = client.watch_job(running)
        next(seen)
        server.process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING
        assert stub.Check(health_pb2.HealthCheckRequest()).status == SERVING
        # The watcher learns how the job ended before the server is gone.
        assert [job.failure.code for job in seen][-1] == "INTERRUPTED"
    assert server.ended() == 0
    for options in ((), ("--ready",)):
        assert tableveil("health", *options, server=server.address).exit_code == 5
    with duckdb.connect(database, read_only=True) as connection:
        states = connection.execute("SELECT job, state FROM tableveil.job_outcomes ORDER BY job").fetchall()
    assert states == [(int(name.removeprefix("jobs/")), "INTERRUPTED") for name in (running, waiting)]


def test_a_configuration_file_and_its_log(serve: Serve, tmp_path: Path) -> None:
    database, config = tmp_path / "clinic.duckdb", tmp_path / "config.toml"
    samples.create(database, people=f"SELECT * REPLACE (name || ' of ' || ward AS name) FROM ({samples.PEOPLE})")
    config.write_text('log_format = "json"\nqueue_limit = 1\nthreads = 1\nconcurrent_jobs = 1\n')
    server = serve(database, "--config", str(config))
    with Client(server.address) as client:
        job = client.wait(client.submit(samples.message(samples.policy())).name)
        with pytest.raises(ConflictError):
            client.submit(samples.message(samples.policy(repeat_reason="Person 7")))
        # A value that does not fit the policy fails the job; the log names the job, not the value.
        broken = samples.policy(target="broken", repeat_reason="x")
        broken["attributes"][2]["hierarchy"] = {"intervals": {"minimum": "30", "maximum": "40", "widths": ["5"]}}
        failed = list(client.watch_job(client.submit(samples.message(broken)).name))[-1]
    assert server.terminate() == 0
    lines = [json.loads(line) for line in server.log_file.read_text().splitlines()]
    assert {"time", "level", "logger", "message"} <= set.intersection(*(set(line) for line in lines))
    of_job = [line["message"].removeprefix(f"{job.name} ") for line in lines if line.get("job") == job.name]
    assert sorted(of_job) == ["queued", "started", "succeeded"]
    assert any(line.get("job") == failed.name and failed.failure.code in line["message"] for line in lines)
    assert [line["code"] for line in lines if line.get("method", "").endswith("SubmitJob")] == ["TARGET_EXISTS"]
    assert "Person" not in server.log_file.read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("concurent_jobs = 2", "concurent_jobs.*Did you mean 'concurrent_jobs'"),
        ("concurrent_jobs = true", "concurrent_jobs.*expected +an integer"),
        ("concurrent_jobs = '2'\nthreads = 1.5", "2 faults.*concurrent_jobs.*threads"),
        ("allow_remote = 1", "allow_remote.*true or false"),
        ("concurrent_jobs = 0", "--concurrent-jobs.*0 is not in the range"),
        ("log_format = 'xml'", "--log-format.*'xml'"),
        ("config = 'x'", "config.*no option"),
        ("threads = ", "CONFIG_INVALID.*line 2"),
    ],
)
def test_configurations_that_cannot_be(tmp_path: Path, text: str, words: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"database = '{tmp_path}/none/x.duckdb'\n{text}\n")
    result = CliRunner().invoke(cli, ["serve", "--config", str(config)])
    assert result.exit_code == 2
    assert re.search(words, " ".join(result.stderr.split()))


def test_a_full_disk(serve: Serve, tmp_path: Path) -> None:
    """Reported before a job, and during one; with room again, the running server continues."""
    with small_disk(tmp_path, 160) as disk:
        database = disk / "clinic.duckdb"
        # Its release takes more room than is left; a job of the small one does not.
        samples.create(database, people=samples.PEOPLE, large=LARGE)
        server = serve(database, "--memory-limit", "60MB")
        with Client(server.address) as client:
            filler = fill(disk, leave=32 * 2**20)
            with pytest.raises(BusyError) as raised:
                client.submit(samples.message(samples.policy()))
            assert raised.value.code == "DISK_FULL"
            assert "32.0 MiB free" in raised.value.faults[0].found
            assert tableveil("doctor", server=server.address).exit_code == 1
            filler.unlink()

            during = client.submit(samples.message(samples.policy("large", "large_released")))
            # Watched from before the disk is full: a call that the audit has no room to record is refused.
            watched = client.watch_job(during.name)
            job = next(job for job in watched if job.phase >= job_service_pb2.JOB_PHASE_WRITING)
            assert job.state < SUCCEEDED
            filler = fill(disk, leave=2**20)
            *_, job = watched
            assert job.failure.code == "DISK_FULL", job
            filler.unlink()
            job = client.wait(client.submit(samples.message(samples.policy())).name)
            assert job.state == SUCCEEDED, job.failure
        assert server.terminate() == 0
        with durable(database) as connection:
            check_whole(connection, {"people", "large"})
