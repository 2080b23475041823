"""A release by local recoding on a running server: asked for, shown with its bound, and refused elsewhere."""

import json
from pathlib import Path

from tableveil.client import Client
from tableveil.v1 import job_service_pb2
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.ledger import check_whole
from tests.e2e.process import Serve, durable


def test_from_policy_to_bound(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    document = samples.policy(
        quality_model={"loss": {"aggregate": "ARITHMETIC_MEAN"}}, local_recoding={"most_levels": {"sex": 1}}
    )
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(document))
    server = serve(database)
    outcome = tableveil("submit", str(file), "--wait", server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    shown = tableveil("show", "1", "--all", server=server.address).stdout
    assert "local recoding:" in shown
    assert "optimal" in shown or "no local recoding scores below" in shown
    assert "transformations" not in shown
    assert "every class has levels of its own" in tableveil("show", "1", "--explain", server=server.address).stdout
    assert tableveil("frontier", str(file), server=server.address).exit_code == 0
    document["local_recoding"] = {"most_levels": {"sexx": 1}}
    file.write_text(json.dumps(document))
    mistyped = tableveil("check-policy", str(file), server=server.address)
    assert mistyped.exit_code == 2
    assert "most_levels['sexx']" in mistyped.stdout + mistyped.stderr


def test_killed_while_writing(serve: Serve, tmp_path: Path) -> None:
    """The job has a whole release, or none; the next one has."""
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    document = samples.policy(quality_model={"loss": {"aggregate": "ARITHMETIC_MEAN"}}, local_recoding={})
    server = serve(database)
    with Client(server.address) as client:
        job = client.submit(samples.message(document))
        for seen in client.watch_job(job.name):
            if seen.phase >= job_service_pb2.JOB_PHASE_WRITING:
                break
        server.kill()
    server = serve(database)
    with durable(database) as connection:
        check_whole(connection, {"people"})
    with Client(server.address) as client:
        if client.get_job(job.name).state == job_service_pb2.JOB_STATE_INTERRUPTED:
            again = client.wait(client.submit(samples.message(document)).name)
            assert again.state == job_service_pb2.JOB_STATE_SUCCEEDED, again.failure
    with durable(database) as connection:
        check_whole(connection, {"people"})
