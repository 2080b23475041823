"""Sections: many small jobs of clients that wait, vanish, cancel and ask again; and memory after many dry runs."""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.doors.guarded import PEOPLE, make_people, small_policy
from benchmarks.markdown import seconds, table
from benchmarks.operate.served import Served, served
from benchmarks.section import Section, verdict
from tableveil.client import Client
from tableveil.errors import BusyError
from tableveil.v1 import job_service_pb2, policy_pb2
from tableveil.v1.dry_run_service_pb2 import SubmitDryRunRequest

TITLE = "A soak of many jobs"
JOBS = 500
CLIENTS = 8
BEHAVIOURS = ("wait", "wait", "vanish", "cancel", "ask again", "resubmit", "infeasible")
MOST_PARTS = 10
LEAST_JOBS_OF_A_PART = 50
"""A soak has two parts at least. After each, releases are withdrawn and other jobs deleted: the tables of releases that
stand take memory by right."""
MOST_GROWTH = 64 * 2**20
"""Bytes by which the process may grow after the first part: arenas of threads, the database's buffers."""

GROWTH_TITLE = "Memory after many small jobs"
GROWTH_JOBS, GROWTH_WARM = 2000, 200
GROWTH_GOAL = 40 * 2**20


@dataclass(frozen=True, slots=True)
class _Process:
    """The resources of the server's process: bytes in memory, threads, open files."""

    memory: int
    threads: int
    files: int

    @classmethod
    def of(cls, process: int) -> _Process:
        """Reads them from Linux."""
        proc = Path(f"/proc/{process}")
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        memory = int(status["VmRSS"].split()[0]) * 2**10
        return cls(memory, int(status["Threads"]), len(list((proc / "fd").iterdir())))

    @property
    def row(self) -> list[str]:
        """The process's row in the table."""
        return [f"{self.memory / 2**20:.0f} MiB", str(self.threads), str(self.files)]


def soak(jobs: int = JOBS, clients: int = CLIENTS) -> Section:
    """Runs a server in a process of its own; the first of its parts warms it up."""
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "soaked.duckdb"
        make_people(database)
        started = time.monotonic()
        with served(database) as server:
            states: dict[str, str] = {}
            after = {}
            parts = max(2, min(MOST_PARTS, jobs // LEAST_JOBS_OF_A_PART))
            for part in range(parts):
                done = jobs * (part + 1) // parts
                _clients(server, range(jobs * part // parts, done), clients)
                _clean(server, states)
                # Streams of clients that vanished end when the server finds out.
                time.sleep(1.0)
                after[done] = _Process.of(server.pid)
            elapsed = time.monotonic() - started
            warm, *_, end = after.values()
            spilled = list(database.with_name(f".{database.name}.spill").iterdir())
        left = list(_left(database))
    grown, ended = end.memory - warm.memory, Counter(states.values())
    problems = [
        *([f"{grown / 2**20:.0f} MiB more than when it was warm"] if grown > MOST_GROWTH else []),
        *([f"{end.threads - warm.threads} threads more"] if end.threads > warm.threads + clients else []),
        *([f"{end.files - warm.files} open files more"] if end.files > warm.files + clients else []),
        *(f"spilled file {path.name}" for path in spilled),
        *left,
    ]
    return Section(
        TITLE,
        (
            f"{jobs} jobs of {clients} clients in {seconds(elapsed)} s: clients wait, vanish while they watch, cancel, "
            "ask again with the same request id, resubmit. Now and then releases are withdrawn and other jobs deleted.",
            table(("how jobs ended", "number"), [[state, str(n)] for state, n in sorted(ended.items())]),
            table(
                ("server", "memory", "threads", "open files"),
                [[f"after {done} jobs", *found.row] for done, found in after.items()],
            ),
            f"Nothing leaks: {verdict(not problems)}.",
            *problems,
        ),
        sound=not problems,
    )


def growth(jobs: int = GROWTH_JOBS, warm: int = GROWTH_WARM) -> Section:
    """Runs dry runs one after another on a server in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "grown.duckdb"
        make_people(database)
        started = time.monotonic()
        with served(database) as server, server.connect() as client:
            asked = SubmitDryRunRequest(policy=_policy(0, infeasible=False))
            memory: list[int] = []
            for until in (warm, jobs):
                for _ in range(until - (warm if memory else 0)):
                    assert _ended(client, client.submit_analysis(asked).name).result
                memory.append(_Process.of(server.pid).memory)
        elapsed = time.monotonic() - started
    grown = memory[1] - memory[0]
    return Section(
        GROWTH_TITLE,
        (
            f"{jobs:,} dry runs of {PEOPLE} people, one after another, in {seconds(elapsed)} s: from "
            f"{memory[0] / 2**20:.1f} MiB after {warm:,} to {memory[1] / 2**20:.1f} MiB after {jobs:,}, "
            f"{grown / 2**20:+.1f} MiB (goal: at most {GROWTH_GOAL // 2**20}): {verdict(grown <= GROWTH_GOAL)}.",
        ),
        sound=grown <= GROWTH_GOAL,
    )


def _clients(server: Served, numbers: range, clients: int) -> None:
    """Each client takes its part of the jobs, one after another."""
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda client: _work(server, numbers[client::clients]), range(clients)))


def _work(server: Served, numbers: range) -> None:
    for number in numbers:
        behaviour = random.Random(number).choice(BEHAVIOURS)
        with server.connect() as client:
            policy = _policy(number, infeasible=behaviour == "infeasible")
            job = _submitted(client, policy, str(number))
            match behaviour:
                case "vanish":
                    # The channel is closed under the stream.
                    next(client.watch_job(job))
                case "cancel":
                    client.cancel_job(job)
                case "ask again":
                    assert client.submit(policy, request_id=str(number)).name == job
                    _ended(client, job)
                case "resubmit" | "infeasible":
                    ended = _ended(client, job)
                    # An existing release blocks a repeated one.
                    if ended.state != job_service_pb2.JOB_STATE_SUCCEEDED:
                        _ended(client, client.resubmit_job(job).name)
                case _:
                    _ended(client, job)


def _ended(client: Client, job: str) -> job_service_pb2.Job:
    """The job once it has ended, in any state."""
    return list(client.watch_job(job))[-1]


def _submitted(client: Client, policy: policy_pb2.Policy, request_id: str) -> str:
    while True:
        try:
            return client.submit(policy, request_id=request_id).name
        except BusyError:
            time.sleep(0.1)


def _policy(number: int, *, infeasible: bool) -> policy_pb2.Policy:
    policy = small_policy(number)
    if number % 3 == 0:
        policy.release.kind = policy_pb2.RELEASE_KIND_VIEW
    if infeasible:
        policy.privacy_models[0].k_anonymity.k = PEOPLE + 1
        policy.suppression_limit = "0"
    return policy


def _clean(server: Served, states: dict[str, str]) -> None:
    """Withdraws all releases and deletes all other jobs, once they have ended; `states` has the final state of each."""
    with server.connect() as client:
        for listed in list(client.list_jobs()):
            if listed.name in states:
                continue
            job = _ended(client, listed.name)
            states[job.name] = job_service_pb2.JobState.Name(job.state).removeprefix("JOB_STATE_").lower()
            if job.result:
                client.withdraw_release(job.result, "a soak")
            else:
                client.delete_job(job.name)


def _left(database: Path) -> Iterator[str]:
    """The things that should not be in the file any more."""
    with duckdb.connect(database, read_only=True) as connection:
        strange = connection.sql(
            "SELECT schema_name || '.' || table_name FROM duckdb_tables() "
            "WHERE (schema_name != 'tableveil' AND table_name != 'people') OR starts_with(table_name, 'snapshot_') "
            "UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name <> 'tableveil'"
        ).fetchall()
        yield from (f"object {name}" for (name,) in strange)
        for name, column in (("job_events", "job"), ("job_outcomes", "job"), ("releases", "job")):
            query = f"SELECT count(*) FROM tableveil.{name} ANTI JOIN tableveil.jobs j ON {column} = j.number"
            ((count,),) = connection.sql(query).fetchall()
            if count:
                yield f"{count} rows of {name} without a job"
        ((unfinished,),) = connection.sql(
            "SELECT count(*) FROM tableveil.jobs j ANTI JOIN tableveil.job_outcomes o ON j.number = o.job"
        ).fetchall()
        if unfinished:
            yield f"{unfinished} jobs without an outcome"
