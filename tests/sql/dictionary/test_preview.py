"""Previews beside a table: coverage by values and rows, every kind of hierarchy, and what is refused."""

from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.dictionary import Coverage, Preview, PreviewRequest, preview_hierarchy
from tableveil.errors import InvalidError, NotFoundError
from tableveil.hierarchy import (
    HierarchyDefinition,
    InlineLevels,
    SafeHarborAge,
    SafeHarborDate,
    StoredLevels,
    TableLevels,
)
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.policy import TableReference
from tableveil.state import hierarchies

PEOPLE = TableReference("", "main", "people")
ROWS = (("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"))


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def people(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT * FROM (VALUES ('a', 9, [1]), ('a', 10, [2]), ('b', 11, [3]), "
        "('z', 30, [4]), ('z', 31, [5]), ('secret', NULL, [6]), (NULL, 10, [7])) AS t(code, \"a\"\"ge\", list)"
    )


def look(session: Session, definition: HierarchyDefinition, column: str = "code", values: bool = False) -> Preview:
    return preview_hierarchy(session, PreviewRequest(definition, PEOPLE, column, with_values=values))


def faults(session: Session, request: PreviewRequest) -> list[tuple[str, str]]:
    with pytest.raises((InvalidError, NotFoundError)) as raised:
        preview_hierarchy(session, request)
    return [(fault.field, fault.found) for fault in raised.value.faults]


def test_coverage_counts_and_shows_values_only_if_asked(session: Session) -> None:
    covered = Coverage(4, 6, 1, 2, 3, ())
    assert look(session, InlineLevels(ROWS)).coverage == covered
    assert look(session, InlineLevels(ROWS), values=True).coverage == replace(covered, examples=("secret", "z"))


def test_groups_are_those_of_the_column_with_its_rows(session: Session) -> None:
    found = look(session, InlineLevels(ROWS))
    assert [(level.groups, level.fewest_records, level.most_records) for level in found.levels] == [
        (2, 1, 2),
        (1, 3, 3),
        (1, 3, 3),
    ]
    [group] = found.levels[1].first
    assert (group.label, group.leaves, group.values, group.records) == ("x", 2, 2, 3)
    assert (found.domain_size, found.continuous, found.stored) == (3, False, None)


def test_groups_of_numbers_are_in_their_order(session: Session) -> None:
    found = look(session, Intervals("0", "39", ("10",)), 'a"ge')
    assert [group.label for group in found.levels[1].first] == ["[0, 9]", "[10, 19]", "[30, 39]"]
    assert found.coverage == Coverage(5, 6, 1, 0, 0, ())


def test_a_stored_hierarchy_by_itself_that_is_not_there(session: Session) -> None:
    with pytest.raises(NotFoundError, match="'nothing'"):
        preview_hierarchy(session, PreviewRequest(StoredLevels("nothing"), None, ""))
    assert faults(session, PreviewRequest(StoredLevels("nothing", -1), None, "")) == [
        ("hierarchy.stored.version", "-1")
    ]


def test_a_stored_hierarchy_is_named_with_its_version(session: Session) -> None:
    hierarchies.create(session.ledger, "codes", ROWS, "codes.csv")
    found = look(session, StoredLevels("codes"))
    assert found.stored is not None
    assert (found.stored.reference, found.stored.origin) == ("codes@1", "codes.csv")
    assert found.levels == look(session, InlineLevels(ROWS)).levels


def test_a_hierarchy_in_a_table_and_of_safe_harbor(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE codes AS SELECT * FROM (VALUES ('a', 'x', '*'), ('b', 'x', '*')) AS t(a, b, c)"
    )
    assert look(session, TableLevels("", "main", "codes")).domain_size == 2
    assert look(session, SafeHarborAge(), 'a"ge').domain_size == 131


def test_nothing_is_stored(session: Session) -> None:
    before = hierarchies.page(session.ledger, ("", 0), 100)
    look(session, InlineLevels(ROWS))
    assert hierarchies.page(session.ledger, ("", 0), 100) == before


def test_by_itself(session: Session) -> None:
    found = preview_hierarchy(session, PreviewRequest(Intervals("0", "99", ("10", "50"))))
    assert found.coverage is None
    assert [(level.level, level.groups) for level in found.levels] == [(1, 10), (2, 2), (3, 1)]
    assert [group.label for group in found.levels[1].first] == ["[0, 49]", "[50, 99]"]
    listed = preview_hierarchy(session, PreviewRequest(InlineLevels(ROWS)))
    assert [(level.level, level.groups) for level in listed.levels] == [(0, 3), (1, 2), (2, 1)]
    assert faults(session, PreviewRequest(SuppressionOnly())) == [("hierarchy.suppression_only", "no table to look at")]


def test_everything_wrong_is_found_at_once(session: Session) -> None:
    request = PreviewRequest(Intervals("9", "0", ("x",)), TableReference("", "main", "peeple"), "code")
    assert [field for field, _ in faults(session, request)] == [
        "hierarchy.intervals.maximum",
        "hierarchy.intervals.widths[0]",
        "table.table",
    ]


@pytest.mark.parametrize(
    ("definition", "column", "expected"),
    [
        (InlineLevels(ROWS), "kode", ("column", "'kode'")),
        (InlineLevels(ROWS), "list", ("column", "'list' of type 'INTEGER[]'")),
        (
            InlineLevels(ROWS[:2] + ROWS[:1]),
            "code",
            ("hierarchy.inline.rows[2].labels[0]", "the value of rows[0] again; 1 value repeated"),
        ),
        (InlineLevels(()), "code", ("hierarchy.inline.rows", "no rows")),
        (StoredLevels("nothing"), "code", ("hierarchy.stored.name", "'nothing'")),
        (StoredLevels("codes", -1), "code", ("hierarchy.stored.version", "-1")),
        (Intervals("0", "9", ("5",)), "code", ("hierarchy.intervals", "intervals on a column of kind TEXT")),
        (SafeHarborDate("2020-01-01", "2019-01-01"), "code", ("hierarchy.safe_harbor_date.maximum", "2019-01-01")),
        (TableLevels("", "main", "people", ("code", "nothing")), "code", ("hierarchy.table.columns[1]", "'nothing'")),
    ],
)
def test_what_is_refused(
    session: Session, definition: HierarchyDefinition, column: str, expected: tuple[str, str]
) -> None:
    assert faults(session, PreviewRequest(definition, PEOPLE, column)) == [expected]
