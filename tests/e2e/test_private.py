"""Differential privacy over a real server: who sets budgets, what a release spends, and what a killed server spent."""

import time
from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import CancelledError, DeniedError, InvalidError
from tableveil.v1 import access_pb2, access_service_pb2, job_service_pb2
from tests.e2e import samples
from tests.e2e.ledger import digest
from tests.e2e.process import Serve, durable

SUCCEEDED, INTERRUPTED = job_service_pb2.JOB_STATE_SUCCEEDED, job_service_pb2.JOB_STATE_INTERRUPTED

SCHEME = {"epsilon": "1", "delta": "0.001", "scheme": {"age": 3, "sex": 0}}

# So many transformations, nearly alike, that the draw takes longer than a test may.
COLUMNS, SECONDS = 18, 30


def private(options: samples.Document = SCHEME, target: str = "shown", source: str = "people") -> samples.Document:
    """A policy for `samples.PEOPLE` that keeps the promise."""
    document = samples.policy(source, target, differential_privacy=options, repeat_reason="a test")
    for a in document["attributes"]:
        if a["column"] not in ("age", "sex"):
            a.update(role="IDENTIFYING")
            a.pop("hierarchy", None)
            a.pop("acknowledged", None)
    document["privacy_models"] = [{"k_anonymity": {"k": 2}}]
    del document["suppression_limit"]
    return document


def drawn_for_long(target: str) -> samples.Document:
    """A policy whose levels are drawn among 2^18."""
    options = {"epsilon": "1", "delta": "0.001", "search_epsilon": "0.0001"}
    document = samples.wide_policy(COLUMNS, target=target, differential_privacy=options, repeat_reason="a test")
    document["privacy_models"] = [{"k_anonymity": {"k": 2}}]
    del document["suppression_limit"]
    return document


def spent(client: Client) -> list[tuple[str, str, str]]:
    return [(budget.people, budget.spent_epsilon, budget.spent_delta) for budget in client.list_privacy_budgets()]


def test_budgets_are_set_spent_and_listed(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "people.duckdb"
    samples.create(database, people=samples.PEOPLE)
    server = serve(database)
    with Client(server.address) as admin:
        roles = [access_pb2.ACCESS_ROLE_STEWARD, access_pb2.ACCESS_ROLE_APPROVER, access_pb2.ACCESS_ROLE_ANALYST]
        secret = admin.create_token("ada", "test", roles).secret
        with pytest.raises(InvalidError, match="no privacy budget"):
            admin.submit(samples.message(private()))
        with pytest.raises(InvalidError) as refused:
            admin.set_privacy_budget("all patients", ["people", "main.visits"], epsilon="-1", delta="much")
        assert [fault.field for fault in refused.value.faults] == [
            "budget.people",
            "budget.tables[0]",
            "budget.epsilon",
            "budget.delta",
        ]
        assert admin.list_privacy_budgets() == []

        made = admin.set_privacy_budget("patients", ["main.People"], epsilon="1.5", delta="0.01")
        assert isinstance(made, access_service_pb2.PrivacyBudget)
        assert (made.people, list(made.tables), made.epsilon, made.delta) == (
            "patients",
            ["main.people"],
            "1.5",
            "0.01",
        )
        assert (made.spent_epsilon, made.spent_delta, made.outdated, bool(made.set_by)) == ("0", "0", False, True)
        with pytest.raises(InvalidError, match="in the budget of 'patients'"):
            admin.set_privacy_budget("others", ["main.people"], epsilon="1", delta="0.01")

        with Client(server.address, secret) as steward:
            for call in (
                steward.list_privacy_budgets,
                lambda: steward.set_privacy_budget("patients", ["main.people"], epsilon="9", delta="0.1"),
            ):
                with pytest.raises(DeniedError):
                    call()
            job = steward.wait(steward.submit(samples.message(private())).name)
            assert job.state == SUCCEEDED
            assert spent(admin) == [("patients", "1", "0.001")]
            with pytest.raises(InvalidError, match=r"1 of 1\.5 and 0\.001 of 0\.01 are spent"):
                steward.submit(samples.message(private(target="again")))
            # A raised budget keeps what was spent, and holds one more release.
            admin.set_privacy_budget("patients", ["main.people"], epsilon="2", delta="0.01")
            assert steward.wait(steward.submit(samples.message(private(target="again"))).name).state == SUCCEEDED
        assert spent(admin) == [("patients", "2", "0.002")]


@pytest.mark.long
def test_a_killed_server_has_spent_the_budget_and_released_nothing(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "people.duckdb"
    samples.create(database, wide=samples.wide(COLUMNS))
    server = serve(database)
    with Client(server.address) as client:
        client.set_privacy_budget("patients", ["main.wide"], epsilon="2", delta="0.01")
        policy = samples.message(drawn_for_long("shown"))
        running = client.submit(policy, request_id="the first")
        until = time.monotonic() + SECONDS
        while spent(client) == [("patients", "0", "0")] and time.monotonic() < until:
            time.sleep(0.01)
        assert spent(client) == [("patients", "1", "0.001")]
        assert client.get_job(running.name).state == job_service_pb2.JOB_STATE_RUNNING
        server.kill()

    with durable(database) as connection:
        assert digest(connection, "wide") is not None
        assert connection.execute("SELECT count(*) FROM tableveil.releases").fetchone() == (0,)
        tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall()
        assert tables == [("wide",)]
        charged = connection.execute("SELECT job, epsilon FROM tableveil.privacy_charges").fetchall()
        assert charged == [(int(running.name.rpartition("/")[2]), "1")]

    server = serve(database)
    with Client(server.address) as client:
        assert spent(client) == [("patients", "1", "0.001")]
        killed = client.get_job(running.name)
        assert (killed.state, killed.failure.code, killed.result) == (INTERRUPTED, "INTERRUPTED", "")
        # The request, repeated, runs as a job of its own, which is charged for itself; also if it is cancelled.
        retried = client.submit(policy, request_id="the first")
        assert retried.name != running.name
        until = time.monotonic() + SECONDS
        while spent(client) != [("patients", "2", "0.002")] and time.monotonic() < until:
            time.sleep(0.01)
        client.cancel_job(retried.name)
        with pytest.raises(CancelledError):
            client.wait(retried.name)
        assert spent(client) == [("patients", "2", "0.002")]
        with pytest.raises(InvalidError, match="2 of 2"):
            client.submit(policy)
