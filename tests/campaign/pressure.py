"""Half-sent, oversized, malformed and abandoned calls of strangers and a token's holder, beside a known caller."""

import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from random import Random

import numpy as np

from tableveil.client import Client
from tableveil.server.call import declared
from tableveil.server.services import DESCRIPTORS
from tests.campaign.served import Served, serving
from tests.http2 import LARGEST_FRAME, Connection, Kind, frame

CONNECTIONS = 20
LARGEST = 16 * 2**20
MOST_MEMORY = 2**30
MOST_SECONDS = 1.0
CALLS_PER_SECOND = 400
"""Faster, they are a flood: the server refuses some 1,500 a second on two cores, and the others wait for their turn."""

CALLS_FOR_TIMES = 20_000
"""Fewer calls say nothing of how long a known caller waits."""

KINDS = ("half-sent", "oversized", "malformed", "abandoned")
METHODS = (*declared(DESCRIPTORS), "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch", "/no.Such/Method")


@dataclass(slots=True)
class Report:
    """The calls by kind, the seconds of the known caller's calls, the memory, and the findings."""

    kinds: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    memory: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """The number of hostile calls."""
        return self.kinds.total()

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield ", ".join(f"{number} {kind}" for kind, number in self.kinds.most_common())
        if self.seconds:
            half, most = np.quantile(self.seconds, (0.5, 0.99)) * 1000
            yield f"{len(self.seconds):,} calls of a known caller: median {half:.1f} ms, p99 {most:.0f} ms"
        yield f"most memory {self.memory // 2**20} MiB"
        yield from self.broken


def press(seed: int, seconds: float, calls: int) -> Report:
    """Makes so many calls, drawn from the seed, or until the time is over."""
    report, random = Report(), Random(seed)
    with tempfile.TemporaryDirectory() as directory, serving(Path(directory) / "pressed.duckdb") as server:
        with Client(server.address, token_file=server.token_file) as client:
            hostile = client.create_token("hostile", "pressure").secret
        with asking(server, server.token_file) as (report.seconds, failures):
            _press(server, random, hostile, report, time.monotonic() + seconds, calls)
        report.memory = server.status("VmHWM")
        report.broken += [*failures[:5], *server.errors()]
        if code := server.stop():
            report.broken.append(f"the server ended with {code}")
    if report.memory > MOST_MEMORY:
        report.broken.append("the memory has no bounds")
    if report.calls >= CALLS_FOR_TIMES and np.quantile(report.seconds, 0.99) > MOST_SECONDS:
        report.broken.append("a known caller waits")
    return report


@contextmanager
def asking(server: Served, token_file: Path) -> Iterator[tuple[list[float], list[str]]]:
    """A caller who asks for jobs all the time while the block runs, in a process of its own.

    The seconds of each call, and the failures, are in the lists when the block has ended.
    """
    seconds: list[float] = []
    failures: list[str] = []
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_ask, args=(server.address, token_file, theirs))
    process.start()
    ours.recv()
    try:
        yield seconds, failures
    finally:
        ours.send("stop")
        for found, of_process in zip((seconds, failures), ours.recv(), strict=True):
            found += of_process
        process.join()


def _press(server: Served, random: Random, hostile: str, report: Report, until: float, calls: int) -> None:
    connections: list[Connection] = []
    began = time.monotonic()
    try:
        while report.calls < calls and time.monotonic() < until:
            time.sleep(max(0.0, began + report.calls / CALLS_PER_SECOND - time.monotonic()))
            for connection in [each for each in connections if each.closed]:
                connection.socket.close()
                connections.remove(connection)
            while len(connections) < CONNECTIONS:
                connections.append(Connection(server.address, random.choice((None, None, "tvl_no", hostile))))
            connection = random.choice(connections)
            kind = random.choice(KINDS)
            _call(connection, random, kind)
            report.kinds[kind] += 1
            if not report.calls % 20:
                for each in connections:
                    each.pump()
            if not report.calls % 500:
                random.choice(connections).abandon()
    finally:
        for connection in connections:
            connection.socket.close()


def _call(connection: Connection, random: Random, kind: str) -> None:
    method = random.choice(METHODS)
    match kind:
        case "half-sent":
            connection.call(method, random.choice((1000, 2**16, 2**20, LARGEST)))
        case "oversized":
            connection.call(method, random.choice((LARGEST + 1, 2**28, 2**32 - 1)), most=2**20)
        case "abandoned":
            stream = connection.call(method, LARGEST)
            connection.pump()
            connection.reset(stream)
        case _:
            size = random.randrange(1, 100)
            stream = connection.call(method, size, most=0, head=random.choice(({}, {"grpc-encoding": "gzip"})))
            connection.send_data(stream, random.randbytes(size), ends=True)
            if not random.randrange(50):
                kind_of_frame = random.choice((*Kind, 0xEE))
                garbage = random.randbytes(random.randrange(LARGEST_FRAME))
                with suppress(OSError):
                    connection.socket.send(frame(kind_of_frame, random.randrange(256), stream, garbage))


def _ask(address: str, token_file: Path, orders: Pipe) -> None:
    """Asks for jobs until it is told to stop, in a process of its own; then sends the seconds, and the failures."""
    seconds: list[float] = []
    failures: list[str] = []
    with Client(address, token_file=token_file) as client:
        client.wait_until_ready(60)
        orders.send("ready")
        while not orders.poll():
            before = time.monotonic()
            try:
                list(client.list_jobs())
            except Exception as error:  # whatever it is, it is a finding
                failures.append(f"a known caller's call failed: {error}")
            seconds.append(time.monotonic() - before)
            time.sleep(0.01)
    orders.send((seconds, failures))
