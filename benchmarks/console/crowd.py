"""Visitors who read and click at once, while jobs run one after another."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.console.house import job_policy
from benchmarks.console.visitor import TooBusy, Visitor, framed
from tableveil import wording
from tableveil.client import Client
from tableveil.document import read_policy
from tableveil.v1 import dry_run_service_pb2, job_service_pb2

READING, HURRYING = 7.0, 2.0
"""Mean seconds between two pages of a visitor: TPC-W's for people at a browser, and those of people who hardly read."""

MOST_THINKING = 10
"""The longest pause, in means: TPC-W's."""

_SEARCH_SECONDS = 8


@dataclass
class JobsBeside:
    """Dry runs of a large table, one after another; `path` is the page of the one that runs, if one does."""

    path: str = ""
    ended: Counter[str] = field(default_factory=Counter)
    running_seconds: float = 0.0


@dataclass(frozen=True)
class Visits:
    """The seconds of each answer by its path, and the pages that the service had no time for."""

    taken: dict[str, list[float]]
    refused: Counter[str]


@contextmanager
def jobs_beside(service: str, token_file: Path) -> Iterator[JobsBeside]:
    """While the block runs, a job does."""
    policy, faults = read_policy(job_policy(_SEARCH_SECONDS), "yaml")
    assert not faults
    beside, left = JobsBeside(), threading.Event()
    with Client(service, token_file=token_file) as client:

        def work() -> None:
            while not left.is_set():
                job = client.submit_analysis(dry_run_service_pb2.SubmitDryRunRequest(policy=policy))
                began, beside.path = time.monotonic(), f"/{job.name}"
                state = job.state
                for change in client.watch_job(job.name):
                    state = change.state
                    if left.is_set():
                        client.cancel_job(job.name)
                        break
                if not left.is_set():
                    beside.ended[wording.enum_word(job_service_pb2.JobState.Name(state), "JOB_STATE_")] += 1
                beside.running_seconds += time.monotonic() - began

        worker = threading.Thread(target=work)
        worker.start()
        try:
            while not beside.path:
                time.sleep(0.1)
            yield beside
        finally:
            left.set()
            worker.join()


def visit_together(
    visitors: Sequence[tuple[Visitor, Sequence[str]]], owners: int, beside: JobsBeside, seconds: float, thinking: float
) -> Visits:
    """The answers to visitors with the pages of each; the first `owners` of them also look at the job that runs.

    Between two pages they think for so many seconds on average, by an exponential distribution.
    """
    taken: defaultdict[str, list[float]] = defaultdict(list)
    refused: Counter[str] = Counter()
    until = time.monotonic() + seconds

    def visit(number: int) -> None:
        drawn, (visitor, paths) = random.Random(number), visitors[number]
        time.sleep(drawn.uniform(0, min(thinking, seconds)))
        while True:
            path = drawn.choice((*paths, "job") if number < owners else paths)
            pause = min(drawn.expovariate(1 / thinking), MOST_THINKING * thinking)
            own, known = (beside.path, "/jobs/…, live") if path == "job" else (path, path)
            try:
                took, page = visitor.get(own)
                taken[known].append(took)
                for part in framed(page):
                    taken[part].append(visitor.get(part)[0])
            except TooBusy:
                refused[known] += 1
            if time.monotonic() + pause > until:
                return
            if path == "job":
                visitor.follow(own.removeprefix("/"), pause)
            else:
                time.sleep(pause)

    threads = [threading.Thread(target=visit, args=[number]) for number in range(len(visitors))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Visits(dict(taken), refused)
