"""Tables of a warehouse by their names, beside tables of the database whose names have as many dots."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tableveil.backend import Database
from tableveil.client.names import source_reference
from tableveil.control import Control
from tableveil.convert.names import table_from_proto
from tableveil.errors import TableveilError
from tableveil.lookups import Tables
from tableveil.policy import TableReference
from tests.another_duckdb import AnotherDuckDB


@pytest.fixture
def lake(database: Database, tmp_path: Path) -> Iterator[AnotherDuckDB]:
    lake = AnotherDuckDB(tmp_path)
    with lake.database.session() as session:
        session.execute("CREATE SCHEMA clinic")
        session.execute("CREATE TABLE clinic.visits AS SELECT 1 AS a")
    database.warehouses["lake"] = lake
    yield lake
    lake.close()


def rows(database: Database, name: str, schema: str | None = None) -> int:
    wanted = table_from_proto(source_reference(name, schema))
    return Tables(database).describe(wanted, 0, Control()).rows


@pytest.mark.usefixtures("lake")
def test_names_with_dots_are_of_the_warehouse_or_of_the_database(database: Database) -> None:
    with database.session() as session:
        session.execute('CREATE SCHEMA "clinic.old"')
        for number, name in enumerate(('"main"."visits.old"', '"main"."a.b.c"', '"clinic.old"."visits"'), 2):
            session.execute(f"CREATE TABLE {name} AS SELECT i FROM range({number}) r(i)")
    assert rows(database, "lake.clinic.visits") == rows(database, "visits", "lake.clinic") == 1
    assert rows(database, "main.visits.old") == rows(database, "visits.old", "main") == 2
    assert rows(database, "main.a.b.c") == rows(database, "a.b.c", "main") == 3
    assert rows(database, "visits", "clinic.old") == rows(database, "clinic.old.visits") == 4
    for name in ("lake.clinic.nothing", "lake.nothing.visits", "sea.clinic.visits", "tableveil.a.jobs"):
        with pytest.raises(TableveilError):
            rows(database, name)


def test_a_name_without_its_warehouse_says_what_there_is(database: Database) -> None:
    with pytest.raises(TableveilError) as raised:
        rows(database, "sea.clinic.visits")
    (fault,) = raised.value.faults
    assert (fault.field, fault.found) == ("table.catalog", "'sea'")
    assert fault.expected.startswith("a warehouse of the server")


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    "wanted", [TableReference("", "main", "lake.clinic.visits"), TableReference("", "lake.clinic", "visits")]
)
def test_several_names_in_one_field_say_which_fields_they_need(database: Database, wanted: TableReference) -> None:
    with pytest.raises(TableveilError) as raised:
        Tables(database).describe(wanted, 0, Control())
    (fault,) = raised.value.faults
    assert "catalog 'lake', schema 'clinic', table 'visits'" in fault.hint
