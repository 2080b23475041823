"""Every kind of bad input: a clear error, the right exit code, and nothing lost or left."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import duckdb
import grpc
import pytest

from tableveil.client import Client
from tableveil.client.failures import failure_in
from tableveil.document import read_policy
from tableveil.v1 import faults_pb2, job_service_pb2, job_service_pb2_grpc, policy_pb2
from tests import authenticated
from tests.e2e import samples
from tests.e2e.bad_policies import BAD, EXIT_CODES, GONE, TABLES, Bad
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, ServerProcess, durable
from tests.e2e.samples import Document


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, serve_all_along: Serve) -> ServerProcess:
    """A server on the tables, one of which was released before."""
    database = tmp_path_factory.mktemp("bad") / "clinic.duckdb"
    samples.create(database, **TABLES)
    with duckdb.connect(database) as connection:
        connection.execute("CREATE VIEW a_view AS FROM people")
    server = serve_all_along(database)
    with Client(server.address) as client:
        client.create_hierarchy("known", [("F", "*"), ("M", "*")])
        first = samples.policy("released_before", "first")
        assert client.wait(client.submit(samples.message(first)).name).result == "releases/1"
    return server


@pytest.fixture(scope="module", autouse=True)
def _nothing_lost_or_left(server: ServerProcess) -> Iterator[None]:
    before = contents(server)
    yield
    assert contents(server) == before


def contents(server: ServerProcess) -> dict[str, object]:
    """The state after a crash now: every table and view except the service's bookkeeping, and spilled data.

    The server compares the first release with others after its job has ended.
    """
    with durable(server.database) as connection:
        names = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE schema_name <> 'tableveil' OR "
            "table_name LIKE 'snapshot%' OR table_name LIKE 'release%' AND table_name <> 'release_compared' "
            "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        each = (
            f"SELECT '{schema}.{name}', count(*), sum(hash(rows)), any_value(typeof(rows)) FROM {schema}.{name} AS rows"
            for schema, name in names
        )
        found: dict[str, object] = {row[0]: row[1:] for row in connection.execute(" UNION ALL ".join(each)).fetchall()}
        unfinished = "FROM tableveil.jobs ANTI JOIN tableveil.job_outcomes ON number = job"
        found["unfinished jobs"] = connection.execute(unfinished).fetchall()
    found["spilled"] = list(server.spill_directory.iterdir())
    return found


def document_of(bad: Bad) -> Document:
    document = samples.policy(repeat_reason="a test")
    for path, value in bad.change.items():
        put(document, path, value)
    return document


def put(document: Any, path: str, value: object) -> None:
    *steps, last = [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", path)]
    for step in steps:
        document = document[step]
    if value is GONE:
        del document[last]
    elif last == "+":
        document.append(deepcopy(value))
    else:
        document[last] = deepcopy(value)


@pytest.mark.parametrize("title", BAD)
def test_a_clear_error(title: str, server: ServerProcess, tmp_path: Path) -> None:
    bad = BAD[title]
    document = json.dumps(document_of(bad))
    file = tmp_path / "policy.json"
    file.write_text(document)
    outcome = tableveil("submit", str(file), "--wait", "--json", server=server.address)
    last = outcome.documents[-1]
    failure = last["failure"] if "failure" in last else last["job"]["failure"]
    assert failure["kind"] == f"FAILURE_KIND_{bad.kind}"
    assert failure["code"] == bad.code
    assert bad.field in [fault["field"] for fault in failure["faults"]]
    assert outcome.exit_code == EXIT_CODES[bad.kind]
    # People read stderr: how it is called, where it is, and words that help.
    assert outcome.stderr.startswith(bad.kind.capitalize())
    said = " ".join(outcome.stderr.split())
    for word in [bad.field, *re.findall(r"'[^']*'|\S+", bad.words)]:
        assert word in said, outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert len(outcome.stderr) < 3_000

    # The service does not rely on its clients for checking messages; only its jobs can check the database.
    policy, unreadable = read_policy(document, "json")
    if "failure" in last and not unreadable and "csv" not in document:
        told = submitted(policy, server)
        assert faults_pb2.FailureKind.Name(told.kind) == f"FAILURE_KIND_{bad.kind}"
        assert told.code == bad.code
        assert bad.field in [fault.field for fault in told.faults]


def submitted(policy: policy_pb2.Policy, server: ServerProcess) -> faults_pb2.Failure:
    """The reason why the service refused the policy, or its job failed."""
    with authenticated.channel(server.address) as channel:
        jobs = job_service_pb2_grpc.JobServiceStub(channel)
        try:
            job = jobs.SubmitJob(job_service_pb2.SubmitJobRequest(policy=policy))
        except grpc.RpcError as error:
            failure = failure_in(error)
            assert failure is not None
            return failure
        *_, last = jobs.WatchJob(job_service_pb2.WatchJobRequest(name=job.name))
        return last.job.failure


def test_all_faults_at_once(server: ServerProcess, tmp_path: Path) -> None:
    """The faults of the document, of the policy, and of the table."""
    wrong = ("k = 1", "unknown column", "a weight that is not a number", "a hierarchy without rows")
    document = samples.policy()
    for title in wrong:
        for path, value in BAD[title].change.items():
            put(document, path, value)
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(document))
    for verb in (["submit", str(file)], ["check-policy", str(file)]):
        outcome = tableveil(*verb, server=server.address)
        assert outcome.exit_code == 2
        for title in wrong:
            assert BAD[title].field in outcome.stderr, (verb, title)


def test_the_valid_policy_is_valid_after_all(server: ServerProcess, tmp_path: Path) -> None:
    """The control: without its change, the policy is valid."""
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(samples.policy(repeat_reason="a test")))
    outcome = tableveil("check-policy", str(file), server=server.address)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
