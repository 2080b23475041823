"""Four clients and twelve jobs at once: none is lost or done twice, and every release stands up to other eyes."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.v1 import job_service_pb2
from tests.e2e import samples
from tests.e2e.ledger import check_whole, digest
from tests.e2e.process import Serve, durable
from tests.e2e.samples import Document

pytestmark = pytest.mark.long

CLIENTS = 4
JOBS_EACH = 3


def policy(client: int, number: int) -> Document:
    """Each client has a table of its own and shares one with all; some release views; every k is different."""
    source = "shared" if number % 2 else f"own_{client}"
    release = {"name": f"release_{client}_{number}", "kind": "VIEW" if number % 3 == 0 else "TABLE"}
    return samples.policy(
        source, privacy_models=[{"k_anonymity": {"k": 2 + client + number}}], release=release, repeat_reason="a test"
    )


def test_many_jobs_at_once(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    sources = {f"own_{client}": f"{samples.PEOPLE} LIMIT {200 + client}" for client in range(CLIENTS)}
    sources["shared"] = samples.PEOPLE
    samples.create(database, **sources)
    server = serve(database, "--concurrent-jobs", "4")

    def work(number: int) -> dict[str, job_service_pb2.Job]:
        """One client's jobs, by request id: submitted in its own order, each twice, as after a lost answer."""
        order = random.Random(number).sample(range(JOBS_EACH), JOBS_EACH)
        with Client(server.address) as client:
            names = {}
            for job in order:
                message, request_id = samples.message(policy(number, job)), f"request-{number}-{job}"
                names[request_id] = client.submit(message, request_id=request_id).name
                assert client.submit(message, request_id=request_id).name == names[request_id]
            return {request: client.wait(name) for request, name in names.items()}

    with ThreadPoolExecutor(CLIENTS) as pool:
        ended = {request: job for jobs in pool.map(work, range(CLIENTS)) for request, job in jobs.items()}

    assert len(ended) == CLIENTS * JOBS_EACH
    assert {job.state for job in ended.values()} == {job_service_pb2.JOB_STATE_SUCCEEDED}
    assert len({job.name for job in ended.values()}) == len({job.result for job in ended.values()}) == len(ended)
    with Client(server.address) as client:
        listed = {job.name: job for job in client.list_jobs()}
        assert listed == {job.name: job for job in ended.values()}
        releases = {release.name: release for release in client.list_releases()}
        assert releases.keys() == {job.result for job in ended.values()}
        for number in range(CLIENTS):
            for job in range(JOBS_EACH):
                wanted = policy(number, job)
                done = ended[f"request-{number}-{job}"]
                release = releases[done.result]
                assert (release.job, release.target.name) == (done.name, wanted["release"]["name"])
                assert release.source.table == wanted["source"]["table"]
                rows = client.read_table(release.name, release.target.name).select(["age", "zip", "sex"]).to_pylist()
                sizes = Counter(tuple(row.values()) for row in rows)
                assert min(sizes.values()) >= 2 + number + job
                assert sum(sizes.values()) + release.suppressed_records == release.records
                assert release.suppressed_records <= 0.05 * release.records
    assert server.terminate() == 0
    with durable(database) as connection:
        check_whole(connection, set(sources))
        assert connection.execute("SELECT count(*) FROM tableveil.releases").fetchone() == (len(ended),)
        people = digest(connection, f"({samples.PEOPLE})")
        assert digest(connection, "shared") == people
