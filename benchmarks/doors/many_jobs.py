"""Section: many clients of few principals submit jobs, and none of them waits for another's thousand."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.doors.guarded import Guarded, guarded, small_policy
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.client import Client
from tableveil.errors import BusyError
from tableveil.v1 import access_pb2, job_service_pb2

TITLE = "Jobs of several principals"
JOBS = 1_000
CLIENTS = 64
PRINCIPALS = 4
CONCURRENT_JOBS = 2


def many_jobs(jobs: int = JOBS, clients: int = CLIENTS) -> Section:
    """The first principal submits a half of its jobs before the others begin."""
    names = [f"principal-{number}" for number in range(PRINCIPALS)]
    options = ("--concurrent-jobs", str(CONCURRENT_JOBS), "--queued-per-principal", str(jobs))
    with guarded(*options) as server, server.connect() as admin:
        tokens = [admin.create_token(name, "benchmark", [access_pb2.ACCESS_ROLE_STEWARD]).secret for name in names]
        own = [range(jobs)[first::PRINCIPALS] for first in range(PRINCIPALS)]
        started = time.monotonic()
        early, late = own[0][::2], own[0][1::2]
        each = clients // PRINCIPALS
        submitted = [_submit(server, tokens[0], early, each), [], [], []]
        with ThreadPoolExecutor(PRINCIPALS) as pool:
            rest = pool.map(_submit, [server] * PRINCIPALS, tokens, [late, *own[1:]], [each] * PRINCIPALS)
            submitted = [[*before, *after] for before, after in zip(submitted, rest, strict=True)]
        expected = {name for found in submitted for name in found}
        with server.connect() as client:
            ended = _ended(client, expected)
        elapsed = time.monotonic() - started
        recorded = {entry.job for entry in admin.list_audit_entries(method="SubmitJob", code="OK") if entry.job}
    overtaken = {name: _started_meanwhile(ended, submitted, number) for number, name in enumerate(names)}
    states = Counter(job_service_pb2.JobState.Name(job.state).removeprefix("JOB_STATE_").lower() for job in ended)
    whole = len(expected) == jobs == len(ended) and recorded == expected
    fair = max(overtaken.values()) <= CONCURRENT_JOBS
    return Section(
        TITLE,
        (
            f"{jobs:,} small releases of {clients} clients and {PRINCIPALS} principals in {elapsed:.0f} s. "
            f"{names[0]} has {len(early)} jobs there before the others come.",
            table(("how jobs ended", "number"), [[state, f"{count:,}"] for state, count in sorted(states.items())]),
            f"Each job is accounted for, in the list of jobs and in the audit: {verdict(whole)}.",
            table(
                ("principal", "later jobs of others that started before its first"),
                [[name, str(count)] for name, count in overtaken.items()],
            ),
            f"A first job waits at most for the {CONCURRENT_JOBS} that run: {verdict(fair)}.",
        ),
        sound=whole,
    )


def _submit(server: Guarded, token: str, numbers: Sequence[int], clients: int) -> list[str]:
    """Submits a job for each number by so many clients at once, and returns their names."""

    def submit(which: int) -> list[str]:
        with server.connect(token) as client:
            return [_submitted(client, number) for number in numbers[which::clients]]

    with ThreadPoolExecutor(clients) as pool:
        return [name for names in pool.map(submit, range(clients)) for name in names]


def _submitted(client: Client, number: int) -> str:
    while True:
        try:
            return client.submit(small_policy(number)).name
        except BusyError as busy:
            time.sleep(busy.retry_seconds)


def _ended(client: Client, names: set[str]) -> list[job_service_pb2.Job]:
    """The jobs once all have ended."""
    for name in names:
        for _ in client.watch_job(name):
            pass
    return [job for job in client.list_jobs() if job.name in names]


def _started_meanwhile(jobs: Sequence[job_service_pb2.Job], submitted: Sequence[Sequence[str]], principal: int) -> int:
    """How many jobs of others, which were not their first, started while a principal's first job waited."""
    own = set(submitted[principal])
    first = min((job for job in jobs if job.name in own), key=lambda job: job.submit_time.ToNanoseconds())
    begin, end = first.submit_time.ToNanoseconds(), first.start_time.ToNanoseconds()
    count = 0
    for other, names in enumerate(submitted):
        if other != principal:
            starts = sorted(job.start_time.ToNanoseconds() for job in jobs if job.name in set(names))
            count += sum(begin < start < end for start in starts[1:])
    return count
