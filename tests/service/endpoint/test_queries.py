"""Queries by clients that are not ours: the ADBC driver of Flight SQL, and pyarrow's Flight."""

import base64
import json
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import duckdb
import pyarrow as pa
import pytest
from adbc_driver_manager import Error, OperationalError
from google.protobuf import any_pb2
from google.protobuf.message import Message
from pyarrow import flight

from tableveil.audit import verify
from tableveil.audit.entry import read_entries
from tableveil.endpoint.endpoint import Endpoint
from tableveil.endpoint.settings import QueryLimits, UseLimits
from tableveil.flight_sql import flight_sql_pb2 as sql
from tests.service.endpoint.published import DISCHARGES, LIMITS, KnownReaders, connected, publish, serving

WAITING_SECONDS = 60.0
SHORT = QueryLimits(seconds=1.0)
ANN, BOB = (flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {who}".encode())]) for who in ("ann", "bob"))


def rows(connection: flight_sql.Connection, statement: str, *parameters: object) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)
        return cursor.fetchall()


def refused(connection: flight_sql.Connection, statement: str, *parameters: object) -> str:
    with pytest.raises(Error) as raised:
        rows(connection, statement, *parameters)
    return str(raised.value)


def packed(message: Message) -> bytes:
    command = any_pb2.Any()
    command.Pack(message)
    return command.SerializeToString()


def test_an_analyst_gets_the_rows_of_a_release(ann: flight_sql.Connection) -> None:
    with ann.cursor() as cursor:
        cursor.execute("FROM discharges ORDER BY charge")
        found = cursor.fetch_arrow_table()
    with duckdb.connect() as connection:
        assert found.equals(connection.sql(DISCHARGES).to_arrow_table())


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT age, count(*), sum(stay) FROM discharges GROUP BY age ORDER BY age",
         [("[0, 40[", 31, Decimal(395)), ("[40, 90[", 29, Decimal(1123))]),
        ("SELECT ward, \"Name \"\"x\" FROM research.\"Ward names\" ORDER BY ward LIMIT 1", [("ward 0", "Ä")]),
        ("SELECT count(*) FROM discharges JOIN research.\"Ward names\" USING (ward)", [(60,)]),
        ("WITH a AS (FROM discharges WHERE age_from > 0), b AS (FROM a) SELECT count(*) FROM a JOIN b USING (day)",
         [(29,)]),
        ("SELECT main.discharges.age FROM discharges LIMIT 1", [("[0, 40[",)]),
        ("SELECT Width_Bucket(7, 0, 10, 5), WIDTH_BUCKET(0, 0, 10, 5)", [(4, 1)]),
        ("SELECT releases.main.discharges.age FROM releases.main.discharges LIMIT 1", [("[0, 40[",)]),
        ("SELECT CAST('5c0a1b9e-8f3c-4b1a-9a39-6b3a1c7d2e11' AS UUID), 1::HUGEINT AS x, 2 AS x",
         [("5c0a1b9e-8f3c-4b1a-9a39-6b3a1c7d2e11", Decimal(1), 2)]),
        ("SELECT records FROM discharges_classes ORDER BY ALL", [(29,), (31,)]),
        ("SELECT NULL WHERE false", []),
        ("SELECT age_from, percentile_cont(0.5) WITHIN GROUP (ORDER BY charge DESC), percentile_disc(0.9) WITHIN GROUP "
         "(ORDER BY stay) FILTER (WHERE stay < 40) FROM discharges GROUP BY age_from ORDER BY age_from",
         [(0, 22.5, 27), (40, 67.5, 39)]),
        ("WITH few AS (FROM discharges WHERE charge < 30) SELECT * FROM (PIVOT few ON ward IN ('ward 1', 'ward 2') "
         "USING sum(charge) GROUP BY age_from)", [(0, 105.0, 85.5)]),
        ("WITH d AS (SELECT ward, charge FROM discharges) PIVOT d ON ward IN ('ward 0') USING max(charge)", [(85.5,)]),
        ("SELECT * FROM (PIVOT discharges ON ward USING count(*) GROUP BY age_from) ORDER BY age_from",
         [(0, 11, 10, 10), (40, 9, 10, 10)]),
        ("SELECT n, count(v) FROM (UNPIVOT discharges ON stay, charge INTO NAME n VALUE v) GROUP BY n ORDER BY n",
         [("charge", 60), ("stay", 51)]),
        ("SELECT i, unnest([i, -i]) FROM range(1, 3) r(i)", [(1, 1), (1, -1), (2, 2), (2, -2)]),
        ("SELECT month(m) FROM generate_series(DATE '2024-01-01', DATE '2024-03-31', INTERVAL 1 MONTH) AS s(m)",
         [(1,), (2,), (3,)]),
        ("SELECT width_bucket(charge, 0, 60, 3) AS b, count(*) FROM discharges GROUP BY b ORDER BY b",
         [(1, 14), (2, 13), (3, 13), (4, 20)]),
        ("SELECT width_bucket(x, 10, 0, 2) FROM unnest([11, 10, 6, 5, 0]) AS u(x)", [(0,), (1,), (1,), (2,), (3,)]),
        ("SELECT max(COLUMNS('charge|stay')) FROM discharges", [(88.5, 59)]),
        ("DESCRIBE SELECT 1 AS x", [("x", "INTEGER", "YES", None, None, None)]),
    ],
)  # fmt: skip
def test_ordinary_questions(ann: flight_sql.Connection, statement: str, expected: list[tuple[object, ...]]) -> None:
    assert rows(ann, statement) == expected


def test_each_caller_is_told_of_the_tables_that_it_may_read(endpoint: Endpoint, ann: flight_sql.Connection) -> None:
    assert rows(ann, "SHOW TABLES") == [("Ward names",), ("discharges",), ("discharges_classes",)]
    told = "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'discharges'"
    assert rows(ann, told)[:2] == [("age", "VARCHAR", "YES"), ("age_from", "INTEGER", "YES")]
    with connected(endpoint, "bob") as bob:
        assert rows(bob, "SHOW ALL TABLES;") == [("releases", "research", "Ward names", None)]
        assert rows(bob, "SHOW SCHEMAS") == [("research",)]
        assert rows(bob, told) == []
        counted = "SELECT count(*) FROM releases.INFORMATION_SCHEMA.Tables JOIN information_schema.schemata ON true"
        assert rows(bob, counted) == [(1,)]
        assert "TABLE_NOT_FOUND" in refused(bob, "PIVOT discharges ON ward USING count(*)")
    with connected(endpoint, "eve") as eve:
        assert rows(eve, "SHOW TABLES") == []


def test_statements_are_as_the_validation_suite_of_adbc_writes_them(ann: flight_sql.Connection) -> None:
    assert len(rows(ann, "SELECT current_date;;;")) == 1
    assert rows(ann, "SELECT * FROM discharges WHERE 1=0") == []
    with ann.cursor() as cursor:
        partitions, _ = cursor.adbc_execute_partitions("SELECT 42")
        cursor.adbc_read_partition(partitions[0])
        assert cursor.fetchall() == [(42,)]


def test_parameters_have_names(ann: flight_sql.Connection) -> None:
    statement = "SELECT count(*) FROM discharges WHERE charge >= $least AND charge < $most OR charge = $least"
    assert rows(ann, statement, 15, 30) == [(10,)]
    with ann.cursor() as cursor:
        cursor.execute(statement, pa.record_batch({"most": [30], "LEAST": [15]}))
        assert cursor.fetchall() == [(10,)]
        prepared = cursor.adbc_prepare(statement)
        assert prepared is not None
        assert prepared.names == ["least", "most"]


def test_values_within_others_arrive_as_they_are(tmp_path: Path) -> None:
    """DuckDB gives Arrow times without their zone, bits as bytes, and -1 for the largest number."""
    (tmp_path / "published").mkdir()
    values = f"""'12:00:00+05:30'::TIMETZ AS opens, '0101'::BIT AS "it""s", {2**128 - 1} AS n"""
    publish(tmp_path / "published", 1, "main", {"places": f"SELECT {values}"})
    expected = {
        "[opens, NULL]": ["12:00:00+05:30", None],
        'list(["it""s"])': [["0101"]],
        "[n]::UINT128[1]": ["340282366920938463463374607431768211455"],
        "(opens, 1)": {"element1": "12:00:00+05:30", "element2": 1},
        'histogram("it""s")': [("0101", 1)],
        "[places]": [{"opens": "12:00:00+05:30", 'it"s': "0101", "n": "340282366920938463463374607431768211455"}],
        "[1::UTINYINT, 2]": [1, 2],
    }
    with serving(tmp_path, KnownReaders(ann={1})) as endpoint, connected(endpoint) as ann, ann.cursor() as cursor:
        for value, found in expected.items():
            cursor.execute(f"SELECT {value} AS found, 1 AS beside FROM places GROUP BY ALL")
            assert cursor.fetch_arrow_table().to_pylist() == [{"found": found, "beside": 1}]
        assert "Could not cast value" in refused(ann, f"SELECT [{2**127 - 1}::HUGEINT]")


def test_nothing_is_sent_under_nulls(ann: flight_sql.Connection) -> None:
    """DuckDB leaves there whatever was in the memory; here these are the numbers themselves."""
    with ann.cursor() as cursor:
        cursor.execute("SELECT nullif(age_from + 1, age_from + 1) AS x FROM discharges")
        (found,) = cursor.fetch_arrow_table().column("x").chunks
    assert len(found) == 60
    assert not any(found.buffers()[-1].to_pybytes())


def test_parameters_are_bound(ann: flight_sql.Connection) -> None:
    counting = "SELECT count(*) FROM discharges WHERE age_from >= ? AND ward = ? AND day < ?"
    assert rows(ann, counting, 40, "ward 1", date(2024, 2, 10)) == [(3,)]
    assert rows(ann, counting, "40", "ward 1' OR '1' = '1", "2024-02-10") == [(0,)]
    assert rows(ann, "SELECT $2, $1, $2", 1, "x") == [("x", 1, "x")]
    assert "PARAMETERS_INVALID" in refused(ann, "SELECT ?", 1, 2)
    assert "PARAMETERS_MISSING" in refused(ann, "SELECT ?")
    with ann.cursor() as cursor, pytest.raises(Error, match="execute a SELECT with rows of parameters"):
        cursor.executemany("SELECT ?", [(1,), (2,)])


def many(connection: flight_sql.Connection, statement: str, **columns: object) -> pa.Table:
    with connection.cursor() as cursor:
        cursor.execute(statement, pa.table(columns))
        return cursor.fetch_arrow_table()


def test_rows_of_parameters_are_asked_one_after_the_other(ann: flight_sql.Connection) -> None:
    # As the validation suite of ADBC asks.
    found = many(ann, "SELECT ?, ?", a=pa.array([42, -42, None], pa.int64()), b=["", None, "bar"])
    assert [tuple(row.values()) for row in found.rename_columns(["a", "b"]).to_pylist()] == [
        (42, ""),
        (-42, None),
        (None, "bar"),
    ]
    statement = "SELECT ward, count(*) AS n, $least AS least FROM discharges WHERE charge >= $least AND ward <> $w"
    statement += " GROUP BY ward ORDER BY ward LIMIT 1"
    least, wards = [None, 15, 2**40, 80.5], ["ward 1", "ward 0", "ward 0", None]
    for of in (least, [None, *map(Decimal, ("15", "33.5")), None], [None, "15", "30", "60"], ["30"], [None] * 4):
        bound = wards[: len(of)]
        one_by_one = [row for pair in zip(of, bound, strict=True) for row in rows(ann, statement, *pair)]
        found = many(ann, statement, W=bound, least=pa.array(of))
        assert [tuple(row.values()) for row in found.to_pylist()] == one_by_one
    # A column has the type that holds all answers.
    assert many(ann, "SELECT ? AS x", x=[1, 2**40, 2]).schema.field("x").type == pa.int64()
    assert many(ann, "SELECT ? AS x, 'a' AS x", x=[1, 2**40, 2]).column_names == ["x", "x"]


def test_no_rows_of_parameters_give_no_rows(ann: flight_sql.Connection) -> None:
    found = many(ann, "SELECT count(*) AS n FROM discharges WHERE charge > ?", x=pa.array([], pa.int64()))
    assert (found.num_rows, found.schema.field("n").type) == (0, pa.int64())


def test_rows_of_parameters_have_limits(ann: flight_sql.Connection, endpoint: Endpoint) -> None:
    assert many(ann, "SELECT ? AS x", x=range(1_000)).column("x").to_pylist() == [*range(1_000)]
    with pytest.raises(Error, match="1,001 rows of 1 parameters; expected at most 1,000 rows of 1"):
        many(ann, "SELECT ?", x=range(1_001))
    with pytest.raises(Error, match="2 rows of 2 parameters; expected at most 1,000 rows of 1"):
        many(ann, "SELECT ?", x=[1, 2], y=[1, 2])
    with pytest.raises(Error, match="Could not convert string 'a' to INT"):
        many(ann, "SELECT CAST(? AS INTEGER)", x=["1", "a"])
    assert "PARAMETERS_MISSING" in refused(ann, "SELECT ?")
    assert rows(ann, "SELECT 1") == [(1,)]


@pytest.mark.parametrize("word", ["EXPLAIN", "EXPLAIN ANALYZE", "DESCRIBE", "SUMMARIZE"])
def test_rows_of_parameters_of_statements_about_statements(ann: flight_sql.Connection, word: str) -> None:
    one, two = (many(ann, f"{word} SELECT ward, ? AS x FROM discharges", x=[4] * count).num_rows for count in (1, 2))
    assert two == 2 * one > 0


def test_parameters_with_offsets_beyond_them_read_no_memory(endpoint: Endpoint) -> None:
    """Arrow checks none: 400,000 bytes of the process came back as the parameter's value."""
    batch = pa.record_batch([pa.array([b"x" * 64])], ["x"])
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as written:
        written.write_batch(batch)
    sound = stream.getvalue().to_pybytes()
    head, _, tail = sound.rpartition(struct.pack("<2i", 0, 64))
    beyond = head + struct.pack("<2i", 0, 400_000) + tail
    with flight.connect(endpoint.uri) as client:

        def bound(parameters: bytes) -> list[dict[str, object]]:
            handle = json.dumps(["SELECT ? AS x", base64.b64encode(parameters).decode()]).encode()
            ticket = flight.Ticket(packed(sql.TicketStatementQuery(statement_handle=handle)))
            found: list[dict[str, object]] = client.do_get(ticket, ANN).read_all().to_pylist()
            return found

        assert bound(sound) == [{"x": b"x" * 64}]
        for damaged in (beyond, b"junk"):
            with pytest.raises(pa.ArrowInvalid, match="PARAMETERS_INVALID"):
                bound(damaged)
        command = sql.CommandPreparedStatementQuery(prepared_statement_handle=b'["SELECT ?", null]')
        put, _ = client.do_put(flight.FlightDescriptor.for_command(packed(command)), batch.schema, ANN)
        put.write_batch(pa.ipc.open_stream(beyond).read_next_batch())
        with pytest.raises(pa.ArrowInvalid, match="PARAMETERS_INVALID"):
            put.close()


def test_a_client_finds_what_there_is(ann: flight_sql.Connection, endpoint: Endpoint) -> None:
    assert ann.adbc_get_info()["vendor_name"] == "Tableveil"
    assert ann.adbc_get_table_types() == ["TABLE"]
    assert ann.adbc_get_table_schema("discharges").names == ["age", "age_from", "ward", "charge", "day", "stay"]
    (catalog,) = ann.adbc_get_objects(depth="all").read_all().to_pylist()
    assert catalog["catalog_name"] == "releases"
    assert {
        (schema["db_schema_name"], table["table_name"])
        for schema in catalog["catalog_db_schemas"]
        for table in schema["db_schema_tables"]
    } == {("main", "discharges"), ("main", "discharges_classes"), ("research", "Ward names")}
    with connected(endpoint, "bob") as bob:
        (catalog,) = bob.adbc_get_objects(depth="all", table_name_filter="%").read_all().to_pylist()
        assert [schema["db_schema_name"] for schema in catalog["catalog_db_schemas"]] == ["research"]


def test_releases_of_others_are_not_there(ann: flight_sql.Connection, endpoint: Endpoint) -> None:
    def told(connection: flight_sql.Connection, table: str) -> str:
        return refused(connection, f"FROM {table}").partition("Did you")[0].replace(table, "")

    with connected(endpoint, "bob") as bob, connected(endpoint, "eve") as eve:
        assert "TABLE_NOT_FOUND" in refused(bob, "FROM discharges")
        assert told(bob, "discharges") == told(bob, "there_is_none")
        assert rows(bob, 'SELECT count(*) FROM research."Ward names"') == [(3,)]
        assert "TABLE_NOT_FOUND" in refused(eve, 'FROM research."Ward names"')


@pytest.mark.parametrize("who", ["", "mallory"])
def test_strangers_learn_nothing(endpoint: Endpoint, who: str) -> None:
    with pytest.raises(Error, match="UNAUTHENTICATED"), connected(endpoint, who) as stranger:
        rows(stranger, "SELECT 1")


def test_a_password_may_be_the_token(endpoint: Endpoint) -> None:
    with connected(endpoint, "", username="anybody", password="bob") as bob:
        assert rows(bob, 'SELECT count(*) FROM research."Ward names"') == [(3,)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT nothing FROM discharges",
        "SELECT ward::INTEGER FROM discharges",
        "FROM nothing",
        "DROP TABLE discharges",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT",
        "SELECT (SELECT age FROM discharges)::INTEGER",
        "SELECT date '2024-13-01'",
    ],
)
def test_errors_tell_the_reason_and_no_path(ann: flight_sql.Connection, place: Path, statement: str) -> None:
    told = refused(ann, statement)
    assert "found" in told
    assert "expected" in told
    for secret in (str(place), "/published", ".duckdb", "Traceback", "File ", "LINE 1"):
        assert secret not in told


def test_answers_name_no_path(ann: flight_sql.Connection, place: Path) -> None:
    for asked in ("EXPLAIN FROM discharges", "EXPLAIN ANALYZE SELECT count(*) FROM discharges", "DESCRIBE discharges"):
        assert str(place) not in str(rows(ann, asked))


def test_raw_flight_is_refused_in_order(endpoint: Endpoint) -> None:
    with flight.connect(endpoint.uri) as client:
        for data in (b"", b"junk", b"\x0a\x10type.none.at.all"):
            with pytest.raises(pa.ArrowNotImplementedError, match="COMMAND_INVALID"):
                client.get_flight_info(flight.FlightDescriptor.for_command(data), ANN)
            with pytest.raises(pa.ArrowNotImplementedError, match="COMMAND_INVALID"):
                client.do_get(flight.Ticket(data), ANN).read_all()
            with pytest.raises(pa.ArrowNotImplementedError, match="COMMAND_INVALID"):
                list(client.do_action(flight.Action("DropTable", data), ANN))
        with pytest.raises(flight.FlightUnauthenticatedError):
            client.get_flight_info(flight.FlightDescriptor.for_path("x"))
        writer, _ = client.do_put(flight.FlightDescriptor.for_command(b"x"), pa.schema([("x", pa.int32())]), ANN)
        with pytest.raises(pa.ArrowInvalid, match="COMMAND_INVALID"):
            writer.close()


def test_results_of_any_size_are_streamed(ann: flight_sql.Connection) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT a.i FROM n a, n b"
    with ann.cursor() as cursor:
        cursor.execute(f"{numbers}, discharges LIMIT 2000000")
        assert sum(batch.num_rows for batch in cursor.fetch_record_batch()) == 2_000_000


def test_a_client_that_leaves_ends_its_query(endpoint: Endpoint, ann: flight_sql.Connection) -> None:
    with ann.cursor() as cursor:
        cursor.execute("SELECT a.* FROM discharges a, discharges b, discharges c, discharges d, discharges e")
        reader = cursor.fetch_record_batch()
        assert reader.read_next_batch().num_rows > 0
        reader.close()
    deadline = time.monotonic() + WAITING_SECONDS
    while endpoint.processes.running:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert rows(ann, "SELECT 1") == [(1,)]


Limited = Callable[[QueryLimits], Endpoint]


@pytest.fixture(scope="module")
def limited(place: Path) -> Iterator[Limited]:
    with ExitStack() as running:
        yield cache(lambda limits: running.enter_context(serving(place, KnownReaders(ann={7}), limits)))


@pytest.mark.parametrize(
    ("limits", "statement", "reason"),
    [
        (SHORT, "SELECT count(*) FROM {0} a, {0} b, {0} c, {0} d, {0} e, {0} f, {0} g", "QUERY_TIME"),
        pytest.param(SHORT, "SELECT 1 AS a0" + "".join(f", a{i}+a{i} AS a{i + 1}" for i in range(40)), "QUERY_TIME",
                     marks=pytest.mark.long),
        (LIMITS, "SELECT max(length(lpad('x', (2000000000 + stay)::INTEGER, 'y'))) FROM {0}", "QUERY_MEMORY"),
        pytest.param(QueryLimits(memory=64 * 2**20, spill=2**24),
                     "SELECT a.ward FROM {0} a, {0} b, {0} c, {0} d ORDER BY a.charge + b.charge * c.charge, d.day",
                     "_MEMORY", marks=pytest.mark.long),
        (LIMITS, "SELECT lpad('x', 17000000 + charge::INTEGER, 'y') FROM {0} LIMIT 1", "RESULT_TOO_LARGE"),
        (LIMITS, f"WITH a AS (SELECT 1 AS {'x' * 2000}), b AS (SELECT * FROM {', '.join(f'a a{i}' for i in range(24))})"
         f" SELECT * FROM {', '.join(f'b b{i}' for i in range(24))}", "RESULT_TOO_LARGE"),
        pytest.param(QueryLimits(result=2**20), "SELECT a.ward FROM {0} a, {0} b, {0} c, {0} d, {0} e",
                     "RESULT_TOO_LARGE", marks=pytest.mark.long),
    ],
    ids=["time", "binding", "memory", "spill", "row", "columns", "result"],
)  # fmt: skip
def test_a_query_that_takes_too_much_is_ended(
    limited: Limited, limits: QueryLimits, statement: str, reason: str
) -> None:
    endpoint = limited(limits)
    with connected(endpoint) as ann:
        assert reason in refused(ann, statement.format("discharges"))
        assert rows(ann, "SELECT count(*) FROM discharges") == [(60,)]
        assert not endpoint.processes.running


def test_principals_have_limits_of_their_own(place: Path) -> None:
    use = UseLimits(queries=4, queries_per_principal=1, connections_per_principal=2)
    with (
        serving(place, KnownReaders(ann={7}, bob={8}), use=use) as endpoint,
        connected(endpoint) as ann,
        connected(endpoint) as second,
        connected(endpoint, "bob") as bob,
        ann.cursor() as running,
    ):
        running.execute("SELECT a.* FROM discharges a, discharges b, discharges c, discharges d, discharges e")
        reader = running.fetch_record_batch()
        reader.read_next_batch()
        with pytest.raises(OperationalError, match="TOO_MANY_CONNECTIONS"), connected(endpoint) as third:
            rows(third, "SELECT 1")
        assert rows(bob, "SELECT 1") == [(1,)], "others have places of their own"
        reader.close()
        assert rows(second, "SELECT 1") == [(1,)], "a free place"


def test_a_connection_that_was_closed_counts_no_more(place: Path) -> None:
    with serving(place, KnownReaders(ann={7}), use=UseLimits(connections_per_principal=2)) as endpoint:
        for _ in range(10):
            with connected(endpoint) as ann:
                assert rows(ann, "SELECT 1") == [(1,)]


def test_replaced_and_withdrawn_releases(tmp_path: Path) -> None:
    published = tmp_path / "published"
    published.mkdir()
    # More than all buffers between the endpoint and its clients take.
    old = publish(published, 1, "main", {"t": "SELECT repeat('old', 60) AS x FROM range(1000000)"})
    service = KnownReaders(ann={1, 2}, bob={1})
    with (
        serving(tmp_path, service) as endpoint,
        connected(endpoint) as ann,
        ann.cursor() as running,
        flight.connect(endpoint.uri) as client,
    ):
        running.execute("FROM t")
        reader = running.fetch_record_batch()
        reader.read_next_batch()
        ticket = sql.TicketStatementQuery(statement_handle=json.dumps(["FROM t", None]).encode())
        stream = client.do_get(flight.Ticket(packed(ticket)), BOB)
        stream.read_chunk()
        new = publish(published, 2, "main", {"t": "SELECT 'new' AS x"})
        old.unlink()
        assert rows(ann, "FROM t") == [("new",)]
        new.unlink()
        assert "TABLE_NOT_FOUND" in refused(ann, "FROM t")
        service.withdrawn["ann"] = (("main", "t", "2026-11-20"),)
        service.withdrawn["bob"] = (("main", "other", "2026-11-20"),)
        # Another file, and the service is asked again.
        publish(published, 5, "main", {"other": "SELECT 1 AS x"})
        for table in ("t", "main.T", "releases.main.t_about"):
            assert "RELEASE_WITHDRAWN" in (told := refused(ann, f"FROM {table}"))
            assert "withdrawn on 2026-11-20" in told
        assert "TABLE_NOT_FOUND" in refused(ann, "FROM t_other")
        with connected(endpoint, "bob") as bob:
            assert "TABLE_NOT_FOUND" in refused(bob, "FROM t"), "nobody else is told"
        del service.withdrawn["ann"]
        publish(published, 3, "main", {"t": "SELECT 'third' AS x"})
        assert "TABLE_NOT_FOUND" in refused(ann, "FROM t"), "a file is no right to read it"
        # The query that ran goes on.
        assert sum(batch.num_rows for batch in reader) > 500_000
        # Unless its caller is not let in any more.
        del service.releases["bob"]
        publish(published, 4, "main", {"t": "SELECT 'the service is asked again' AS x"})
        # The endpoint looks again in a moment; the rows do not fit into the buffers until then.
        time.sleep(4)
        with pytest.raises(flight.FlightUnauthenticatedError):
            stream.read_all()


def test_a_file_that_cannot_be_read_hides_its_release_alone(tmp_path: Path) -> None:
    published = tmp_path / "published"
    published.mkdir()
    publish(published, 1, "main", {"t": "SELECT 1 AS x"})
    (published / "releases-2.duckdb").write_bytes(b"no database")
    (published / "releases-03.duckdb").write_bytes(b"no name of a release")
    (published / ".releases-4.new").write_bytes(b"half written")
    with serving(tmp_path, KnownReaders(ann={1, 2, 3, 4})) as endpoint, connected(endpoint) as ann:
        assert rows(ann, "FROM t") == [(1,)]


def test_every_call_is_recorded(tmp_path: Path) -> None:
    published = tmp_path / "published"
    published.mkdir()
    publish(published, 5, "main", {"t": "SELECT 'a value' AS x"})
    with serving(tmp_path, KnownReaders(ann={5})) as endpoint, connected(endpoint) as ann:
        rows(ann, "SELECT 'a literal', x FROM t")
        refused(ann, "FROM nothing")
        with pytest.raises(Error), connected(endpoint, "mallory") as mallory:
            rows(mallory, "SELECT 1")
    (path,) = tmp_path.glob("*.audit.jsonl")
    assert verify([path]).faults == ()
    entries = list(read_entries(path))
    assert [entry.event for entry in entries[:1] + entries[-1:]] == ["STARTED", "STOPPED"]
    (begun,) = [entry for entry in entries if entry.event == "BEGIN"]
    (ended,) = [entry for entry in entries if entry.event == "END"]
    assert (begun.principal, begun.method, begun.resources) == ("ann", "TicketStatementQuery", ("releases/5",))
    assert (ended.code, ended.count, ended.correlation) == ("OK", 1, begun.correlation)
    assert any(entry.reason == "TABLE_NOT_FOUND" and entry.decision == "REFUSED" for entry in entries)
    assert any(entry.event == "REFUSALS" and entry.code == "UNAUTHENTICATED" for entry in entries)
    assert not any(secret in path.read_text() for secret in ("a value", "a literal", "mallory"))
