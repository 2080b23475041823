"""The contract of the catalog: what is in the database, under the names that users gave it."""

from collections.abc import Iterator

import pytest

from tableveil.backend import Database, Session, catalog
from tableveil.backend.warehouse import Listed
from tableveil.policy import TableReference
from tests.sql.backend.conftest import tree

ODD = 'we"ird; é'
QUOTED = '"we""ird; é"'

MADE = (
    f"CREATE SCHEMA {QUOTED}",
    "CREATE TABLE b AS SELECT 1 AS i, 'x' AS t UNION ALL SELECT 2, NULL",
    'CREATE TABLE "B2" ("I" BIGINT, d DATE)',
    "CREATE VIEW a AS SELECT i FROM b",
    f"CREATE TABLE {QUOTED}.{QUOTED} AS SELECT 1.5 AS {QUOTED}",
)


@pytest.fixture(scope="module")
def filled(engine_database: Database) -> Database:
    with engine_database.session() as session:
        for statement in MADE:
            session.execute(tree(statement))
    return engine_database


@pytest.fixture
def database(filled: Database) -> Database:
    return filled


@pytest.fixture
def own(session: Session) -> Iterator[Session]:
    """A session with a temporary table of its own, which the catalog does not list."""
    session.execute(tree("CREATE TEMPORARY TABLE unlisted AS SELECT 1 AS i"))
    yield session
    session.execute(tree("DROP TABLE unlisted"))


def test_schemas_are_those_that_users_may_have_tables_in(session: Session) -> None:
    assert sorted(catalog.schemas(session)) == ["main", "tableveil", ODD]


def test_tables_and_views_are_listed_by_name_with_what_is_known_of_their_size(own: Session) -> None:
    expected = [Listed("main", "B2", "table", 0, 0), Listed("main", "a", "view", None, None)]
    assert catalog.listed(own, "main") == [*expected, Listed("main", "b", "table", 2, 4)]
    assert catalog.listed(own, ODD) == [Listed(ODD, ODD, "table", 1, 1)]
    assert catalog.listed(own, "Main") == catalog.listed(own, "nowhere") == []


def test_all_schemas_are_listed_one_after_another(own: Session) -> None:
    everything = catalog.listed(own)
    assert [found for found in everything if found.schema != "tableveil"] == [
        *catalog.listed(own, "main"),
        *catalog.listed(own, ODD),
    ]
    assert everything == sorted(everything, key=lambda found: (found.schema, found.name))
    assert catalog.listed(own, "tableveil")


def test_a_table_is_there_under_its_very_name_only(own: Session) -> None:
    assert catalog.has_table(own, "main", "b")
    assert catalog.has_table(own, ODD, ODD)
    assert not any(catalog.has_table(own, "main", name) for name in ("a", "B", "unlisted", "nothing", ODD))


def test_columns_have_their_order_and_their_types(session: Session) -> None:
    wanted = [found for found in catalog.listed(session) if found.schema != "tableveil"]
    assert catalog.columns(session, wanted) == {
        ("main", "B2"): [("I", "BIGINT"), ("d", "DATE")],
        ("main", "a"): [("i", "INTEGER")],
        ("main", "b"): [("i", "INTEGER"), ("t", "VARCHAR")],
        (ODD, ODD): [(ODD, "DECIMAL(2,1)")],
    }
    assert catalog.columns(session, []) == {}


def test_columns_are_described_alike(session: Session) -> None:
    for (schema, name), columns in catalog.columns(session, catalog.listed(session)).items():
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name))
        assert session.described(tree(f"SELECT * FROM {quoted}")) == columns


def test_views_come_with_their_statements(session: Session) -> None:
    ((schema, name, statement),) = [view for view in catalog.views(session) if view[0] != "tableveil"]
    assert (schema, name) == ("main", "a")
    assert "FROM b" in statement


def test_a_table_is_defined_by_a_statement_also_a_temporary_one(own: Session) -> None:
    for reference in (TableReference(own.catalog, "main", "b"), TableReference("temp", "main", "unlisted")):
        statement = catalog.table_definition(own, reference)
        assert statement.startswith("CREATE")
        assert reference.table in statement
