"""The JDBC driver of Flight SQL, as tools such as DBeaver use it: its messages in its order; no Java runs here.

After `ArrowDatabaseMetadata`, `ArrowFlightMetaImpl` and `ArrowFlightSqlClientHandler` of Apache Arrow Java 18.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import any_pb2
from google.protobuf.message import Message
from pyarrow import flight

from tableveil.endpoint.endpoint import Endpoint
from tableveil.flight_sql import flight_sql_pb2 as sql

STRINGS = (0, 1, 504, 513, 514, 529, 530, 531)
LISTS = (508, 509, 510, 511, 512)
BOOLEANS = (3, 515, 516, 518, 519, 520, 521, 523, 524, 527, 532, 536, 537, 539, 556, 563, *(565, 566), *range(572, 577))
BITMASKS = (522, 525, 526, 528, 533, 534, 535, 538, 540, 564, 567)
LONGS = (*range(541, 556), 557, 558, 559, 560, 561, 562)
MAP = 517


class Driver:
    """Signs in with any user and the token as password, and asks as the driver does."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.client = flight.FlightClient(endpoint.uri)
        self.options = flight.FlightCallOptions(headers=[self.client.authenticate_basic_token("anybody", "ann")])

    def ask(self, command: Message) -> pa.Table:
        info = self.client.get_flight_info(flight.FlightDescriptor.for_command(packed(command)), self.options)
        (place,) = info.endpoints
        table = self.client.do_get(place.ticket, self.options).read_all()
        assert table.schema.equals(info.schema)
        return table

    def act(self, kind: str, body: bytes) -> bytes:
        (result,) = self.client.do_action(flight.Action(kind, body), self.options)
        return bytes(result.body.to_pybytes())

    def prepare(self, query: str) -> sql.ActionCreatePreparedStatementResult:
        request = sql.ActionCreatePreparedStatementRequest(query=query)
        answer = any_pb2.Any.FromString(self.act("CreatePreparedStatement", packed(request)))
        return sql.ActionCreatePreparedStatementResult.FromString(answer.value)

    def execute(self, query: str, **values: Any) -> pa.Table:
        """Statements, prepared or not, are prepared: those without columns would be sent as changes."""
        prepared = self.prepare(query)
        assert len(pa.ipc.read_schema(pa.py_buffer(prepared.dataset_schema)))
        command = sql.CommandPreparedStatementQuery(prepared_statement_handle=prepared.prepared_statement_handle)
        if values:
            assert len(pa.ipc.read_schema(pa.py_buffer(prepared.parameter_schema))) == len(values)
            descriptor = flight.FlightDescriptor.for_command(packed(command))
            rows = pa.Table.from_pylist([values])
            writer, answers = self.client.do_put(descriptor, rows.schema, self.options)
            writer.write_table(rows)
            writer.done_writing()
            bound = sql.DoPutPreparedStatementResult.FromString(answers.read().to_pybytes())
            writer.close()
            command.prepared_statement_handle = bound.prepared_statement_handle
        found = self.ask(command)
        closed = sql.ActionClosePreparedStatementRequest(prepared_statement_handle=command.prepared_statement_handle)
        list(self.client.do_action(flight.Action("ClosePreparedStatement", packed(closed)), self.options))
        return found


def packed(message: Message) -> bytes:
    command = any_pb2.Any()
    command.Pack(message)
    return command.SerializeToString()


@pytest.fixture
def driver(endpoint: Endpoint) -> Iterator[Driver]:
    driver = Driver(endpoint)
    with driver.client:
        yield driver


def test_it_finds_every_fact_that_it_casts(driver: Driver) -> None:
    """A fact of another type is a ClassCastException, and one that is missing is null for older drivers."""
    facts = dict(zip(*driver.ask(sql.CommandGetSqlInfo()).to_pydict().values(), strict=True))
    for wanted, type_ in ((STRINGS, str), (LISTS, list), (BOOLEANS, bool), (BITMASKS, int), (LONGS, int)):
        for number in wanted:
            assert type(facts[number]) is type_, number
    assert facts[MAP] == []
    types = {row.as_py(): column.type_code for row, column in zip(*_facts(driver), strict=True)}
    assert {types[number] for number in BITMASKS} == {3}
    assert {types[number] for number in LONGS} == {2}
    assert (facts[504], facts[531], facts[532]) == ('"', "catalog", True)


def _facts(driver: Driver) -> tuple[Any, Any]:
    table = driver.ask(sql.CommandGetSqlInfo()).combine_chunks()
    return table["info_name"], table["value"].chunk(0)


def test_it_shows_the_tree(driver: Driver) -> None:
    assert driver.ask(sql.CommandGetCatalogs())["catalog_name"].to_pylist() == ["releases"]
    assert driver.ask(sql.CommandGetTableTypes())["table_type"].to_pylist() == ["TABLE"]
    schemas = driver.ask(sql.CommandGetDbSchemas(catalog="releases", db_schema_filter_pattern="%"))
    assert "main" in schemas["db_schema_name"].to_pylist()
    named = sql.CommandGetTables(
        catalog="releases",
        db_schema_filter_pattern="main",
        table_name_filter_pattern="%",
        table_types=["TABLE", "VIEW"],
    )
    assert "discharges" in driver.ask(named)["table_name"].to_pylist()
    columns = sql.CommandGetTables(
        catalog="releases", db_schema_filter_pattern="main", table_name_filter_pattern="discharges", include_schema=True
    )
    (schema,) = driver.ask(columns)["table_schema"].to_pylist()
    fields = pa.ipc.read_schema(pa.py_buffer(schema))
    assert fields.field("charge").metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"] == b"DOUBLE"
    place = {"catalog": "releases", "db_schema": "main", "table": "discharges"}
    for message in (sql.CommandGetPrimaryKeys, sql.CommandGetImportedKeys, sql.CommandGetExportedKeys):
        assert driver.ask(message(**place)).num_rows == 0
    assert driver.ask(sql.CommandGetCrossReference(pk_table="discharges", fk_table="discharges")).num_rows == 0


def test_types_have_their_numbers(driver: Driver) -> None:
    types = driver.ask(sql.CommandGetXdbcTypeInfo()).to_pylist()
    assert [(row["data_type"], row["type_name"]) for row in types] == sorted(
        (row["data_type"], row["type_name"]) for row in types
    )
    assert {row["type_name"] for row in driver.ask(sql.CommandGetXdbcTypeInfo(data_type=93)).to_pylist()} == {
        "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE",
    }


def test_it_opens_a_table_and_runs_what_is_typed(driver: Driver) -> None:
    opened = driver.execute('SELECT t.* FROM releases."main".discharges t\nLIMIT 200')
    assert opened.num_rows == 60
    assert driver.execute('SELECT x.* FROM "releases"."main"."discharges" x ORDER BY x.charge LIMIT 3').num_rows == 3
    assert driver.execute("SELECT count(*) AS n FROM (\nSELECT * FROM discharges\n) dbvrcnt")["n"].to_pylist() == [60]
    found = driver.execute("SELECT ward, charge FROM discharges WHERE ward = ? AND charge > ?", a="ward 1", b=10.0)
    assert set(found["ward"].to_pylist()) == {"ward 1"}


def test_a_catalog_may_be_chosen(driver: Driver) -> None:
    def set_option(name: str, value: str) -> dict[str, int]:
        request = sql.SetSessionOptionsRequest()
        request.session_options[name].string_value = value
        result = sql.SetSessionOptionsResult.FromString(driver.act("SetSessionOptions", request.SerializeToString()))
        return {of: error.value for of, error in result.errors.items()}

    assert set_option("catalog", "releases") == {}
    assert set_option("schema", "Main") == {}
    assert set_option("catalog", "other") == {"catalog": 2}
    assert set_option("time_zone", "UTC") == {"time_zone": 1}
    assert driver.act("CloseSession", b"") == b"\x08\x01"
