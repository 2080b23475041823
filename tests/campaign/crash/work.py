"""The work of clients of a server that is about to be killed, and the promises they got by then."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import pyarrow as pa

from tableveil.client import Client
from tableveil.errors import TableveilError
from tableveil.v1 import job_service_pb2
from tests.e2e import samples
from tests.e2e.samples import Document

LOADED_ROWS = 20_000

EXPECTED = frozenset(
    {
        *("DISK_FULL", "AUDIT_UNAVAILABLE", "OUT_OF_MEMORY", "DATABASE_INVALIDATED", "STOPPING"),
        *("QUEUE_FULL", "TARGET_EXISTS", "TARGET_IN_USE", "REPEATED_RELEASE", "JOB_ACTIVE"),
    }
)
"""The failures that calls and jobs may have without room on the disk or in memory, and beside other clients."""


@dataclass(slots=True)
class Promised:
    """The answers that all clients got: accepted jobs, with the releases of those that succeeded, and loads.

    A job is `deleted` as soon as a client asks for that: the others may find it, or not.
    """

    jobs: dict[str, str] = field(default_factory=dict)
    loads: dict[str, int] = field(default_factory=dict)
    asked_loads: set[str] = field(default_factory=set)
    hierarchies: dict[tuple[str, int], int] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)


def work(client: Client, random: Random, promised: Promised, over: Callable[[], bool]) -> None:
    """One call after another, until the server is gone."""
    while not over():
        action = random.choices(ACTIONS, (6, 2, 1, 1, 1, 1))[0]
        try:
            action(client, random, promised)
        except TableveilError as error:
            if over():
                return
            if error.code == "UNREACHABLE":
                # It may be a moment before the other thread knows.
                time.sleep(0.05)
            elif error.code not in EXPECTED and not _deleted(error, promised):
                promised.broken.append(f"{action.__name__}: {error.code}: {error}")


def _deleted(error: TableveilError, promised: Promised) -> bool:
    """Whether it says that a job is gone that a client has deleted meanwhile."""
    return error.code == "JOB_NOT_FOUND" and error.faults[0].found in promised.deleted


def release(client: Client, random: Random, promised: Promised) -> None:
    """Asks for a release, and waits for it mostly."""
    job = client.submit(samples.message(policy(random)))
    promised.jobs[job.name] = ""
    if random.random() < 0.7:
        ended = after(client, job.name)
        if ended.state == job_service_pb2.JOB_STATE_SUCCEEDED:
            promised.jobs[job.name] = ended.result
        elif ended.failure.code not in EXPECTED | {"CANCELLED", "INTERRUPTED"}:
            promised.broken.append(f"{job.name} failed with {ended.failure.code}: {ended.failure.message}")


def after(client: Client, name: str) -> job_service_pb2.Job:
    """The job once it has ended, in any state."""
    with suppress(TableveilError):
        client.wait(name)
    return client.get_job(name)


def load(client: Client, random: Random, promised: Promised) -> None:
    """Loads a table of its own."""
    name = f"loaded_{random.getrandbits(60)}"
    rows = pa.table({"i": range(LOADED_ROWS), "text": [f"row {i % 97}" for i in range(LOADED_ROWS)]})
    promised.asked_loads.add(name)
    client.load(rows, f"loaded.{name}")
    promised.loads[name] = LOADED_ROWS


def store(client: Client, random: Random, promised: Promised) -> None:
    """Stores a hierarchy."""
    number = random.randint(10, 3_000)
    name = f"h{random.randrange(5)}"
    stored = client.create_hierarchy(name, ([str(i), str(i // 10), "*"] for i in range(number)))
    promised.hierarchies[name, stored.version] = number


def cancel(client: Client, random: Random, promised: Promised) -> None:
    """Cancels one of the latest jobs."""
    if latest := list(promised.jobs)[-5:]:
        client.cancel_job(random.choice(latest))


def delete(client: Client, random: Random, promised: Promised) -> None:
    """Deletes a job that made no release."""
    for name in list(promised.jobs)[-8:]:
        job = client.get_job(name)
        if job.state in (job_service_pb2.JOB_STATE_CANCELLED, job_service_pb2.JOB_STATE_INTERRUPTED):
            # It may be gone whether the call returns or not, and another client may be asking for the same.
            promised.deleted.add(name)
            promised.jobs.pop(name, None)
            client.delete_job(name)
            return


def look(client: Client, random: Random, promised: Promised) -> None:
    """Reads all lists."""
    list(client.list_jobs())
    list(client.list_releases())


ACTIONS: tuple[Callable[[Client, Random, Promised], None], ...] = (release, load, store, cancel, delete, look)


def policy(random: Random) -> Document:
    """A release as a table or a view, at a new place or in place of an earlier one."""
    target: Document = {"kind": random.choice(["TABLE", "VIEW"]), "name": f"new_{random.getrandbits(60)}"}
    if random.random() < 0.4:
        target |= {"name": f"standing_{target['kind'].lower()}", "if_exists": "REPLACE"}
    k = random.choice([2, 4, 9])
    return samples.policy(release=target, repeat_reason="a campaign", privacy_models=[{"k_anonymity": {"k": k}}])
