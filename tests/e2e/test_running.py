"""Jobs that run long: cancelled, out of time, left by their clients, ended with the server, in each other's way."""

import json
import signal
import threading
import time
from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import BusyError, ConflictError
from tableveil.v1 import job_service_pb2, release_service_pb2
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.forked import Command
from tests.e2e.ledger import check_whole
from tests.e2e.process import Serve, durable
from tests.e2e.samples import Document

pytestmark = pytest.mark.long

COLUMNS = 24
SOON = 10.0
"""Seconds, on a busy machine, too; otherwise it takes less than one."""

SUCCEEDED, FAILED = job_service_pb2.JOB_STATE_SUCCEEDED, job_service_pb2.JOB_STATE_FAILED
CANCELLED, INTERRUPTED = job_service_pb2.JOB_STATE_CANCELLED, job_service_pb2.JOB_STATE_INTERRUPTED
QUEUED, RUNNING = job_service_pb2.JOB_STATE_QUEUED, job_service_pb2.JOB_STATE_RUNNING


def long(target: str = "released", **fields: object) -> Document:
    """A policy whose search takes too long for a test."""
    return samples.wide_policy(COLUMNS, "wide", target, **fields)


def limited(seconds: str, target: str = "released", **fields: object) -> Document:
    """Such a policy with a time limit."""
    return long(target, search={"time_limit_seconds": seconds}, **fields)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    samples.create(path, wide=samples.wide(COLUMNS), people=samples.PEOPLE)
    return path


def searching(client: Client, document: Document, request_id: str = "") -> job_service_pb2.Job:
    """Submits a job and returns once its search has checked something."""
    submitted = client.submit(samples.message(document), request_id=request_id)
    for job in client.watch_job(submitted.name):
        if job.progress.transformations_checked:
            break
    assert job.state == RUNNING, job
    return job


def assert_nothing_written(database: Path) -> None:
    with durable(database) as connection:
        check_whole(connection, {"wide", "people"})
        assert connection.execute("SELECT count(*) FROM tableveil.releases").fetchone() == (0,)


def test_cancelled(serve: Serve, database: Path) -> None:
    server = serve(database, "--concurrent-jobs", "1")
    with Client(server.address) as client:
        running = searching(client, long())
        waiting = client.submit(samples.message(long("other")))
        # A queued job ends at once, a running one soon; its watchers are told.
        assert client.cancel_job(waiting.name).state == CANCELLED
        began = time.monotonic()
        outcome = tableveil("cancel", running.name, server=server.address)
        assert outcome.exit_code == 0
        assert list(client.watch_job(running.name))[-1].state == CANCELLED
        assert time.monotonic() - began < SOON
        assert tableveil("watch", running.name, server=server.address).exit_code == 4
        # Once more changes nothing.
        assert client.cancel_job(running.name).failure.code == "CANCELLED"
        assert_nothing_written(database)
        # The target and the worker are free again.
        job = client.wait(client.submit(samples.message(limited("0.1"))).name)
        assert job.state == SUCCEEDED


def test_out_of_time(serve: Serve, database: Path) -> None:
    server = serve(database)
    with Client(server.address) as client:
        job = client.wait(client.submit(samples.message(limited("0.7"))).name)
        assert job.state == SUCCEEDED
        release = client.get_release(job.result)
        proof = release.proof
        assert not proof.optimal
        assert proof.lower_bound < release.score
        assert proof.gap == pytest.approx(release.score - proof.lower_bound)
        assert 0.7 <= proof.duration.ToTimedelta().total_seconds() < SOON
        (warning,) = [text for text in release.warnings if "time limit" in text]
        assert list(job.warnings) == list(release.warnings)
        assert warning in " ".join(tableveil("show", job.result, server=server.address).stdout.split())
        assert_k_anonymous(client, release)


def assert_k_anonymous(client: Client, release: release_service_pb2.Release, k: int = 4) -> None:
    rows = client.read_table(release.name, release.target.name)
    sizes = rows.group_by(rows.column_names).aggregate([([], "count_all")])["count_all"].to_pylist()
    assert min(sizes) >= k
    assert sum(sizes) + release.suppressed_records == release.records


def test_the_client_goes_away(serve: Serve, database: Path) -> None:
    """The job belongs to the server: it ends well with or without watchers."""
    server = serve(database)
    file = database.with_name("policy.json")
    file.write_text(json.dumps(limited("2")))
    watching = Command("submit", str(file), "--wait", "--server", server.address)
    while "searching" not in watching.stdout.readline():
        assert watching.running
    watching.send_signal(signal.SIGKILL)
    assert watching.wait() == -signal.SIGKILL
    with Client(server.address) as client:
        (job,) = client.list_jobs()
        assert job.state in (RUNNING, SUCCEEDED)
        assert client.wait(job.name).state == SUCCEEDED


def test_the_server_is_told_to_stop(serve: Serve, database: Path) -> None:
    server = serve(database, "--concurrent-jobs", "1")
    with Client(server.address) as client:
        running = searching(client, long(), "once")
        waiting = client.submit(samples.message(long("other")))
        told = threading.Thread(target=lambda: seen.extend(client.watch_job(running.name)))
        seen: list[job_service_pb2.Job] = []
        told.start()
        began = time.monotonic()
        assert server.terminate() == 0
        assert time.monotonic() - began < SOON
        told.join()
        # Watchers learn how it ended before the server is gone.
        assert seen[-1].state == INTERRUPTED
    assert not server.spill_directory.exists()
    assert not database.with_name(f"{database.name}.wal").exists()
    assert_nothing_written(database)

    server = serve(database)
    with Client(server.address) as client:
        for job in (running, waiting):
            after = client.get_job(job.name)
            assert (after.state, after.failure.code) == (INTERRUPTED, "INTERRUPTED")
        outcome = tableveil("watch", running.name, server=server.address)
        assert outcome.exit_code == 4
        assert "submit it again" in outcome.stderr
        # It led to nothing: a repeated request starts it again.
        again = client.submit(samples.message(long()), request_id="once")
        assert again.name not in (running.name, waiting.name)
        client.cancel_job(again.name)
        assert list(client.watch_job(again.name))[-1].state == CANCELLED
        job = client.wait(client.submit(samples.message(limited("0.1")), request_id="twice").name)
        assert job.state == SUCCEEDED


def test_a_request_id_names_one_job_whatever_happens(serve: Serve, database: Path) -> None:
    server = serve(database)
    message = samples.message(samples.policy())
    with Client(server.address) as client:
        first = client.wait(client.submit(message, request_id="nightly").name)
        assert first.state == SUCCEEDED
        assert client.submit(message, request_id="nightly") == first
    assert server.terminate() == 0
    server = serve(database)
    with Client(server.address) as client:
        assert client.submit(message, request_id="nightly") == first
        file = database.with_name("policy.json")
        file.write_text(json.dumps(samples.policy()))
        outcome = tableveil("submit", str(file), "--request-id", "nightly", "--json", server=server.address)
        assert outcome.documents[0]["job"]["name"] == first.name
        with pytest.raises(ConflictError) as raised:
            client.submit(samples.message(samples.policy(suppression_limit="0.06")), request_id="nightly")
        assert raised.value.code == "REQUEST_ID_REUSED"
        assert len(list(client.list_jobs())) == 1


def test_two_jobs_for_one_target(serve: Serve, database: Path) -> None:
    server = serve(database)
    with Client(server.address) as client:
        # It is about to write `released`, but not soon.
        running = searching(client, long())
        for target in ("released", "RELEASED", "released_risk", "released_classes"):
            with pytest.raises(ConflictError) as raised:
                client.submit(samples.message(samples.policy(target=target)))
            assert raised.value.code == "TARGET_IN_USE"
            assert running.name in str(raised.value)
        (job,) = client.list_jobs()
        assert job.state == RUNNING


def test_the_same_source_released_twice_at_once(serve: Serve, database: Path) -> None:
    """Neither was in the ledger when the other was submitted; the second one to write finds the first."""
    server = serve(database)
    with Client(server.address) as client:
        jobs = [client.submit(samples.message(limited("1", f"target_{i}"))) for i in range(2)]
        ended = [list(client.watch_job(job.name))[-1] for job in jobs]
        assert sorted(job.state for job in ended) == [SUCCEEDED, FAILED]
        (failed,) = (job for job in ended if job.state == FAILED)
        assert failed.failure.code == "REPEATED_RELEASE"
    with durable(database) as connection:
        check_whole(connection, {"wide", "people"})


def test_a_full_queue(serve: Serve, database: Path) -> None:
    server = serve(database, "--concurrent-jobs", "1", "--queue-limit", "1")
    with Client(server.address) as client:
        searching(client, long())
        waiting = client.submit(samples.message(long("other")))
        assert (waiting.state, waiting.queue_position) == (QUEUED, 0)
        with pytest.raises(BusyError) as raised:
            client.submit(samples.message(long("third")))
        assert raised.value.code == "QUEUE_FULL"
        file = database.with_name("policy.json")
        file.write_text(json.dumps(long("third")))
        assert tableveil("submit", str(file), server=server.address).exit_code == 7
        # Looking still works, and cancelling makes room.
        client.cancel_job(waiting.name)
        assert client.submit(samples.message(long("third"))).state == QUEUED
