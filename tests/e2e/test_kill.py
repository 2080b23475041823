"""Kills the server at random points of a job, again and again: finished work stays, all other work leaves no trace."""

import random
import time
from pathlib import Path

import duckdb
import pytest

from tableveil.client import Client
from tableveil.v1 import job_service_pb2
from tests.e2e import samples
from tests.e2e.ledger import check_whole, digest
from tests.e2e.process import Serve, ServerProcess, durable
from tests.e2e.samples import Document, attribute

pytestmark = pytest.mark.long

ROWS = 100_000

# Long texts, so that sorting the released rows does not fit into the server's memory.
SOURCE = f"""
    SELECT i AS id, 'Person ' || i AS name, (hash(i, 1) % 100)::INT AS age,
        lpad((hash(i, 2) % 1000 * 97)::VARCHAR, 5, '0') AS zip, ['F', 'M'][1 + (hash(i, 3) % 2)::INT] AS sex,
        (hash(i, 4) % 20)::INT AS stay,
        md5((i // 2)::VARCHAR) || md5((i // 3)::VARCHAR) || md5((i // 4)::VARCHAR) AS diagnosis,
        ['east', 'west'][1 + (hash(i, 5) % 2)::INT] AS ward
    FROM range({ROWS}) AS numbers(i)
"""

OPTIONS = ("--memory-limit", "40MB", "--concurrent-jobs", "1")

PHASES = (
    job_service_pb2.JOB_PHASE_READING,
    job_service_pb2.JOB_PHASE_COUNTING,
    job_service_pb2.JOB_PHASE_SEARCHING,
    job_service_pb2.JOB_PHASE_WRITING,
    job_service_pb2.JOB_PHASE_VERIFYING,
)

SUCCEEDED, INTERRUPTED = job_service_pb2.JOB_STATE_SUCCEEDED, job_service_pb2.JOB_STATE_INTERRUPTED

SECONDS_TO_SPILL = 2.0

# Each of the four kinds of releases, and each of the five phases; `make campaign` kills at random points.
ROUNDS = 6


def policy(round_: int) -> Document:
    """New tables and views, and some in place of others."""
    stays = {"intervals": {"minimum": "0", "maximum": "19", "widths": ["2", "4", "8"]}}
    target = (
        {"name": f"new_{round_}"},
        {"name": "standing", "if_exists": "REPLACE"},
        {"name": f"new_{round_}", "kind": "VIEW"},
        {"name": "standing_view", "kind": "VIEW", "if_exists": "REPLACE"},
    )[round_ % 4]
    document = samples.policy(release=target, repeat_reason=f"round {round_}")
    document["attributes"].append(attribute("stay", "QUASI_IDENTIFIER", hierarchy=stays))
    return document


def wait_for_raw_data(server: ServerProcess) -> None:
    """Until there is some to leave, or there was: the job that writes spills what it sorts."""
    until = time.monotonic() + SECONDS_TO_SPILL
    while time.monotonic() < until and not any(file.stat().st_size for file in server.spill_directory.iterdir()):
        time.sleep(0.005)


def test_kills_at_all_phases(serve: Serve, tmp_path: Path) -> None:
    draw = random.Random(20)
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=SOURCE)
    with duckdb.connect(database) as connection:
        source = digest(connection, "people")

    def check() -> None:
        """No job is running."""
        with durable(database) as connection:
            check_whole(connection, {"people"})
            assert digest(connection, "people") == source

    server = serve(database, *OPTIONS)
    with Client(server.address) as client:
        # The state at the start, and the time of each phase without a kill.
        names = [client.wait(client.submit(samples.message(policy(round_))).name).result for round_ in (1, 3)]
        phases = client.get_release(names[-1]).phase_durations
        seconds = {phase: took.ToTimedelta().total_seconds() for phase, took in phases.items()}
    # The commit follows, which is no phase of its own.
    seconds["verifying"] += 0.3

    ended: dict[int, job_service_pb2.Job] = {}
    rounds_that_left_raw_data = 0
    for round_ in range(ROUNDS):
        phase = PHASES[round_ % len(PHASES)]
        with Client(server.address) as client:
            running = client.submit(samples.message(policy(round_)))
            waiting = client.submit(samples.message(policy(4 * (ROUNDS + round_))))
            for seen in client.watch_job(running.name):
                if seen.phase >= phase:
                    break
            name = job_service_pb2.JobPhase.Name(phase).removeprefix("JOB_PHASE_").lower()
            time.sleep(draw.uniform(0, 1.1) * seconds[name])
            if phase == job_service_pb2.JOB_PHASE_WRITING:
                wait_for_raw_data(server)
            server.kill()
        rounds_that_left_raw_data += any(file.stat().st_size for file in server.spill_directory.iterdir())

        server = serve(database, *OPTIONS)
        assert list(server.spill_directory.iterdir()) == []
        check()
        with Client(server.address) as client:
            for job in (client.get_job(running.name), client.get_job(waiting.name)):
                assert job.state in (SUCCEEDED, INTERRUPTED)
                assert bool(job.result) == (job.state == SUCCEEDED)
                assert job.failure.code == ("" if job.result else "INTERRUPTED")
            ended[round_] = client.get_job(running.name)

    interrupted = {round_: job for round_, job in ended.items() if job.state == INTERRUPTED}
    # The kills did hit running jobs, in different phases, and left raw data for the next start to remove.
    assert len(interrupted) >= ROUNDS // 2
    assert len({job.phase for job in interrupted.values()}) >= 3
    assert rounds_that_left_raw_data

    with Client(server.address) as client:
        for round_ in {round_ % 4: round_ for round_ in interrupted}.values():
            job = client.wait(client.submit(samples.message(policy(round_))).name)
            assert job.state == SUCCEEDED, job.failure
    check()
    assert server.terminate() == 0
    assert not server.spill_directory.exists()
