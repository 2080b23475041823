"""Calls every method of a real server with messages that nobody would send, through a real channel."""

import json
import os
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import duckdb
import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil.backend import trial
from tableveil.client import Client
from tableveil.client.failures import failure_in
from tableveil.client.token import with_token
from tableveil.document import read_policy
from tableveil.errors import TableveilError
from tableveil.server.services import DESCRIPTORS
from tableveil.v1 import faults_pb2, job_service_pb2, policy_pb2
from tests.campaign.attacker.cases import case
from tests.campaign.crash.work import after
from tests.campaign.fuzz.fixtures import STATEMENTS, furnish, ghost, level, told
from tests.campaign.fuzz.messages import random_message
from tests.campaign.served import Served, serving

CLIENTS = 4
SEEDS = 40
SECONDS_OF_A_CALL = 60.0 + 2 * trial.MOST_SECONDS
"""No call may be unanswered after this time, on a busy machine, too: alone, all end within a few seconds.

The server itself lets a query wait for its trial, and the trial last, so long each.
"""
SECONDS_ALONE = 5.0
"""A call that takes longer, on a busy machine its load times as long, is made again: twice above is a finding."""

MOST_MEMORY = 1_500 * 2**20
MOST_GROWTH = 200 * 2**20
"""The most growth in bytes after the first third of the calls, if that is enough of them to fill what is kept."""
CALLS_UNTIL_FLAT = 3_000

DEFECTS = (
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.DATA_LOSS,
)

TIMELY = ("RESOURCE_EXHAUSTED", "UNAVAILABLE", "ABORTED", "CANCELLED")
"""Answers that depend on what other clients do."""
_MOMENT = re.compile(r"(seconds|nanos): \d+")

OFTEN = ("CheckPolicy", "SubmitJob", "SubmitFrontier", "PreviewHierarchy", "SubmitPayoutSweep", "SubmitRiskAnalysis")


@dataclass(slots=True)
class Report:
    """The ends of calls, their times, and the findings."""

    codes: Counter[str] = field(default_factory=Counter)
    seconds: list[tuple[float, str]] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    jobs: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """The number of answered calls."""
        return self.codes.total()

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.calls} calls, {len(self.broken)} broken promises"
        yield "answers: " + ", ".join(f"{code} {number}" for code, number in self.codes.most_common())
        if self.seconds:
            slowest = ", ".join(f"{seconds:.1f} s {name}" for seconds, name in sorted(self.seconds)[:-6:-1])
            yield f"median {statistics.median(s for s, _ in self.seconds) * 1000:.1f} ms; slowest {slowest}"
        yield "memory in MiB: " + ", ".join(str(bytes_ // 2**20) for bytes_ in self.memory)
        yield "jobs: " + ", ".join(f"{state} {number}" for state, number in self.jobs.most_common())
        yield from self.broken


def fuzz(seed: int, seconds: float, calls: int, cases: int = SEEDS) -> Report:
    """Makes so many calls, each computed from the seed and its number alone, or until the time is over."""
    report = Report()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "fuzzed.duckdb"
        seeds = list(_seeds(path, cases))
        limits = ("--memory-limit", "300MB", "--queue-limit", "20", "--calls-per-principal", "1000000")
        (published := Path(directory) / "published").mkdir()
        with serving(path, *limits, "--publish", f"files=directory:{published}") as server:
            with Client(server.address, token_file=server.token_file) as client:
                neighbour = furnish(client)
            until = time.monotonic() + seconds
            for third in range(3):
                numbers = range(calls * third // 3, calls * (third + 1) // 3)
                with ThreadPoolExecutor(CLIENTS) as pool:
                    fuzzers = [_Fuzzer(server, seeds, seed, report, neighbour) for _ in range(CLIENTS)]
                    parts = [numbers[client::CLIENTS] for client in range(CLIENTS)]
                    list(pool.map(lambda fuzzer, part: fuzzer.run(part, until), fuzzers, parts))
                report.memory.append(server.status("VmRSS"))
            report.memory.append(server.status("VmHWM"))
            _look_at_jobs(server, report)
            if code := server.stop():
                report.broken.append(f"the server ended with {code}")
            report.broken += server.errors()
    grown = report.memory[2] - report.memory[0] if report.calls > 3 * CALLS_UNTIL_FLAT else 0
    if report.memory[-1] > MOST_MEMORY or grown > MOST_GROWTH:
        report.broken.append("the memory has no bounds")
    return report


def _seeds(path: Path, cases: int) -> Iterator[Message]:
    """Makes a database of small tables; valid policies for these."""
    with duckdb.connect(path) as connection:
        for statement in STATEMENTS:
            connection.execute(statement)
    for number in range(cases):
        drawn = case(number, f"released_{number}")
        with duckdb.connect(path) as connection:
            schema = f"clinic_{number}" if number else "main"
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}; USE {schema}")
            for statement in drawn.statements:
                connection.execute(statement)
        policy, faults = read_policy(json.dumps(drawn.policy), "json")
        assert not faults, faults
        policy.search.time_limit_seconds = "0.5"
        for reference in _tables(policy):
            reference.schema = schema
        yield policy
        yield from (attribute.hierarchy for attribute in policy.attributes)
        yield from policy.privacy_models


def _tables(policy: policy_pb2.Policy) -> Iterator[policy_pb2.TableReference]:
    if policy.HasField("source"):
        yield policy.source
    if policy.population.HasField("table"):
        yield policy.population.table
    for attribute in policy.attributes:
        if attribute.hierarchy.HasField("table"):
            yield attribute.hierarchy.table.table


class _Fuzzer:
    """One client."""

    _noting = Lock()

    def __init__(self, server: Served, seeds: Sequence[Message], seed: int, report: Report, neighbour: str) -> None:
        self._channel = with_token(grpc.insecure_channel(server.address), lambda: server.token_file.read_text().strip())
        self._neighbour = with_token(grpc.insecure_channel(server.address), lambda: neighbour)
        self._seeds = seeds
        self._seed = seed
        self._report = report
        methods = [method for service in DESCRIPTORS for method in service.methods]
        self._methods = methods + [method for method in methods if method.name in OFTEN] * 3

    def run(self, numbers: Sequence[int], until: float) -> None:
        with self._channel, self._neighbour:
            for number in numbers:
                if time.monotonic() > until:
                    return
                self._call(Random(f"{self._seed}/{number}"), number)

    def _call(self, random: Random, number: int) -> None:
        method = random.choice(self._methods)
        kind = method.input_type
        sent = [random_message(random, kind, self._seeds) for _ in range(random.randint(1, 3))]
        self._compare(method, sent, number)
        payloads = [message.SerializeToString() for message in sent]
        for _ in range(2):
            started = time.monotonic()
            code, details, failure = answer(self._channel, method, payloads)
            elapsed = time.monotonic() - started
            if elapsed < (most := SECONDS_ALONE * max(1.0, os.getloadavg()[0])):
                break
        with self._noting:
            self._report.codes[code.name] += 1
            self._report.seconds.append((elapsed, method.name))
            if code in DEFECTS or elapsed > most:
                self._report.broken.append(
                    f"call {number}, {method.name}: {code.name} in {elapsed:.1f} s: {details} {failure}"
                )

    def _compare(self, method: MethodDescriptor, sent: list[Message], number: int) -> None:
        """The neighbour is told of what is there, by faults and in answers, what it is told of what is not."""
        answers = compared(self._neighbour, method, sent)
        if answers[0] != answers[1] and not any(code.name in TIMELY for code, _ in answers):
            with self._noting:
                self._report.broken.append(f"call {number}, {method.name} tells of others: {answers}")


def compared(
    channel: grpc.Channel, method: MethodDescriptor, sent: Sequence[Message]
) -> list[tuple[grpc.StatusCode, str]]:
    """The answers to messages and to their ghosts, as both can be told."""
    answers = [
        answer(channel, method, [message.SerializeToString() for message in asked])
        for asked in (sent, [ghost(message) for message in sent])
    ]
    level([failure for _, _, failure in answers])
    return [(code, told(_MOMENT.sub("", f"{details} {failure}"))) for code, details, failure in answers]


def answer(
    channel: grpc.Channel, method: MethodDescriptor, payloads: Sequence[bytes]
) -> tuple[grpc.StatusCode, str, faults_pb2.Failure]:
    """How a call ends, what it says, and the failure in it, which is empty if there is none."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    many = (method.client_streaming, method.server_streaming)
    maker: Any = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, False): channel.stream_unary,
        (True, True): channel.stream_stream,
    }[many]
    call = maker(path, request_serializer=None, response_deserializer=GetMessageClass(method.output_type).FromString)
    request = iter(payloads) if method.client_streaming else payloads[0]
    found: list[Message] = []
    try:
        answered = call(request, timeout=SECONDS_OF_A_CALL + 5)
        if method.server_streaming:
            for message in answered:
                found.append(message)
                if len(found) == 3:
                    answered.cancel()
                    break
        else:
            found.append(answered)
    except grpc.RpcError as error:
        return error.code(), str(error.details())[:500], failure_in(error) or faults_pb2.Failure()
    return grpc.StatusCode.OK, "".join(map(str, found)), faults_pb2.Failure()


def _look_at_jobs(server: Served, report: Report) -> None:
    """Cancels accepted jobs that have not ended, and checks the ends of the others."""
    with Client(server.address, token_file=server.token_file) as client:
        for listed in list(client.list_jobs()):
            try:
                client.cancel_job(listed.name)
                job = after(client, listed.name)
            except TableveilError as error:
                report.broken.append(f"{listed.name}: {error.code}")
                continue
            report.jobs[job_service_pb2.JobState.Name(job.state).removeprefix("JOB_STATE_").lower()] += 1
            if job.failure.kind == faults_pb2.FAILURE_KIND_INTERNAL:
                report.broken.append(f"{job.name} failed with {job.failure.code}: {job.failure.message}")
