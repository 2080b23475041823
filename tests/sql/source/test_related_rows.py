"""The rows of people and their events that refuse related tables, on tables of odd names, and those that do not."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.backend import Database, Session
from tableveil.hierarchy import HierarchyDefinition
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, SuppressionOnly
from tableveil.policy import (
    Anchor,
    AttributePolicy,
    EventTable,
    KAnonymity,
    KnownFacts,
    NullHandling,
    Orphans,
    Policy,
    RelatedTables,
    RelativeTime,
    ReleaseTarget,
    Role,
    TableReference,
)
from tableveil.source import check_facts
from tableveil.source.related_rows import check_related_rows
from tableveil.source.resolve import find_source

ANY = SuppressionOnly()
DAYS = Intervals("0", "900", ("30",))
PEOPLE, VISITS, DATED, KEY, PERSON = "the people", "visits; --", "dated", 'p "id"', "whose"


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def tables(session: Session) -> None:
    """200 people of 5 towns with 1 to 8 visits each over two years, in wards that have nothing to do with them."""
    session.execute(
        f'CREATE OR REPLACE TABLE "{PEOPLE}" AS SELECT i AS "{KEY.replace(chr(34), chr(34) * 2)}", '
        "'town ' || (i % 5) AS town, DATE '1950-01-01' + (i * 37)::INTEGER AS born, "
        "(i % 7)::VARCHAR AS illness FROM range(200) r(i)"
    )
    session.execute(
        f'CREATE OR REPLACE TABLE "{VISITS}" AS SELECT p::BIGINT AS whose, p * 10 + j AS visit, '
        "DATE '2021-01-01' + (hash(p, j) % 730)::INTEGER AS began, 'ward ' || (hash(j, p, 1) % 6) AS ward, "
        "hash(p, j, 2) % 9 AS found FROM range(200) r(p), range(8) s(j) WHERE j <= p % 8"
    )


def columns(*names: tuple[str, Role, HierarchyDefinition | None]) -> tuple[AttributePolicy, ...]:
    return tuple(AttributePolicy(name, role, rule) for name, role, rule in names)


def refused(
    session: Session,
    events: tuple[AttributePolicy, ...],
    people: tuple[AttributePolicy, ...] = (),
    time: RelativeTime | None = None,
    orphans: Orphans = Orphans.REFUSE,
    dated: bool = False,
    second: str = DATED,
) -> tuple[list[str], list[str]]:
    """The fields of the faults, and the notes."""
    own = columns((KEY, Role.IDENTIFYING, None), ("town", Role.QUASI_IDENTIFIER, ANY))
    hidden = AttributePolicy(PERSON, Role.IDENTIFYING)
    event = EventTable(
        "visits", TableReference("", "main", VISITS), PERSON, orphans, (hidden, *events), len(own) + len(people)
    )
    of_dates = EventTable("dated", TableReference("", "main", second), PERSON, attributes=(hidden, BEGAN))
    related = RelatedTables((event, *[of_dates] * dated), Decimal(1), None, time)
    policy = Policy(
        source=TableReference("", "main", PEOPLE),
        attributes=(*own, *people),
        person_column=KEY,
        privacy_models=(KAnonymity(5), KnownFacts(1)),
        release=ReleaseTarget("main", "out", events=("visits",)),
        methods=(related,),
    )
    sources = [find_source(session, reference, "", "source")[0] for reference in (policy.source, event.table)]
    source, visits = sources
    assert source is not None
    assert visits is not None
    facts = check_facts(session, source, policy)
    others = [find_source(session, each.table, "", "source")[0] for each in related.events[1:]]
    events_ = [visits, *(each for each in others if each is not None)]
    faults, notes = check_related_rows(session, source, events_, policy, related)
    return [fault.field for fault in (*facts.faults, *faults)], [*map(str, notes)]


WARD = AttributePolicy("ward", Role.QUASI_IDENTIFIER, ANY)
BEGAN = AttributePolicy("began", Role.QUASI_IDENTIFIER, DAYS)
FOUND = AttributePolicy("found", Role.SENSITIVE)
FIRST = RelativeTime(Anchor.FIRST_EVENT)


def change(session: Session, table: str, added: str) -> None:
    session.execute(f'CREATE OR REPLACE TABLE "{table}" AS SELECT *, {added} FROM "{table}"')


def test_sound_rows_are_not_refused(session: Session) -> None:
    assert refused(session, (WARD,)) == ([], [])
    assert refused(session, (WARD, BEGAN), time=FIRST) == ([], [])
    people = columns(("illness", Role.SENSITIVE, None))
    assert refused(session, (WARD, FOUND), people) == (["attributes"], [])
    session.execute(f'UPDATE "{VISITS}" SET found = found % 2')
    assert refused(session, (WARD, FOUND), people) == ([], [])


def test_a_table_twice_would_make_two_facts_of_one_event(session: Session) -> None:
    assert refused(session, (WARD,), dated=True, second=VISITS) == (["tables.events[1].table"], [])


@pytest.mark.parametrize("key", ["NULL", "3"])
def test_a_person_without_a_key_or_with_that_of_another(session: Session, key: str) -> None:
    session.execute(f"INSERT INTO \"{PEOPLE}\" VALUES ({key}, 'town 1', NULL, NULL)")
    assert refused(session, (WARD,))[0] == ["tables.people.key"]


@pytest.mark.parametrize("person", ["NULL", "1000"])
def test_rows_of_nobody(session: Session, person: str) -> None:
    session.execute(f"INSERT INTO \"{VISITS}\" SELECT {person}, 7, DATE '2021-02-03', 'ward 1', 1 FROM range(12)")
    assert refused(session, (WARD,)) == (["tables.events[0].orphans"], [])
    faults, (told,) = refused(session, (WARD,), orphans=Orphans.DROP)
    assert faults == []
    assert told.endswith("are left out: 12.")


@pytest.mark.parametrize(
    "added",
    ["visit AS it", "whose % 50 * 4 + visit % 3 + 1000 * whose AS it", "'stay ' || (whose * 3 + visit % 2) AS it"],
)
def test_numbers_of_rows_and_stays(session: Session, added: str) -> None:
    change(session, VISITS, added)
    assert "attributes[4].role" in refused(session, (WARD, AttributePolicy("it", Role.SENSITIVE)))[0]


def test_values_that_are_rare_together(session: Session) -> None:
    """Neither of three columns singles out half of the people; all of them do."""
    change(session, VISITS, "hash('a' || visit) % 4 AS a, hash('b' || visit) % 4 AS b, hash('c' || visit) % 4 AS c")
    sensitive = columns(("a", Role.SENSITIVE, None), ("b", Role.SENSITIVE, None), ("c", Role.SENSITIVE, None))
    faults, _ = refused(session, (WARD, *sensitive))
    assert faults == ["attributes"]
    for one in sensitive:
        assert refused(session, (WARD, one))[0] == []


@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.QUASI_IDENTIFIER])
@pytest.mark.parametrize(
    "value", ["'town ' || (whose % 5)", "DATE '1950-01-01' + (whose % 9 * 1000)::INTEGER", "whose % 3 > 1"]
)
def test_columns_that_are_of_people(session: Session, role: Role, value: str) -> None:
    change(session, VISITS, f"CASE WHEN visit % 7 > 0 THEN {value} END AS it")
    rule = ANY if role is Role.QUASI_IDENTIFIER else None
    assert "attributes[4].column" in refused(session, (WARD, AttributePolicy("it", role, rule)))[0]


def test_a_column_of_one_value_tells_nothing_of_people(session: Session) -> None:
    change(session, VISITS, "CASE WHEN visit % 900 = 7 THEN 'rare' ELSE 'usual' END AS it")
    assert refused(session, (WARD, AttributePolicy("it", Role.QUASI_IDENTIFIER, ANY)))[0] == []


def test_forbidden_nulls(session: Session) -> None:
    session.execute(f'UPDATE "{VISITS}" SET ward = NULL WHERE visit % 10 = 3')
    assert refused(session, (replace(WARD, nulls=NullHandling.ERROR),))[0] == ["attributes[3].nulls"]
    assert refused(session, (WARD,))[0] == []


@pytest.mark.parametrize(
    "value",
    [
        "began::VARCHAR",
        "strftime(began, '%Y-%m')",
        "year(began)",
        "'week ' || week(began) || ' of ' || year(began)",
        "'quarter ' || quarter(began)",
        "'season ' || CASE WHEN month(began) < 4 THEN 'winter' ELSE monthname(began) END",
        "datediff('day', DATE '2000-01-01', began) // 40",
    ],
)
def test_columns_that_give_dates_away(session: Session, value: str) -> None:
    change(session, VISITS, f"{value} AS it")
    told = AttributePolicy("it", Role.QUASI_IDENTIFIER, ANY)
    assert "attributes[4].column" in refused(session, (BEGAN, told), time=FIRST)[0]
    assert "attributes[4].column" not in refused(session, (WARD, told))[0]


@pytest.mark.parametrize(
    ("value", "tells"),
    [
        ("year(began)", True),
        ("' ' || year(began)", True),
        ("began::VARCHAR", True),
        ("strftime(began, '%Y-%m')", True),
        ("year(began) - 100", False),
        ("month(began)", False),
        ("1000 + visit", False),
        ("NULL::INTEGER", False),
    ],
)
def test_a_table_without_dates_tells_no_dates_beside_days(session: Session, value: str, tells: bool) -> None:
    session.execute(f'CREATE OR REPLACE TABLE {DATED} AS SELECT whose, began FROM "{VISITS}"')
    change(session, VISITS, f"{value} AS it")
    told = AttributePolicy("it", Role.QUASI_IDENTIFIER, ANY)
    expected = ["attributes[4].column"] if tells else []
    assert refused(session, (WARD, told), time=FIRST, dated=True)[0] == expected
    assert refused(session, (WARD, told), dated=True)[0] == []


@pytest.mark.parametrize("value", ["began + 3", "began::TIMESTAMP"])
def test_absolute_dates_beside_days(session: Session, value: str) -> None:
    change(session, VISITS, f"{value} AS it")
    assert "attributes[4].role" in refused(session, (BEGAN, AttributePolicy("it", Role.SENSITIVE)), time=FIRST)[0]
    dates = AttributePolicy("it", Role.QUASI_IDENTIFIER, Dates("2021-01-01", "2022-12-31", (DateUnit.MONTH,)))
    assert "attributes[4].hierarchy" in refused(session, (BEGAN, dates), time=FIRST)[0]
    born = AttributePolicy("born", Role.SENSITIVE)
    assert "attributes[2].role" in refused(session, (BEGAN,), (born,), time=FIRST)[0]


def test_days_need_a_date_and_an_anchor(session: Session) -> None:
    assert refused(session, (WARD,), time=FIRST)[0] == ["tables.relative_time"]
    assert refused(session, (BEGAN,), time=RelativeTime(Anchor.COLUMN, "born"))[0] == []
    for name in ("town", "nothing"):
        assert refused(session, (BEGAN,), time=RelativeTime(Anchor.COLUMN, name))[0] == ["tables.relative_time.column"]


def test_days_are_numbers_that_an_integer_holds(session: Session) -> None:
    """Infinite dates are none; those of databases reach from the year -5,877,641 to 5,881,580."""
    session.execute(f"UPDATE \"{VISITS}\" SET began = 'infinity' WHERE visit = 10")
    assert refused(session, (WARD, BEGAN), time=FIRST)[0] == []
    session.execute(f"UPDATE \"{VISITS}\" SET began = DATE '5881580-07-10' WHERE visit = 10")
    assert refused(session, (WARD, BEGAN), time=FIRST)[0] == []
    session.execute(f"UPDATE \"{VISITS}\" SET began = DATE '5877641-06-25 (BC)' WHERE visit = 21")
    assert refused(session, (WARD, BEGAN), time=FIRST)[0] == ["tables.relative_time"]
    assert refused(session, (WARD, BEGAN))[0] == []


@pytest.mark.parametrize("name", ["of", "day_of_row", "n", "j", "parts", "c0", "c1"])
def test_columns_of_any_name_beside_days(session: Session, name: str) -> None:
    change(session, VISITS, f'ward AS "{name}", year(began) AS told')
    assert refused(session, (BEGAN, replace(WARD, column=name)), time=FIRST)[0] == []
    told = AttributePolicy("told", Role.QUASI_IDENTIFIER, ANY)
    assert refused(session, (BEGAN, replace(WARD, column=name), told), time=FIRST)[0] == ["attributes[5].column"]


@pytest.mark.parametrize("rows", ["FALSE", "whose = 1", "visit % 10 = 0"])
def test_few_rows(session: Session, rows: str) -> None:
    session.execute(f'DELETE FROM "{VISITS}" WHERE NOT ({rows})')
    assert refused(session, (WARD, BEGAN), time=FIRST)[0] == []
