"""A query of a few hundred bytes that would take minutes to be understood does not stall a running server."""

import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError, TableveilError
from tableveil.serving.settings import STOP_LIMIT_SECONDS
from tests.e2e import samples
from tests.e2e.process import Serve

STEPS = 22

# Each step doubles the type of the one before.
GROWING = (
    "WITH c0 AS (SELECT id FROM people)"
    + "".join(f", c{n} AS (SELECT {{'a': id, 'b': id}} AS id FROM c{n - 1})" for n in range(1, STEPS))
    + f" SELECT id FROM c{STEPS - 1}"
)
# The attacker's: each step doubles the number of tables.
TABLES = (
    "WITH c0 AS (SELECT id FROM people)"
    + "".join(f", c{n} AS (SELECT x.id FROM c{n - 1} x, c{n - 1} y)" for n in range(1, 17))
    + " SELECT id FROM c16"
)


def test_others_are_answered_meanwhile_and_a_stop_ends_it(serve: Serve, tmp_path: Path) -> None:
    assert max(len(GROWING), len(TABLES)) < 1_200
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    server = serve(database)
    with Client(server.address) as client:
        for query in (TABLES, GROWING):
            refusals: list[str] = []
            asking = threading.Thread(target=lambda query=query, into=refusals: into.append(refused(client, query)))
            asking.start()
            answered = 0
            while asking.is_alive():
                began = time.monotonic()
                list(client.list_tables())
                assert time.monotonic() - began < STOP_LIMIT_SECONDS / 2
                answered += 1
            assert answered
            assert refusals[0].startswith("source_query")
        # It is being understood when the server has to stop.
        asking = threading.Thread(target=lambda: suppressed(client, GROWING))
        asking.start()
        time.sleep(0.5)
        assert asking.is_alive()
        began = time.monotonic()
        assert server.terminate() == 0
        assert time.monotonic() - began < STOP_LIMIT_SECONDS
        assert "given up" not in server.log_file.read_text()
        asking.join()


def refused(client: Client, query: str) -> str:
    with pytest.raises(InvalidError) as raised:
        client.submit(samples.message({**samples.policy(), "source": None, "source_query": query}))
    return str(raised.value.faults[0])


def suppressed(client: Client, query: str) -> None:
    with suppress(TableveilError):
        client.draft_policy(query)
