"""The endpoint remembers the tables in its directory."""

import gc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import pytest
from google.protobuf import any_pb2
from pyarrow import flight

from tableveil.endpoint import query_process
from tableveil.endpoint.endpoint import Endpoint
from tableveil.endpoint.published import Published
from tableveil.endpoint.query_processes import QueryProcesses
from tableveil.flight_sql import flight_sql_pb2 as sql
from tests.service.endpoint.published import LIMITS, KnownReaders, connected, publish, serving


@pytest.fixture
def published(tmp_path: Path) -> Iterator[Published]:
    with closing(QueryProcesses(LIMITS)) as processes:
        yield Published(tmp_path, processes)


def test_a_listing_is_made_once_and_anew_for_other_files(published: Published) -> None:
    publish(published.directory, 1, "main", {"t": "SELECT 1 AS a"})
    publish(published.directory, 2, "main", {"u": "SELECT 1 AS a"})
    both = published.tables({1, 2})
    assert both.named == [("main", "t", 1), ("main", "u", 2)]
    assert published.tables({2, 1, 3}) is both
    assert published.tables({1}).named == [("main", "t", 1)]
    publish(published.directory, 2, "main", {"T": "SELECT 1 AS b"})
    replaced = published.tables({1, 2})
    assert replaced.named == [("main", "t", 2)]
    assert replaced.key != both.key


def test_the_file_of_the_views_lives_as_long_as_the_listing(published: Published) -> None:
    publish(published.directory, 1, "main", {"t": "SELECT 1 AS a"})
    listing = published.tables({1})
    file = Path(listing.information)
    assert file.stat().st_mode & 0o777 == 0o600
    assert listing.information is listing.information
    del listing
    published._listings._known.clear()
    gc.collect()
    assert not file.exists()


def test_tables_have_any_names_beside_the_views_that_tell_of_tables(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    names = ("written_columns", "columns", "tables", "duckdb_tables", "releases")
    publish(tmp_path / "published", 1, "main", dict.fromkeys(names, "SELECT 1 AS a, 2 AS b"))
    with serving(tmp_path, KnownReaders(ann={1})) as endpoint, connected(endpoint) as ann, ann.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM information_schema.columns, {', '.join(names)}")
        assert cursor.fetchall() == [(10,)]


def test_answers_about_many_tables_come_in_messages_that_clients_take(
    endpoint: Endpoint, ann: flight_sql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients of gRPC refuse messages beyond 16 MiB, and drivers ask for the columns of all tables."""
    whole = ann.adbc_get_objects(depth="all").read_all().to_pylist()
    monkeypatch.setattr(query_process, "LARGEST_BATCH", 100)
    command = any_pb2.Any()
    command.Pack(sql.CommandGetTables(include_schema=True))
    options = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer ann")])
    with flight.FlightClient(endpoint.uri) as client:
        reader = client.do_get(flight.Ticket(command.SerializeToString()), options)
        assert [len(chunk.data) for chunk in reader] == [1, 1, 1]
    assert ann.adbc_get_objects(depth="all").read_all().to_pylist() == whole
