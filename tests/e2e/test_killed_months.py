"""A pipeline's commands with kills of the server between and in them: the month that was meant, or a refusal."""

import json
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tableveil.client import Client
from tableveil.v1 import access_pb2, job_service_pb2
from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.forked import Command
from tests.e2e.ledger import check_whole
from tests.e2e.process import SECONDS_TO_STOP, Serve, ServerProcess, durable

pytestmark = pytest.mark.long

MANY = 300_000
"""Rows of an extract whose load takes so long that a kill meets it."""


class Pipeline:
    """Commands on a database whose server is killed, and started again, before each of them."""

    def __init__(self, serve: Serve, directory: Path) -> None:
        self.directory = directory
        self._serve = serve
        for month, years in (("january", 0), ("february", 1)):
            self.extract(month, f"SELECT * REPLACE (age + {years} AS age) FROM ({samples.PEOPLE})")
        with duckdb.connect(directory / "months.duckdb") as connection:
            connection.execute("CREATE SCHEMA judged")
        self.server = self.started()

    def started(self) -> ServerProcess:
        """A server on what is there."""
        return self._serve(self.directory / "months.duckdb", "--needs-approval", "judged")

    def killed(self) -> None:
        """Kills the server, and starts another."""
        if self.server.process.running:
            self.server.kill()
        self.server = self.started()

    def __call__(self, *arguments: str) -> Outcome:
        self.killed()
        return tableveil(*arguments, server=self.server.address)

    def extract(self, name: str, query: str) -> None:
        """A file that a pipeline writes, in place of one of that name."""
        duckdb.sql(f"COPY ({query}) TO '{self.directory / name}.parquet'")

    def load(self, month: str, table: str, *options: str, request: str = "") -> Outcome:
        file = str(self.directory / f"{month}.parquet")
        return self("load", file, table, "--json", "--request-id", request or f"load {month} {table}", *options)

    def loaded(self, month: str, table: str, *options: str, request: str = "") -> tuple[str, bool]:
        """The name of a load that stands, and whether it did already."""
        done = self.load(month, table, *options, request=request)
        assert done.exit_code == 0, done.stderr
        return str(done.documents[0]["load"]["name"]), bool(done.documents[0].get("repeated"))

    def submit(self, table: str, *options: str, schema: str = "main", **fields: Any) -> Outcome:
        target = {"schema": schema, "name": f"{table}_released", "if_exists": "REPLACE"}
        policy = {**samples.policy(table, repeat_reason="a test", release=target), **fields}
        (self.directory / "policy.json").write_text(json.dumps(policy))
        return self("submit", "--wait", "--json", str(self.directory / "policy.json"), *options)

    def ages(self, table: str) -> int:
        """The sum of the ages in a table, as the file has it after a kill."""
        self.server.kill()
        with durable(self.directory / "months.duckdb") as connection:
            ((found,),) = connection.sql(f"SELECT sum(age) FROM {table}").fetchall()
        self.server = self.started()
        return int(found)


@pytest.fixture
def pipeline(serve: Serve, tmp_path: Path) -> Pipeline:
    return Pipeline(serve, tmp_path)


def refused(outcome: Outcome, code: str, *says: str, exit_code: int = 6) -> None:
    said = " ".join(outcome.stderr.split())
    assert (outcome.exit_code, code in said) == (exit_code, True), said
    assert all(text in said for text in says), said


def released(outcome: Outcome) -> str:
    assert outcome.exit_code == 0, outcome.stderr
    return str(outcome.documents[-1]["release"]["name"])


def test_a_month_that_another_replaced(pipeline: Pipeline) -> None:
    january, repeated = pipeline.loaded("january", "people", "--replace")
    assert not repeated
    assert pipeline.loaded("january", "people", "--replace") == (january, True)
    february, _ = pipeline.loaded("february", "people", "--replace")
    replaced = f"{january}, whose rows {february} replaced"
    refused(pipeline.load("january", "people", "--replace"), "LOAD_SUPERSEDED", replaced)
    refused(pipeline.submit("people", "--source-load", january), "LOAD_SUPERSEDED", replaced)
    bound = ("--source-load", february, "--request-id", f"release {february}")
    name = released(pipeline.submit("people", *bound))
    assert released(pipeline.submit("people", *bound)) == name, "the retry is the same release"
    assert pipeline.loaded("february", "people", "--replace") == (february, True)


def test_an_approval_is_of_the_release_that_waits(pipeline: Pipeline) -> None:
    january, _ = pipeline.loaded("january", "people", "--replace")
    name = released(pipeline.submit("people", "--source-load", january, schema="judged"))
    with Client(pipeline.server.address) as admin:
        token = admin.create_token("approver", "test", [access_pb2.ACCESS_ROLE_APPROVER]).secret
    (pipeline.directory / "approver.token").write_text(token)
    (pipeline.directory / "approver.token").chmod(0o600)
    february, _ = pipeline.loaded("february", "people", "--replace")
    refused(pipeline.submit("people", "--source-load", january, schema="judged"), "LOAD_SUPERSEDED", february)
    as_approver = ("--token-file", str(pipeline.directory / "approver.token"))
    approved = pipeline("approve", name, "--note", "agreed", "--json", *as_approver)
    assert approved.exit_code == 0, approved.stderr
    assert approved.documents[0]["release"]["decided_by"] == "approver"
    assert pipeline("show", name, "--policy", "--json").documents[0]["policy"]["source"]["load"] == january
    again = pipeline("approve", name, "--note", "agreed", *as_approver)
    assert again.exit_code != 0, "it was decided"


@pytest.mark.parametrize("seconds", [0.05, 0.3, 1.0, 3.0])
def test_an_extract_that_is_repaired_while_its_load_is_killed(pipeline: Pipeline, seconds: float) -> None:
    """Whatever the kill met, the table has all rows of one extract, and the retry says of which."""
    many = f"SELECT i AS id, {{}} AS age FROM range({MANY}) r(i)"
    pipeline.extract("august", many.format("i % 50"))
    file, request = str(pipeline.directory / "august.parquet"), ("--request-id", "load august", "--replace")
    started = Command("load", file, "people", *request, "--server", pipeline.server.address)
    time.sleep(seconds)
    pipeline.server.kill()
    with suppress(ProcessLookupError):
        started.send_signal(signal.SIGKILL)
    started.wait(SECONDS_TO_STOP)
    half, whole = (sum(i % n for i in range(MANY)) for n in (50, 60))
    pipeline.extract("august", many.format("i % 60"))
    retried = pipeline.load("august", "people", "--replace", request="load august")
    if retried.exit_code == 0:
        name = str(retried.documents[0]["load"]["name"])
        assert not retried.documents[0].get("repeated")
        assert pipeline.ages("people") == whole
    else:
        name = re.findall(r"loads/\d+", retried.stderr)[0]
        refused(retried, "REQUEST_ID_REUSED")
        assert pipeline.ages("people") == half
        refused(pipeline.load("august", "people", "--replace", request="load august"), "REQUEST_ID_REUSED", name)
        pipeline.extract("august", many.format("i % 50"))
    assert pipeline.loaded("august", "people", "--replace", request="load august") == (name, True)


def test_a_repaired_extract(pipeline: Pipeline) -> None:
    first, _ = pipeline.loaded("january", "people", "--replace", request="load january")
    pipeline.extract("repaired", f"SELECT * FROM ({samples.PEOPLE}) WHERE id < 200")
    reused = pipeline.load("repaired", "people", "--replace", request="load january")
    refused(reused, "REQUEST_ID_REUSED", first)
    repaired, repeated = pipeline.loaded("repaired", "people", "--replace", request="load january again")
    assert not repeated
    refused(
        pipeline.submit("people", "--source-load", first), "LOAD_SUPERSEDED", f"{first}, whose rows {repaired} replaced"
    )
    name = released(pipeline.submit("people", "--source-load", repaired, "--request-id", f"release {repaired}"))
    assert pipeline("show", name, "--policy", "--json").documents[0]["policy"]["source"]["load"] == repaired


def test_a_query_is_bound_to_all_loads_of_its_tables(pipeline: Pipeline) -> None:
    pipeline.extract("wards", "SELECT unnest(['east', 'west']) AS ward")
    people, wards = (pipeline.loaded(month, table)[0] for month, table in (("january", "people"), ("wards", "wards")))
    joined = "SELECT p.* FROM people p JOIN wards w ON p.ward = w.ward"
    query: samples.Document = {"source": None, "source_query": joined}
    both = ("--source-load", people, "--source-load", wards)
    released(pipeline.submit("people", *both, **query))
    later, _ = pipeline.loaded("wards", "wards", "--replace", request="load wards again")
    late = pipeline.submit("people", *both, **query)
    refused(late, "LOAD_SUPERSEDED", "source.loads[", f"{wards}, whose rows {later} replaced")
    released(pipeline.submit("people", "--source-load", people, "--source-load", later, **query))


def test_a_release_that_is_held_writes_nothing(pipeline: Pipeline) -> None:
    pipeline.loaded("january", "people")
    released(pipeline.submit("people"))
    pipeline.extract("half", f"SELECT * FROM ({samples.PEOPLE}) WHERE id < 120")
    load, _ = pipeline.loaded("half", "half")
    held = ("--source-load", load, "--fail-on", "decide", "--request-id", f"release {load}")
    for _ in range(2):
        refused(pipeline.submit("half", *held), "UNDECIDED", "release.guards.hold_undecided", exit_code=12)
    pipeline.server.kill()
    with durable(pipeline.directory / "months.duckdb") as connection:
        check_whole(connection, {"people", "half"})
        assert connection.sql("SELECT count(*) FROM tableveil.releases").fetchall() == [(1,)]
    pipeline.server = pipeline.started()
    released(pipeline.submit("half", "--source-load", load))


@pytest.mark.parametrize("phase", [job_service_pb2.JOB_PHASE_COUNTING, job_service_pb2.JOB_PHASE_WRITING])
def test_a_release_that_is_killed_is_made_of_its_month_or_refused(pipeline: Pipeline, phase: int) -> None:
    january, _ = pipeline.loaded("january", "people", "--replace")
    document = samples.policy(repeat_reason="a test")
    document["source"]["load"] = january
    with Client(pipeline.server.address) as client:
        job = client.submit(samples.message(document), request_id="release january").name
        for seen in client.watch_job(job):
            if seen.phase >= phase:
                break
    pipeline.killed()
    (pipeline.directory / "policy.json").write_text(json.dumps(document))
    submit = ("submit", "--wait", "--json", str(pipeline.directory / "policy.json"), "--request-id", "release january")
    february, _ = pipeline.loaded("february", "people", "--replace")
    retried = pipeline(*submit)
    if retried.exit_code == 0:
        assert retried.documents[-1]["release"]["policy"]["source"]["load"] == january, "it was made before the kill"
    else:
        refused(retried, "LOAD_SUPERSEDED", f"{january}, whose rows {february} replaced")
