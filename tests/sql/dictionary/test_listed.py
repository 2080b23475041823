"""Written-out hierarchies: from the policy, a table or the store, versioned, and refused where they are unsound."""

from __future__ import annotations

import pytest

from tableveil.backend import Session
from tableveil.dictionary import listed_levels
from tableveil.errors import NotFoundError
from tableveil.hierarchy import InlineLevels, ListedHierarchy, StoredLevels, TableLevels
from tableveil.state import hierarchies

ROWS = (("a", "x", "*"), ("b", "x", "*"))
OTHER = (("a", "y", "*"), ("b", "y", "*"))


def listed(session: Session, definition: ListedHierarchy) -> tuple[tuple[tuple[str, ...], ...], str]:
    levels, reference, faults = listed_levels(session, definition, "attributes[0].hierarchy", "t.zip")
    assert faults == []
    assert levels is not None
    return levels.rows, reference


def faults_of(session: Session, definition: ListedHierarchy) -> list[tuple[str, str, str]]:
    levels, reference, faults = listed_levels(session, definition, "attributes[0].hierarchy", "t.zip")
    assert levels is None
    assert reference == ""
    return [(fault.field.removeprefix("attributes[0].hierarchy."), fault.found, fault.hint) for fault in faults]


# --- the store ------------------------------------------------------------------------------------------------------


def test_each_change_is_a_version_and_the_same_rows_are_the_same_one(session: Session) -> None:
    assert listed(session, InlineLevels(ROWS)) == (ROWS, "t.zip@1")
    assert listed(session, InlineLevels(OTHER)) == (OTHER, "t.zip@2")
    assert listed(session, InlineLevels(ROWS)) == (ROWS, "t.zip@1")
    assert [(s.name, s.version, s.levels, s.row_count) for s in hierarchies.page(session, ("", 0), 10)] == [
        ("t.zip", 2, 3, 2),
        ("t.zip", 1, 3, 2),
    ]


def test_stored_by_version_or_newest(session: Session) -> None:
    hierarchies.create(session, "zips", ROWS)
    hierarchies.create(session, "zips", OTHER)
    assert listed(session, StoredLevels("zips", 1)) == (ROWS, "zips@1")
    assert listed(session, StoredLevels("zips", 2)) == (OTHER, "zips@2")
    assert listed(session, StoredLevels("zips")) == (OTHER, "zips@2")


def test_stored_that_is_not_there(session: Session) -> None:
    hierarchies.create(session, "zips", ROWS)
    assert faults_of(session, StoredLevels("zipz")) == [("stored.name", "'zipz'", "Did you mean 'zips'?")]
    assert faults_of(session, StoredLevels("zips", 2)) == [("stored.version", "2", "")]
    with pytest.raises(NotFoundError) as raised:
        hierarchies.find(session, "zips", 7)
    assert raised.value.code == "HIERARCHY_NOT_FOUND"


@pytest.mark.parametrize("name", ['it"s; DROP TABLE x', "größe 漢字", "n" * 10_000, "select", " "])
def test_names_and_labels_of_any_kind(session: Session, name: str) -> None:
    rows = ((name, "l'1\"", "*"), ("b\n\t", "é", "*"))
    stored = hierarchies.create(session, name, rows)
    assert stored.reference == f"{name}@1"
    assert listed(session, StoredLevels(name))[0] == rows


def test_pages_by_name_and_newest_first(session: Session) -> None:
    for name, versions in (("b", 2), ("a", 1), ("c", 3)):
        for version in range(versions):
            hierarchies.create(session, name, (*ROWS, (f"c{version}", "x", "*")))
    found, after = [], ("", 0)
    while page := hierarchies.page(session, after, 2):
        found += [(stored.name, stored.version) for stored in page]
        after = found[-1]
    assert found == [("a", 1), ("b", 2), ("b", 1), ("c", 3), ("c", 2), ("c", 1)]


# --- tables ---------------------------------------------------------------------------------------------------------


def test_a_table_by_all_or_named_columns(session: Session) -> None:
    session.execute('CREATE TABLE zips (code INTEGER, "Region; 1" VARCHAR, top VARCHAR)')
    session.execute("INSERT INTO zips VALUES (2, 'r', '*'), (1, 'r', '*')")
    every = (("1", "r", "*"), ("2", "r", "*"))
    assert listed(session, TableLevels("", "main", "zips")) == (every, "t.zip@1")
    assert listed(session, TableLevels("test", "", "zips")) == (every, "t.zip@1")
    assert listed(session, TableLevels("", "main", "zips", ("code", "top")))[0] == (("1", "*"), ("2", "*"))


def test_a_table_in_any_order_of_rows_is_the_same_version(session: Session) -> None:
    session.execute("CREATE TABLE zips AS SELECT * FROM (VALUES ('b', '*'), ('a', '*'))")
    session.execute("CREATE TABLE spiz AS SELECT * FROM (VALUES ('a', '*'), ('b', '*'))")
    first, second = (listed(session, TableLevels("", "main", name)) for name in ("zips", "spiz"))
    assert first == second


def test_tables_and_columns_that_are_not_there(session: Session) -> None:
    session.execute("CREATE TABLE zips (code INTEGER, region VARCHAR, top VARCHAR)")
    assert faults_of(session, TableLevels("elsewhere", "main", "zips")) == [("table.table.catalog", "'elsewhere'", "")]
    assert faults_of(session, TableLevels("", "main", "zip")) == [
        ("table.table.table", "'zip'", "Did you mean 'zips'?")
    ]
    assert faults_of(session, TableLevels("", "main", "zips", ("code", "regoin", "tip"))) == [
        ("table.columns[1]", "'regoin'", "Did you mean 'region'?"),
        ("table.columns[2]", "'tip'", "Did you mean 'top'?"),
    ]


@pytest.mark.parametrize("schema", ["tableveil", "Tableveil"])
def test_tableveils_own_state_is_no_hierarchy(session: Session, schema: str) -> None:
    assert [field for field, *_ in faults_of(session, TableLevels("", schema, "secrets"))] == ["table.table.schema"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param("('a', 'x', '*'), ('b', 'x', '*'), ('a', 'y', '*')", "rows[1].labels[0]", id="repeated value"),
        pytest.param("('a', 'x', 'p', '*'), ('b', 'x', 'q', '*')", "rows[1].labels[2]", id="levels that do not nest"),
        pytest.param("('a', 'x', '*'), ('b', 'x', '+')", "rows[1].labels[2]", id="two tops"),
        pytest.param("('a', NULL, '*'), ('b', 'x', '*')", "rows[0].labels[1]", id="NULL"),
        pytest.param("('a'), ('b')", "rows", id="one column"),
    ],
)
def test_unsound_tables(session: Session, values: str, field: str) -> None:
    session.execute(f"CREATE TABLE zips AS SELECT * FROM (VALUES {values})")
    found = [path for path, *_ in faults_of(session, TableLevels("", "main", "zips"))]
    assert found[0] == f"table.{field}"
    assert hierarchies.page(session, ("", 0), 10) == []


def test_an_empty_table(session: Session) -> None:
    session.execute("CREATE TABLE zips (a VARCHAR, b VARCHAR)")
    assert [field for field, *_ in faults_of(session, TableLevels("", "main", "zips"))] == ["table.rows"]


def test_ragged_rows_in_the_policy(session: Session) -> None:
    rows = (("a", "x", "*"), ("b", "x", "*"), ("c", "*"))
    assert [field for field, *_ in faults_of(session, InlineLevels(rows))] == ["inline.rows[2]"]
