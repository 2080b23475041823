"""The Dagster example, run by Dagster against a real server: `make test-dagster`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import pytest
import released_discharges
from released_discharges import Tableveil, discharges, discharges_released

from tableveil.client import Client, UnreachableError
from tableveil.demo.discharges import create_discharges
from tableveil.identity.secret import token_file
from tableveil.v1 import release_service_pb2

ROWS = 8_000


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    with duckdb.connect(path) as connection:
        create_discharges(connection, "discharges", ROWS, 7)
        connection.execute(f"COPY discharges TO '{path.with_name('discharges.parquet')}'")
    return path


@pytest.fixture(scope="module")
def address(database: Path) -> Iterator[str]:
    where = f"unix:{database.parent}/socket"
    with subprocess.Popen(
        [sys.executable, "-m", "tableveil.cli", "serve", "--database", str(database), "--address", where],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert where in server.stdout.readline()
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("TABLEVEIL_TOKEN_FILE", str(token_file(database)))
            yield where
        server.terminate()


def materialized(address: str) -> dg.ExecuteInProcessResult:
    extract = str(Path(address.removeprefix("unix:")).with_name("discharges.parquet"))
    resource = Tableveil(address=address, extract=extract, seconds_between_attempts=0.1)
    assets = [discharges, discharges_released]
    return dg.materialize(assets, resources={"tableveil": resource}, raise_on_error=False)


def test_the_definitions_load() -> None:
    dg.Definitions.validate_loadable(released_discharges.defs)


def test_a_materialization_and_the_next(address: str, database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        result = materialized(address)
        assert result.success
        logged = capfd.readouterr().err
        assert f"jobs/{number} running, searching" in logged
        (found,) = result.asset_materializations_for_node("discharges_released")
        with Client(address) as client:
            release = client.get_release(f"releases/{number}")
        assert found.metadata["release"].value == release.name
        assert found.metadata["dagster/row_count"].value == release.records - release.suppressed_records > 0
        assert found.metadata["highest_risk"].value <= 0.2
        assert release.policy.source.load == f"loads/{number}"
        judged = any("Judged together with releases/1" in text for text in release.warnings)
        assert judged == (number > 1)


def test_a_step_that_is_tried_again(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that is lost after it submitted its job leads to the first release, not to a second one."""
    get_release = Client.get_release
    lost = iter([True])

    def lost_once(client: Client, release: str) -> release_service_pb2.Release:
        if next(lost, False):
            raise UnreachableError("UNREACHABLE", "the server went away")
        return get_release(client, release)

    monkeypatch.setattr(Client, "get_release", lost_once)
    with Client(address) as client:
        before = len(list(client.list_jobs()))
        result = materialized(address)
        assert result.success
        assert result.retry_attempts_for_node("discharges_released") == 1
        assert len(list(client.list_jobs())) == before + 1


def test_what_a_person_has_to_mend(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(released_discharges.POLICY.read_text().replace("person_column: patient_id", "person_column: id"))
    monkeypatch.setattr(released_discharges, "POLICY", policy)
    result = materialized(address)
    assert not result.success
    assert result.retry_attempts_for_node("discharges_released") == 0
    (failed,) = result.get_step_failure_events()
    assert failed.step_key == "discharges_released"
    assert "person_column" in str(failed.event_specific_data.error)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    duckdb.sql(f"COPY (SELECT 1 AS age) TO '{tmp_path / 'discharges.parquet'}'")
    result = materialized(f"unix:{tmp_path}/nowhere")
    assert not result.success
    assert result.retry_attempts_for_node("discharges") == 3
