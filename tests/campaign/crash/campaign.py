"""Kills a server at random points of random work, fills its disk, interrupts it: nothing is lost or half-written."""

import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import duckdb

from tableveil.client import Client
from tableveil.errors import NotFoundError
from tableveil.v1 import job_service_pb2, policy_pb2
from tests.campaign.crash.work import Promised, work
from tests.e2e import samples
from tests.e2e.ledger import check_whole, digest
from tests.e2e.process import ServerProcess, durable
from tests.small_disk import fill, small_disk

CLIENTS = 3
KILLS_PER_DATABASE = 20
"""A database's contents grow with the kills, and so does the time to check it."""

ENOUGH_MEMORY = "1GB"
MEMORY = ("40MB", "100MB", ENOUGH_MEMORY)
DISK = 200
"""Megabytes of the disk that is filled."""

ENDINGS = ("kill",) * 8 + ("terminate", "interrupt", "fill")

WITHOUT_ROOM = (
    *("DISK_FULL", "OUT_OF_MEMORY", "DATABASE_INVALIDATED", "start the server again"),
    "the audit cannot be written: No space left on device",
)
"""The ends of logged errors without room: a job's end cannot be stored, and the next start calls it interrupted."""

SECONDS_TO_BEGIN = 10.0
SECONDS_OF_WORK = 2.5
MOST_SECONDS_TO_STOP = 20.0

PEOPLE = samples.PEOPLE.replace(f"range({samples.ROWS})", "range(4000)")


@dataclass(slots=True)
class Report:
    """The number of ends of the server by kind, the promises made by then, and the broken ones."""

    endings: Counter[str] = field(default_factory=Counter)
    promised: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.endings['kill']} kills, {len(self.broken)} broken promises"
        yield "ended by: " + ", ".join(f"{ending} {number}" for ending, number in self.endings.items())
        yield "promised: " + ", ".join(f"{what} {number}" for what, number in self.promised.items())
        yield "jobs afterwards: " + ", ".join(f"{state} {number}" for state, number in self.found.items())
        yield from self.broken


def crash(seed: int, seconds: float, kills: int) -> Report:
    """Kills the server so often, or until the time is over; the seed and its number determine each database."""
    report, until = Report(), time.monotonic() + seconds
    while report.endings["kill"] < kills and time.monotonic() < until:
        enough = min(kills, report.endings["kill"] + KILLS_PER_DATABASE)
        with tempfile.TemporaryDirectory() as directory, small_disk(Path(directory), DISK) as disk:
            crashed = _Crashed(disk / "crashed.duckdb", Random(seed), report)
            while report.endings["kill"] < enough and time.monotonic() < until:
                crashed.round()
                if report.broken:
                    report.broken = [f"seed {seed}: {problem}" for problem in report.broken]
                    return report
            crashed.check()
        seed += 1
    return report


class _Crashed:
    """A database, and the promises about it."""

    def __init__(self, path: Path, random: Random, report: Report) -> None:
        samples.create(path, people=PEOPLE)
        with duckdb.connect(path) as connection:
            connection.execute("CREATE SCHEMA loaded")
            self._source = digest(connection, "people")
        self._path, self._random, self._report = path, random, report
        self._promised = Promised()

    def round(self) -> None:
        """Some work, and a violent end of it."""
        ending = self._random.choice(ENDINGS)
        with self._serving(self._random.choice(MEMORY)) as server:
            self._work(server, ending)
        self._report.endings[ending] += 1
        self.check()

    @contextmanager
    def _serving(self, memory: str) -> Iterator[ServerProcess]:
        server = ServerProcess(self._path, "--memory-limit", memory, "--queue-limit", "10")
        try:
            yield server
        finally:
            if server.process.running:
                server.kill()

    def _work(self, server: ServerProcess, ending: str) -> None:
        over = threading.Event()
        with ExitStack() as stack:
            threads = []
            for _ in range(CLIENTS):
                client = stack.enter_context(Client(server.address))
                arguments = (client, Random(self._random.getrandbits(60)), self._promised, over.is_set)
                threads.append(threading.Thread(target=work, args=arguments))
            for thread in threads:
                thread.start()
            self._wait_for_work()
            time.sleep(self._random.uniform(0, SECONDS_OF_WORK))
            if ending == "fill":
                filler = fill(self._path.parent, self._random.choice([0, 2**13, 2**20]))
                time.sleep(1.0)
                filler.unlink()
            over.set()
            self._end(server, ending)
            for thread in threads:
                thread.join()
        self._report.broken += self._promised.broken

    def _wait_for_work(self) -> None:
        """Before anything was accepted there is nothing to lose."""
        until = time.monotonic() + SECONDS_TO_BEGIN
        while not self._promised.jobs and time.monotonic() < until:
            time.sleep(0.01)

    def _end(self, server: ServerProcess, ending: str) -> None:
        if ending == "kill":
            server.kill()
            return
        started = time.monotonic()
        server.process.send_signal(signal.SIGINT if ending == "interrupt" else signal.SIGTERM)
        code, elapsed = server.ended(), time.monotonic() - started
        # A checkpoint that finds no room fails the database: the server ends by itself, to be started again.
        if code > (ending == "fill") or elapsed > MOST_SECONDS_TO_STOP:
            self._report.broken.append(f"{ending}: exit code {code} after {elapsed:.0f} s")

    def check(self) -> None:
        """Starts the server once more, and looks for everything that was promised, and for anything half-written."""
        with self._serving(ENOUGH_MEMORY) as server:
            if list(server.spill_directory.iterdir()):
                self._report.broken.append("raw data is left in the spill directory")
            with Client(server.address) as client:
                self._check_promises(client)
            server.terminate()
        errors = [line for line in server.log_file.read_text().splitlines() if " ERROR " in line]
        self._report.broken += [line for line in errors if not line.endswith(WITHOUT_ROOM)]
        with durable(self._path) as connection:
            try:
                check_whole(connection, {"people"})
                assert digest(connection, "people") == self._source
                self._check_loads(connection)
            except AssertionError as error:
                self._report.broken.append(f"the database is not whole: {error!r}")

    def _check_promises(self, client: Client) -> None:
        promised, broken = self._promised, self._report.broken
        for name, release in promised.jobs.items():
            try:
                job = client.get_job(name)
            except NotFoundError:
                broken.append(f"{name} was accepted and is lost")
                continue
            state = job_service_pb2.JobState.Name(job.state).removeprefix("JOB_STATE_").lower()
            self._report.found[state] += 1
            if state in ("queued", "running") or (release and job.result != release):
                broken.append(f"{name} is {state} with release {job.result!r}, was promised {release!r}")
            # From now on it must stay unchanged.
            promised.jobs[name] = job.result
        self._report.promised["jobs"] += len(promised.jobs)
        promised.jobs.clear()
        for (name, version), number in promised.hierarchies.items():
            rows = sum(1 for _ in client.read_hierarchy(policy_pb2.StoredHierarchy(name=name, version=version)))
            if rows != number:
                broken.append(f"{name}@{version} has {rows} of {number} rows")
        self._report.promised["hierarchies"] += len(promised.hierarchies)
        promised.hierarchies.clear()

    def _check_loads(self, connection: duckdb.DuckDBPyConnection) -> None:
        tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'loaded'").fetchall()
        there = {name for (name,) in tables}
        assert set(self._promised.loads) <= there <= self._promised.asked_loads, "loads"
        listed = connection.execute("SELECT table_name, row_count FROM tableveil.loads").fetchall()
        assert dict(listed).keys() == there, "the ledger of loads"
        for name, number in listed:
            assert connection.execute(f"SELECT count(*) FROM loaded.{name}").fetchall() == [(number,)], name
        self._report.promised["loads"] += len(self._promised.loads)
        self._promised.loads.clear()
