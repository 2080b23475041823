"""Two servers that differ in one value of ward_b, and the calls by which the steward of ward_a could learn of it.

The releases of ward_b are made before the first call, so that the ledgers of both differ, too.
"""

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any

import duckdb
import grpc
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.state import matches
from tableveil.v1 import job_service_pb2
from tests.service.access import test_hidden
from tests.service.access.house import (
    ADMIN,
    Fields,
    House,
    message,
    policy,
    prepare,
    proposal,
    served,
    submitted,
    table,
    untried,
)

GUESSED = range(3, 7)
"""How many known people are beside a guess in the tables of the steward: the ledger knows four and one again."""

TARGET = 100
"""The `id` of the person who is in the ward of one server alone."""

READER, READ = "pat", Scope("ward_b", "released")
"""Another steward of ward_a, and what the steward reads of ward_b: its rows are equal on both servers."""

_PEOPLE = (
    "SELECT 100 + 7 * i AS id, 20 + i % 5 AS age, i % 3 AS ward, 'illness ' || i % 7 AS illness FROM range(60) r(i)"
)
_TABLES = (
    f"CREATE TABLE ward_b.people AS {_PEOPLE}",
    "CREATE TABLE ward_a.people AS FROM ward_b.people",
    "CREATE TABLE ward_a.half AS FROM ward_b.people WHERE id < 300",
    *(f"CREATE TABLE ward_a.guess_{n} AS FROM ward_b.people ORDER BY id LIMIT {n + 1}" for n in GUESSED),
    f"CREATE TABLE ward_a.alone AS SELECT * REPLACE (if(id = {TARGET}, id, -id) AS id) FROM ward_b.people LIMIT 30",
)
"""One of those who are `alone` may be in the ward; the others are strangers."""

_OTHER = f"UPDATE ward_b.people SET id = 5000 WHERE id = {TARGET}"

OWN = 4
"""The number of the steward's first release."""

SHELF = "shelf"
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A call."""

    who: str
    method: str
    fields: Fields


@contextmanager
def twins(place: Path, *, differ: bool, whole: bool = True) -> Iterator[tuple[House, House]]:
    """Two servers, which `differ` in one value or in nothing; unless they are `whole`, with releases alone."""
    first, second = place / "first", place / "second"
    first.mkdir(parents=True)
    prepare(first)
    with duckdb.connect(first / "clinic.duckdb") as connection:
        for statement in _TABLES:
            connection.execute(statement)
    shutil.copytree(first, second)
    if differ:
        with duckdb.connect(second / "clinic.duckdb") as connection:
            connection.execute(_OTHER)
    with ExitStack() as stack:
        houses = []
        for one in (first, second):
            (one / SHELF).mkdir()
            houses.append(stack.enter_context(served(one, publish=(f"{SHELF}=directory:{one / SHELF}",))))
            for role, scope in ((AccessRole.STEWARD, Scope("ward_a")), (AccessRole.ANALYST, READ)):
                houses[-1].access.add(ADMIN, WantedGrant(READER, False, role, scope))
            _release(houses[-1])
            if whole:
                _analyse(houses[-1])
        yield houses[0], houses[1]


def of_people(schema: str, source: str, name: str = "released", **changes: Any) -> Fields:
    """A policy for people who are known by their `id`."""
    document = policy(schema, name, **{"source": table(schema, source), "repeat_reason": "", **changes})
    document["attributes"][-1]["column"] = "id"
    document["suppression_limit"] = "1"
    del document["rows_are_people"]
    target = {"schema": schema, "name": name, **changes.get("release", {})}
    return {**document, "person_column": "id", "release": target}


def _release(house: House) -> None:
    """The other ward's releases, one of which is published."""
    released = of_people("ward_b", "people", release={"publish": [SHELF]})
    submitted(house, "bob", "JobService/SubmitJob", policy=released)
    submitted(house, "bob", "JobService/SubmitJob", policy=policy("ward_b", "of_patients"))
    query = "SELECT a.* FROM ward_a.people a JOIN ward_b.people b USING (id)"
    joined = of_people("ward_b", "", "joined", source_query=query, repeat_reason="a test")
    job = submitted(house, "admin", "JobService/SubmitJob", policy=joined)
    assert job.result == f"releases/{OWN - 1}", job.failure


def _analyse(house: House) -> None:
    """An outcome of nearly each other kind."""
    submitted(house, "bob", "DryRunService/SubmitDryRun", policy=policy("ward_b", "other"))
    grid = {"policy": policy("ward_b"), "k": [3], "suppression_limits": ["0.5"]}
    submitted(house, "bob", "FrontierService/SubmitFrontier", **grid)
    risk = {"table": table("ward_b"), "quasi_identifiers": ["age", "ward"], "records": True}
    submitted(house, "bob", "RiskService/SubmitRiskAnalysis", risk=risk)
    submitted(house, "bob", "ProposalService/SubmitProposal", proposal=untried("ward_b"))
    submitted(house, "bob", "UtilityService/SubmitUtilityReport", utility={"release": "releases/1"})
    house.clients["bob"].create_hierarchy("ward_b/zips", [("0", "*"), ("1", "*")])


def first_calls() -> Iterator[Asked]:
    """The calls about people of the other ward; the later ones name what those before made."""
    judged: Fields = {"release": {"left_behind": "LEFT_BEHIND_REQUIRE"}}
    listed: Fields = {"release": {"left_behind": "LEFT_BEHIND_REPORT", "together_with": ["releases/1"]}}
    published: Fields = {"release": {"publish": [SHELF]}}
    # Later a release of ann's may be at the target, or about to be.
    yield Asked("ann", "ReleaseService/ListTargets", {})
    for source in ("people", "half", *(f"guess_{n}" for n in GUESSED)):
        yield Asked("ann", "JobService/CheckPolicy", {"policy": of_people("ward_a", source)})
    for changes in (judged, listed, published):
        yield Asked("ann", "JobService/CheckPolicy", {"policy": of_people("ward_a", "people", **changes)})
    yield Asked("ann", "DryRunService/SubmitDryRun", {"policy": of_people("ward_a", "half", **judged)})
    yield Asked("ann", "ProposalService/SubmitProposal", {"proposal": proposal("ward_a", "half")})
    yield Asked("ann", "JobService/SubmitJob", {"policy": of_people("ward_a", "half", "halved", **listed)})
    yield Asked("ann", "JobService/SubmitJob", {"policy": of_people("ward_a", "half", "halved", **published)})
    for number in range(1, OWN + 2):
        release = f"releases/{number}"
        yield Asked("ann", "ReleaseService/GetJointClasses", {"releases": [f"releases/{OWN}", release]})
        for who in ("ann", "eve"):
            yield Asked(who, "ReleaseService/GetRelease", {"name": release})
            yield Asked(who, "ReportService/GetReport", {"name": release})
        yield Asked("ann", "ReleaseService/PublishRelease", {"name": release, "target": "elsewhere"})
        yield Asked("ann", "DryRunService/GetDryRun", {"name": f"dryRuns/{number}"})
        yield Asked("ann", "JobService/WatchJob", {"name": f"jobs/{number}"})
    for service, name in (
        *(("ReleaseService", "ListReleases"), ("JobService", "ListJobs"), ("TableService", "ListTables")),
        *(("TableService", "ListLoads"), ("HierarchyService", "ListHierarchies"), ("DryRunService", "ListDryRuns")),
        *(("FrontierService", "ListFrontiers"), ("RiskService", "ListRiskAnalyses"), ("AdminService", "GetServerInfo")),
        *(("UtilityService", "ListUtilityReports"), ("PayoutService", "ListPayoutSweeps")),
        *(("ClassificationService", "ListClassifications"), ("ProposalService", "ListProposals")),
    ):
        for who in ("ann", "eve"):
            yield Asked(who, f"{service}/{name}", {})
    yield from _reads()
    yield _erased("people")


def few_calls() -> Iterator[Asked]:
    """The cheapest calls of each kind that tell of people: checks, a release, what is read of it, and lists."""
    listed: Fields = {"release": {"left_behind": "LEFT_BEHIND_REPORT", "together_with": ["releases/1"]}}
    for source in ("people", f"guess_{GUESSED[0]}", f"guess_{GUESSED[1]}"):
        yield Asked("ann", "JobService/CheckPolicy", {"policy": of_people("ward_a", source)})
    yield Asked("ann", "JobService/SubmitJob", {"policy": of_people("ward_a", "half", "halved", **listed)})
    for number in (1, OWN - 1, OWN):
        release = f"releases/{number}"
        yield Asked("ann", "ReleaseService/GetJointClasses", {"releases": [f"releases/{OWN}", release]})
        yield Asked("ann", "ReleaseService/GetRelease", {"name": release})
        yield Asked("ann", "ReportService/GetReport", {"name": release})
    for name in ("ReleaseService/ListReleases", "JobService/ListJobs", "TableService/ListTables"):
        yield Asked("ann", name, {})
    yield Asked(READER, "JobService/CheckPolicy", {"policy": of_people("ward_a", "alone")})
    yield Asked(READER, "ReleaseService/GetRelease", {"name": "releases/1"})
    yield _erased("people")


def _reads() -> Iterator[Asked]:
    """The calls of a steward who is also a reader: what is public of a release tells nothing of its source."""
    for source in ("alone", *(f"guess_{n}" for n in GUESSED)):
        yield Asked(READER, "JobService/CheckPolicy", {"policy": of_people("ward_a", source)})
    yield Asked(
        READER, "JobService/SubmitJob", {"policy": of_people("ward_a", "alone", "of_some", repeat_reason="a test")}
    )
    for number in (1, OWN, OWN + 1):
        for method in ("ReleaseService/GetRelease", "ReportService/GetReport"):
            yield Asked(READER, method, {"name": f"releases/{number}"})
        together = {"releases": [f"releases/{OWN + 1}", f"releases/{number}"]}
        yield Asked(READER, "ReleaseService/GetJointClasses", together)
    yield Asked(READER, "ReleaseService/ListReleases", {})


def _erased(name: str) -> Asked:
    erased = {"table": table("ward_a", name), "person_column": "id", "persons": [str(TARGET)]}
    return Asked("ann", "TableService/ErasePersons", erased)


def more_calls() -> Iterator[Asked]:
    """The calls that name anything of the other ward, and many releases: made after the others."""
    for n in GUESSED:
        reported: Fields = {"release": {"left_behind": "LEFT_BEHIND_REPORT"}}
        for changes in ({}, reported, {"repeat_reason": "a test"}):
            guess = of_people("ward_a", f"guess_{n}", f"guess{n}", **changes)
            yield Asked("ann", "JobService/SubmitJob", {"policy": guess})
    for method, fields in (*test_hidden.asked(test_hidden.REAL).values(), *test_hidden.by_number(1).values()):
        yield Asked("ann", method, fields)
    for number in range(OWN + 2, OWN + 2 + len(GUESSED)):
        yield Asked("ann", "ReleaseService/GetRelease", {"name": f"releases/{number}"})
    for statement in ("SHOW RELEASES", "SHOW JOBS", "SHOW TABLES", "DESCRIBE TABLE ward_b.people", "SHOW RELEASE 1"):
        yield Asked("ann", "StatementService/ExecuteStatement", {"statement": statement})
    for name in ("people", "half"):
        yield Asked("ann", "TableService/DescribeTable", {"table": table("ward_a", name)})
        yield Asked("ann", "DraftService/DraftPolicy", {"table": table("ward_a", name)})
        yield _erased(name)
    yield Asked("ann", "ReleaseService/ListReleases", {})
    yield Asked("ann", "JobService/ListJobs", {})


def outcome(house: House, asked: Asked) -> tuple[str, str]:
    """The answer without times; of a job its end, and its result."""
    code, told = _answer(house, asked)
    if code != "OK" or not isinstance(told, job_service_pb2.Job) or "Submit" not in asked.method:
        return code, _plain(told)
    *_, job = house.clients[asked.who].watch_job(told.name)
    # How far the last look at its progress was.
    job.ClearField("progress")
    found = [_plain(job)]
    if job.result:
        collection = job.result.partition("/")[0]
        get = _GETS[collection]
        found.append(_plain(_answer(house, Asked(asked.who, get, {"name": job.result}))[1]))
    return code, "\n".join(found)


def settle(house: House) -> None:
    """Waits until the server has looked for matches of all releases."""
    deadline = time.monotonic() + SECONDS
    with house.server._database.ledger() as ledger:
        while matches.unmatched(ledger):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def _answer(house: House, asked: Asked) -> tuple[str, Any]:
    service, _, name = asked.method.partition("/")
    descriptor: Any = Default().FindServiceByName(f"tableveil.v1.{service}").FindMethodByName(name)
    read = GetMessageClass(descriptor.output_type).FromString
    call = house.channels[asked.who].stream_stream(
        f"/tableveil.v1.{asked.method}", methodcaller("SerializeToString"), read
    )
    try:
        found = list(call(iter([message(asked.method, asked.fields)]), timeout=60))
        return "OK", found[-1] if name == "WatchJob" or len(found) == 1 else found
    except grpc.RpcError as error:
        failed: Any = error
        return failed.code().name, failed.details()


_GETS = {
    "releases": "ReleaseService/GetRelease",
    "dryRuns": "DryRunService/GetDryRun",
    "frontiers": "FrontierService/GetFrontier",
    "riskAnalyses": "RiskService/GetRiskAnalysis",
    "proposals": "ProposalService/GetProposal",
    "utilityReports": "UtilityService/GetUtilityReport",
    "payoutSweeps": "PayoutService/GetPayoutSweep",
}

_TIMES = re.compile(r"\d+(\.\d+)? (ms|s|min|h)\b|\d{4}-\d\d-\d\d \d\d:\d\d")


def _plain(told: Any) -> str:
    """Without times and what follows from them: the digest of a report, which says how long each phase took."""
    for found in told if isinstance(told, list) else [told]:
        if isinstance(found, Message):
            _clear(found)
    return _TIMES.sub("TIME", str(told))


def _clear(found: Message) -> None:
    for field, value in list(found.ListFields()):
        kind = field.message_type.full_name if field.message_type else ""
        if kind in ("google.protobuf.Timestamp", "google.protobuf.Duration") or field.name in _OF_TIME:
            found.ClearField(field.name)
        elif kind and not field.is_repeated:
            _clear(value)
        elif field.message_type and not field.message_type.GetOptions().map_entry:
            for one in value:
                _clear(one)


_OF_TIME = {"phase_durations", "sha256"}
