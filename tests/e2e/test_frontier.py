"""Frontiers on a running server: asked for, looked up, queried by the owner, cancelled, killed."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError
from tableveil.v1 import job_service_pb2
from tableveil.v1.frontier_service_pb2 import Frontier, SubmitFrontierRequest
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.ledger import check_whole
from tests.e2e.process import Serve, durable

COLUMNS = 24

KS, LIMITS = (2, 4, 6, 12), ("0", "0.05", "0.25")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    samples.create(path, wide=samples.wide(COLUMNS), people=samples.PEOPLE)
    return path


def policy_file(database: Path, document: samples.Document) -> str:
    file = database.with_name("policy.json")
    file.write_text(json.dumps(document))
    return str(file)


@pytest.mark.long
def test_from_command_to_table(serve: Serve, database: Path) -> None:
    server = serve(database)
    document = samples.policy()
    asked = ("frontier", policy_file(database, document), "--k", "2..6", "--limit", "0,0.05,0.25")
    outcome = tableveil(*asked, server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    assert "jobs/1 succeeded" in outcome.stderr
    assert outcome.stdout.splitlines()[0] == "frontiers/1"
    assert outcome.stdout == tableveil("show", "frontiers/1", server=server.address).stdout
    # The policy's own cell has the figures of its release.
    with Client(server.address) as client:
        frontier = client.get_result(Frontier, "1")
        (own,) = (point for point in frontier.points if (point.k, point.suppression_limit) == (4, "0.05"))
        release = client.get_release(client.wait(client.submit(samples.message(document)).name).result)
        assert own.optimal
        assert own.optimum.score == release.score
        assert list(own.optimum.levels) == [attribute.level for attribute in release.attributes]
        assert list(frontier.quasi_identifiers) == [attribute.column for attribute in release.attributes]
        assert own.optimum.suppressed_records == release.suppressed_records
        assert frontier.source_fingerprint == release.source_fingerprint
    assert server.terminate() == 0
    with durable(database) as connection:
        rows = connection.execute(
            "SELECT k, suppression_limit, score, suppressed_records, classes, levels, optimal, lower_bound "
            "FROM tableveil.frontier_points WHERE frontier = 1 ORDER BY k, suppression_limit::DECIMAL(3, 2)"
        ).fetchall()
        assert rows == [
            (p.k, p.suppression_limit, p.optimum.score, p.optimum.suppressed_records, p.optimum.classes,
             list(p.optimum.levels), p.optimal, p.lower_bound)
            for p in frontier.points
        ]  # fmt: skip
        assert len(rows) == 15
        assert connection.execute("SELECT job, records FROM tableveil.frontiers").fetchall() == [(1, 240)]


def test_scores_fall_with_the_limit_and_rise_with_k(serve: Serve, database: Path) -> None:
    server = serve(database)
    document = samples.policy(
        source="wide", attributes=samples.wide_policy(8)["attributes"], default_role="IDENTIFYING"
    )
    with Client(server.address) as client:
        job = client.wait(
            client.submit_analysis(
                SubmitFrontierRequest(policy=samples.message(document), k=KS, suppression_limits=LIMITS)
            ).name
        )
        frontier = client.get_result(Frontier, job.result)
    scores = {(p.k, Decimal(p.suppression_limit)): p.optimum.score for p in frontier.points if p.HasField("optimum")}
    assert len(set(scores.values())) > 6
    for (k, limit), score in scores.items():
        for (other_k, other_limit), other in scores.items():
            if other_k >= k and other_limit <= limit:
                assert other >= score


def test_bad_requests_say_where(serve: Serve, database: Path) -> None:
    server = serve(database)
    document = samples.policy(source="peple")
    del document["release"]
    with Client(server.address) as client, pytest.raises(InvalidError) as raised:
        client.submit_analysis(
            SubmitFrontierRequest(policy=samples.message(document), k=[1, 3, 3], suppression_limits=["0.1", "1.1", "x"])
        )
    assert sorted(fault.field for fault in raised.value.faults) == [
        "k[0]", "k[2]", "source.table", "suppression_limits[1]", "suppression_limits[2]",
    ]  # fmt: skip
    file = policy_file(database, samples.policy())
    outcome = tableveil("frontier", file, "--k", "2..402", server=server.address)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "at most 400 pairs" in outcome.stderr
    assert tableveil("jobs", server=server.address).stdout == "No jobs yet.\n"


def test_cancelled_and_killed(serve: Serve, database: Path) -> None:
    """A frontier that takes long: cancelled it ends within a moment, killed it is interrupted; nothing is stored."""
    server = serve(database, "--concurrent-jobs", "1")
    message = samples.message(samples.wide_policy(COLUMNS))
    request = SubmitFrontierRequest(policy=message, k=KS, suppression_limits=LIMITS, request_id="nightly")
    with Client(server.address) as client:
        first = client.submit_analysis(request)
        client.cancel_job(first.name)
        assert list(client.watch_job(first.name))[-1].state == job_service_pb2.JOB_STATE_CANCELLED
        request.request_id = "again"
        second = client.submit_analysis(request)
        for job in client.watch_job(second.name):
            if job.progress.transformations_checked:
                break
        assert tableveil("cancel", second.name, server=server.address).exit_code == 0
        assert list(client.watch_job(second.name))[-1].state == job_service_pb2.JOB_STATE_CANCELLED
        assert tableveil("watch", second.name, server=server.address).exit_code == 4
        request.request_id = "third"
        third = client.submit_analysis(request)
        for job in client.watch_job(third.name):
            if job.progress.transformations_checked:
                break
    server.kill()
    server = serve(database)
    with Client(server.address) as client:
        job = client.get_job(third.name)
        assert (job.state, job.failure.code, job.result) == (job_service_pb2.JOB_STATE_INTERRUPTED, "INTERRUPTED", "")
        # A repeated request starts it again.
        again = client.submit_analysis(request)
        assert again.name != third.name
        client.cancel_job(again.name)
        list(client.watch_job(again.name))
    server.kill()
    with durable(database) as connection:
        check_whole(connection, {"wide", "people"})
        for table in ("frontiers", "frontier_points"):
            assert connection.execute(f"SELECT count(*) FROM tableveil.{table}").fetchone() == (0,)


@pytest.mark.long
def test_out_of_time(serve: Serve, database: Path) -> None:
    server = serve(database)
    document = samples.wide_policy(COLUMNS, search={"time_limit_seconds": "0.7"})
    asked = ("frontier", policy_file(database, document), "--k", "2,4,8", "--limit", "0.05,0.1")
    outcome = tableveil(*asked, server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    assert " to " in outcome.stdout
    assert "the time was over" in outcome.stdout
    with Client(server.address) as client:
        frontier = client.get_result(Frontier, "1")
    assert frontier.search_duration.ToTimedelta().total_seconds() >= 0.7
    for point in frontier.points:
        assert not point.optimal
        assert point.lower_bound < point.optimum.score
