"""Lists of a part: of jobs and releases by state, of loads by table, of tables by schema."""

from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.v1 import job_service_pb2, release_service_pb2
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve


def test_filters(serve: Serve, tmp_path: Path) -> None:
    samples.create(tmp_path / "clinic.duckdb", people=samples.PEOPLE)
    server = serve(tmp_path / "clinic.duckdb").address

    def names(*arguments: str, of: str) -> list[str]:
        outcome = tableveil(*arguments, "--json", server=server)
        assert outcome.exit_code == 0, outcome.stderr
        (document,) = outcome.documents
        return [one["name"] if "name" in one else one["table"]["table"] for one in document[of]]

    with Client(server) as client:
        client.create_schema("Research")
        for target in ("one", "two"):
            policy = samples.policy(release={"schema": "Research", "name": target}, repeat_reason="a test")
            client.wait(client.submit(samples.message(policy)).name)
        models = [{"k_anonymity": {"k": 4}}, {"t_closeness": {"column": "diagnosis", "t": "0.000001"}}]
        policy = samples.policy(release={"name": "three"}, repeat_reason="a test", privacy_models=models)
        policy["suppression_limit"], policy["attributes"][2]["maximum_level"] = "0", 1
        with pytest.raises(InfeasibleError):
            client.wait(client.submit(samples.message(policy)).name)
        client.withdraw_release("releases/1", "a test")
        (tmp_path / "a.csv").write_text("a,b\n1,2\n")
        for table in ("first", "second"):
            client.load_file(tmp_path / "a.csv", table=table)
        assert names("jobs", "--state", "succeeded", of="jobs") == ["jobs/2", "jobs/1"]
        assert names("jobs", "--state", "failed", "--state", "running", of="jobs") == ["jobs/3"]
        assert names("jobs", "--state", "queued", of="jobs") == []
        assert names("releases", "--state", "approved", of="releases") == ["releases/2"]
        assert names(
            "releases", "--state", "withdrawn", "--state", "approved", "--schema", "research", of="releases"
        ) == [*("releases/2", "releases/1")]
        assert names("releases", "--schema", "main", of="releases") == []
        assert names("releases", "--state", "pending", of="releases") == []
        assert names("loads", "FIRST", of="loads") == ["loads/1"]
        assert names("loads", of="loads") == ["loads/2", "loads/1"]
        assert names("tables", "--schema", "research", of="tables") == sorted(
            item.name for item in client.get_release("releases/2").objects
        )
        with pytest.raises(InvalidError, match="QUEUED"):
            list(client.list_jobs([job_service_pb2.JOB_STATE_UNSPECIFIED]))
        with pytest.raises(InvalidError, match="PENDING"):
            list(client.list_releases([release_service_pb2.RELEASE_STATE_UNSPECIFIED]))
