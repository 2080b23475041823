"""An Airflow DAG of the nightly pipeline in examples/postgresql: a task for each step, so that a retry repeats one.

Variables of the environment lead to the service and to PostgreSQL, as for the script there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from airflow.exceptions import AirflowFailException
from airflow.sdk import dag, task

from tableveil.client import Client
from tableveil.document import load_policy
from tableveil.errors import TableveilError

POLICY = Path(__file__).parents[1] / "postgresql" / "policy.yaml"


@contextmanager
def service() -> Iterator[Client]:
    """A client whose errors fail the task at once where another try cannot help."""
    try:
        with Client(os.environ["TABLEVEIL_SERVER"]) as client:
            yield client
    except TableveilError as error:
        if error.retryable:
            raise
        raise AirflowFailException(str(error)) from None


@dag(
    schedule="@daily",
    start_date=datetime(2026, 11, 22),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
)
def discharges_released() -> None:
    """Discharges in PostgreSQL become a release, which is published to PostgreSQL."""

    @task
    def load(ds: str | None = None) -> str:
        with service() as client:
            url, name = os.environ["CLINIC"], f"load {ds}"
            loaded = client.load_postgresql(url, "discharges", source_table="discharges", replace=True, request_id=name)
            return loaded.load.name

    @task
    def release(load: str, ds: str | None = None) -> str:
        policy, faults = load_policy(POLICY)
        if faults:
            raise AirflowFailException("; ".join(map(str, faults)))
        # Another night's rows, loaded in between, are refused.
        policy.source.load = load
        # Nobody is there to decide.
        policy.release.guards.hold_undecided = True
        with service() as client:
            # This waits until the warehouse has the release, too. Another try waits again, and releases nothing twice.
            return client.wait(client.submit(policy, POLICY.parent, f"release {ds} {load}").name).result

    release(load())


discharges_released()
