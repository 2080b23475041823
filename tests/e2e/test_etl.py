"""The examples of a nightly pipeline: from PostgreSQL to a release, and back to PostgreSQL."""

import os
import runpy
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pyarrow as pa
import pytest

from tableveil.client import Client
from tableveil.demo import batches
from tests.e2e.process import Serve
from tests.postgresql import Cluster

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = 6_000


class FailException(Exception):
    """Stands for Airflow's, which fails a task without another try."""


def run_dag(file: Path, day: str) -> None:
    """Runs all tasks of a DAG, one after another; Airflow itself is not installed."""

    def task(function: Callable[..., object]) -> Callable[..., object]:
        return partial(function, ds=day) if "ds" in signature(function).parameters else function

    def dag(**_: object) -> Callable[..., object]:
        return lambda function: function

    sdk, exceptions = ModuleType("airflow.sdk"), ModuleType("airflow.exceptions")
    vars(sdk).update(dag=dag, task=task)
    vars(exceptions).update(AirflowFailException=FailException)
    with patch.dict(
        sys.modules, {"airflow": ModuleType("airflow"), sdk.__name__: sdk, exceptions.__name__: exceptions}
    ):
        runpy.run_path(str(file))


def test_two_nights(postgresql: Cluster, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from adbc_driver_postgresql import dbapi

    clinic, warehouse = postgresql.new_database(), postgresql.new_database()
    with dbapi.connect(clinic, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("discharges", pa.Table.from_batches(batches(ROWS, seed=7)))
    postgresql.rows(warehouse, "CREATE ROLE etl_analysts")
    server = serve(tmp_path / "clinic.duckdb", "--publish", f"warehouse={warehouse}&grant=etl_analysts")
    monkeypatch.setenv("CLINIC", clinic)
    monkeypatch.setenv("TABLEVEIL_SERVER", server.address)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    def published() -> tuple[int, ...]:
        (found,) = postgresql.rows(warehouse, "SELECT count(*), min(charge)::int FROM discharges_released")
        return found

    script = str(EXAMPLES / "postgresql" / "nightly.sh")
    done = subprocess.run([script, "2026-11-22"], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows, _ = published()
    assert 0.95 * ROWS <= rows <= ROWS
    postgresql.rows(
        clinic, f"DELETE FROM discharges WHERE patient_id IN (SELECT patient_id FROM discharges LIMIT {ROWS // 2})"
    )
    postgresql.rows(clinic, "UPDATE discharges SET charge = charge + 10000000")
    run_dag(EXAMPLES / "airflow" / "discharges_released.py", "2026-11-23")
    deadline = time.monotonic() + 60
    while published()[0] > ROWS // 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    rows, least = published()
    assert 0.475 * ROWS <= rows <= ROWS // 2
    assert least >= 10_000_000
    (readable,) = postgresql.rows(
        warehouse, "SELECT has_table_privilege('etl_analysts', 'discharges_released', 'SELECT')"
    )
    assert readable == (True,)
    with Client(server.address) as client:
        assert [load.rows for load in client.list_loads()] == [ROWS // 2, ROWS]
        assert len(list(client.list_releases())) == 2
        # No data, which no other try would change.
        client.truncate_table("discharges")
    postgresql.rows(clinic, "DROP TABLE discharges")
    with pytest.raises(FailException, match="discharges"):
        run_dag(EXAMPLES / "airflow" / "discharges_released.py", "2026-11-24")
