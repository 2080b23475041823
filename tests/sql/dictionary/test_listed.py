"""Written-out hierarchies: from the policy, a table or the store, versioned, and refused where they are unsound."""

import pytest

from tableveil.backend import Session
from tableveil.dictionary import listed_levels, new_hierarchy
from tableveil.errors import NotFoundError
from tableveil.hierarchy import (
    InlineLevels,
    ListedHierarchy,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborZip,
    StoredLevels,
    TableLevels,
)
from tableveil.state import hierarchies

ROWS = (("a", "x", "*"), ("b", "x", "*"))
OTHER = (("a", "y", "*"), ("b", "y", "*"))


def listed(session: Session, definition: ListedHierarchy) -> tuple[tuple[tuple[str, ...], ...], str]:
    levels, reference, faults = listed_levels(session, definition, "attributes[0].hierarchy", "t.zip")
    assert faults == []
    assert levels is not None
    if not isinstance(definition, StoredLevels):
        new = new_hierarchy(session, definition, levels, reference, "main")
        reference = hierarchies.create_all(session.ledger, [new])[0].reference
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
    assert [(s.name, s.version, s.levels, s.row_count) for s in hierarchies.page(session.ledger, ("", 0), 10)] == [
        ("t.zip", 2, 3, 2),
        ("t.zip", 1, 3, 2),
    ]


def test_several_are_stored_at_once(session: Session) -> None:
    """Two of one name are its next two versions, equal rows are one, and another name counts for itself."""
    hierarchies.create(session.ledger, "zips", ROWS)
    third = (*ROWS, ("c", "x", "*"))
    wanted = [("zips", third), ("ages", ROWS), ("zips", ROWS), ("zips", OTHER), ("zips", third)]
    stored = hierarchies.create_all(session.ledger, [hierarchies.NewHierarchy(*one) for one in wanted])
    assert [found.reference for found in stored] == ["zips@2", "ages@1", "zips@1", "zips@3", "zips@2"]
    assert [hierarchies.rows(session.ledger, found) for found in stored] == [rows for _, rows in wanted]


def test_stored_by_version_or_newest(session: Session) -> None:
    hierarchies.create(session.ledger, "zips", ROWS)
    hierarchies.create(session.ledger, "zips", OTHER)
    assert listed(session, StoredLevels("zips", 1)) == (ROWS, "zips@1")
    assert listed(session, StoredLevels("zips", 2)) == (OTHER, "zips@2")
    assert listed(session, StoredLevels("zips")) == (OTHER, "zips@2")


def test_stored_that_is_not_there(session: Session) -> None:
    hierarchies.create(session.ledger, "zips", ROWS)
    assert faults_of(session, StoredLevels("zipz")) == [("stored.name", "'zipz'", "Did you mean 'zips'?")]
    assert faults_of(session, StoredLevels("zips", 2)) == [("stored.version", "2", "")]
    with pytest.raises(NotFoundError) as raised:
        hierarchies.find(session.ledger, "zips", 7)
    assert raised.value.code == "HIERARCHY_NOT_FOUND"


@pytest.mark.parametrize("name", ['it"s; DROP TABLE x', "größe 漢字", "n" * 10_000, "select", " "])
def test_names_and_labels_of_any_kind(session: Session, name: str) -> None:
    rows = ((name, "l'1\"", "*"), ("b\n\t", "é", "*"))
    stored = hierarchies.create(session.ledger, name, rows)
    assert stored.reference == f"{name}@1"
    assert listed(session, StoredLevels(name))[0] == rows


def test_pages_by_name_and_newest_first(session: Session) -> None:
    for name, versions in (("b", 2), ("a", 1), ("c", 3)):
        for version in range(versions):
            hierarchies.create(session.ledger, name, (*ROWS, (f"c{version}", "x", "*")))
    found, after = [], ("", 0)
    while page := hierarchies.page(session.ledger, after, 2):
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
    assert hierarchies.page(session.ledger, ("", 0), 10) == []


def test_an_empty_table(session: Session) -> None:
    session.execute("CREATE TABLE zips (a VARCHAR, b VARCHAR)")
    assert [field for field, *_ in faults_of(session, TableLevels("", "main", "zips"))] == ["table.rows"]


def test_ragged_rows_in_the_policy(session: Session) -> None:
    rows = (("a", "x", "*"), ("b", "x", "*"), ("c", "*"))
    assert [field for field, *_ in faults_of(session, InlineLevels(rows))] == ["inline.rows[2]"]


# --- Safe Harbor ----------------------------------------------------------------------------------------------------


def test_zip_codes_by_the_people_in_a_table(session: Session) -> None:
    session.execute('CREATE TABLE zips ("the code" VARCHAR, people UBIGINT, land VARCHAR)')
    session.execute("INSERT INTO zips VALUES ('03601', 20000, 'x'), ('02139', 15000, 'y'), ('02138', 5001, 'z')")
    definition = SafeHarborZip("", "main", "zips", "the code", "people")
    rows, reference = listed(session, definition)
    assert rows == (
        ("02138", "021", "02", "0", "*"),
        ("02139", "021", "02", "0", "*"),
        ("03601", "000", "000", "000", "*"),
    )
    assert reference == "t.zip@1"
    # A census later, the hierarchy is another version.
    session.execute("UPDATE zips SET people = 5000 WHERE people = 5001")
    rows, reference = listed(session, definition)
    assert {row[1] for row in rows} == {"000"}
    assert reference == "t.zip@2"


def test_ages_and_dates_need_no_table(session: Session) -> None:
    rows, reference = listed(session, SafeHarborAge())
    assert (len(rows), reference) == (131, "t.zip@1")
    rows, reference = listed(session, SafeHarborDate("2024-02-28", "2024-03-01"))
    assert ([row[0] for row in rows], reference) == (["2024-02-28", "2024-02-29", "2024-03-01"], "t.zip@2")


def test_a_check_stores_nothing(session: Session) -> None:
    levels, reference, faults = listed_levels(session, SafeHarborAge(), "attributes[0].hierarchy", "t.age")
    assert levels is not None
    assert (reference, faults) == ("t.age", [])
    assert hierarchies.page(session.ledger, ("", 0), 10) == []


@pytest.mark.parametrize(
    ("definition", "faults"),
    [
        (SafeHarborZip("there", "main", "zips"), [("population.catalog", "'there'", "")]),
        (SafeHarborZip("", "mian", "zips"), [("population.schema", "'mian'", "Did you mean 'main'?")]),
        (SafeHarborZip("", "main", "zip"), [("population.table", "'zip'", "Did you mean 'zips'?")]),
        (SafeHarborZip("", "Tableveil", "zips"), [("population.schema", "'Tableveil'", "")]),
        (
            SafeHarborZip("", "main", "zips", "zipp", "populaton"),
            [
                ("zip_column", "'zipp'", "Did you mean 'zip'?"),
                ("population_column", "'populaton'", "Did you mean 'population'?"),
            ],
        ),
        (
            SafeHarborZip("", "main", "zips", population_column="share"),
            [("population_column", "'share' of type 'DOUBLE'", "")],
        ),
        (
            SafeHarborZip("", "main", "zips", population_column="parts"),
            [("population_column", "'parts' of type 'INTEGER[]'", "")],
        ),
        (SafeHarborZip("", "main", "zips"), [("population", "no rows", "")]),
    ],
)
def test_tables_of_people_that_do_not_do(
    session: Session, definition: SafeHarborZip, faults: list[tuple[str, str, str]]
) -> None:
    session.execute("CREATE TABLE zips (zip VARCHAR, population INTEGER, share DOUBLE, parts INTEGER[])")
    assert faults_of(session, definition) == [(f"safe_harbor_zip.{field}", *rest) for field, *rest in faults]


def test_zip_codes_that_are_numbers(session: Session) -> None:
    session.execute("CREATE TABLE zips AS SELECT * FROM (VALUES (2139, 5), (10001, 5)) AS v(zip, population)")
    ((field, found, hint),) = faults_of(session, SafeHarborZip("", "main", "zips"))
    assert (field, found) == ("safe_harbor_zip.zip_column", "1 of 2 rows are not of five digits")
    assert "leading zeros" in hint
