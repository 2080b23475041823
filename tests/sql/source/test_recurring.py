"""`rows_are_people` beside a column that numbers people of whom some have several rows, whatever its role is."""

import re
from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import Rank, rank_of, shortened
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import check_facts, recurring, resolve_source
from tableveil.source.facts import SourceFacts

QUASI_IDENTIFIERS = ("geschlecht", "geburtsjahr", "ort", "monat")

POLICY = Policy(
    source=TableReference("", "main", "t"),
    attributes=tuple(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in QUASI_IDENTIFIERS),
    default_role=Role.IDENTIFYING,
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "out"),
)

COLUMN = "Column '7'"

_ROWS = """
CREATE OR REPLACE TABLE t AS
SELECT
    {spelled} AS "Column '7'",
    random_of(person, 'sex') % 2 AS geschlecht,
    1930 + random_of(person, 'birth') % 90 AS geburtsjahr,
    CASE WHEN person % 50 > 0 THEN 'o' || random_of(person, 'place') % 100 END AS ort,
    random_of(row, 'month') % 24 AS monat,
    row AS "Fallnummer"
FROM (SELECT row, {person} AS person FROM (SELECT row, random_of(row, 'person') AS drawn FROM range({rows}) AS r(row)))
"""


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def make(session: Session, rows: int, person: str = "drawn % ({rows} // 5)", spelled: str = "person") -> None:
    """Makes the table `t`: people are a fifth of the rows, unless `person` says so, spelled otherwise if it says so."""
    # DuckDB's hash of a number is no draw for small numbers.
    session.execute("CREATE OR REPLACE MACRO random_of(a, b) AS md5_number_lower(a::VARCHAR || b) % 1000003::UBIGINT")
    session.execute(_ROWS.format(rows=rows, person=person.format(rows=rows), spelled=spelled))


def facts(session: Session, policy: Policy = POLICY) -> SourceFacts:
    source, complete, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    return check_facts(session, source, complete)


def with_role(role: Role, *, acknowledged: bool = False) -> Policy:
    hierarchy = SuppressionOnly() if role is Role.QUASI_IDENTIFIER else None
    own = AttributePolicy(COLUMN, role, hierarchy, acknowledged=acknowledged)
    return replace(POLICY, attributes=(*POLICY.attributes, own))


@pytest.mark.parametrize(
    "spelled", ["person", "'P-' || person", "person::DOUBLE / 7", "md5(person::VARCHAR)::UUID", "person::VARCHAR::BLOB"]
)
def test_it_is_refused_whatever_its_type_is(session: Session, spelled: str) -> None:
    make(session, 2000, spelled=spelled)
    (fault,) = facts(session).faults
    assert fault.field == "rows_are_people"
    assert f"values of {shortened(COLUMN)} in 2,000 rows" in fault.found
    assert re.findall(r"in '(\w+)' \((\d+) of \2 pairs\)", fault.found) == [
        ("geschlecht", "388"),
        ("geburtsjahr", "388"),
        ("ort", "380"),
    ]
    assert "person_column" in fault.hint


@pytest.mark.parametrize("role", list(Role))
def test_it_is_refused_whatever_its_role_is(session: Session, role: Role) -> None:
    make(session, 2000)
    assert "rows_are_people" in [fault.field for fault in facts(session, with_role(role)).faults]
    acknowledged = facts(session, with_role(role, acknowledged=True))
    assert acknowledged.faults == ()
    assert [shortened(COLUMN) in warning for warning in acknowledged.warnings] == [True]


@pytest.mark.parametrize("recurs", [True, False])
def test_a_number_of_rows_is_no_person_beside_one_that_recurs(session: Session, recurs: bool) -> None:
    make(session, 2000, person="drawn % 400" if recurs else "row")
    policy = replace(with_role(Role.IDENTIFYING), person_column="Fallnummer")
    found = facts(session, policy)
    assert found.faults == ()
    told = [warning for warning in found.warnings if warning.field == COLUMN]
    assert [warning.rank for warning in told] == [Rank.MUST_BE_DECIDED] * recurs
    if told:
        assert told[0].startswith("k counts the values of 'Fallnummer', each of one row, although ")
        assert re.findall(r"'geschlecht' \((\d+) of \1 pairs\)", told[0])
    # A household is a group of people.
    assert facts(session, replace(policy, also_count=(COLUMN,))).warnings == ()


def test_households_that_do_not_count_are_told_of(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE t AS SELECT i AS member, i // 3 AS household, i % 4 AS ort FROM range(60) r(i)"
    )
    ort = AttributePolicy("ort", Role.QUASI_IDENTIFIER, SuppressionOnly())
    hidden = AttributePolicy("household", Role.IDENTIFYING)
    policy = replace(POLICY, attributes=(ort, hidden), person_column="member")
    (told,) = facts(session, policy).warnings
    assert (told.field, told.rank) == ("household", Rank.SHOULD_BE_LOOKED_AT)
    assert re.search(r"k does not count the about (1[5-9]|2[0-5]) values of 'household' in 60 rows", told)
    assert facts(session, replace(policy, also_count=("household",))).warnings == ()


@pytest.mark.parametrize(
    ("name", "number"), [("marital-status", "i // 3"), ("household_size", "i // 3"), ("family", "i % 2")]
)
def test_kinds_of_families_are_no_households(session: Session, name: str, number: str) -> None:
    session.execute(
        f'CREATE OR REPLACE TABLE t AS SELECT i AS member, {number} AS "{name}", i % 4 AS ort FROM range(120) r(i)'
    )
    ort = AttributePolicy("ort", Role.QUASI_IDENTIFIER, SuppressionOnly())
    attributes = (ort, AttributePolicy(name, Role.IDENTIFYING))
    assert facts(session, replace(POLICY, attributes=attributes, person_column="member")).warnings == ()


def test_people_with_one_row_each(session: Session) -> None:
    make(session, 2000, person="row")
    assert facts(session) == SourceFacts(2000, ())


def test_ten_people_of_whom_some_recur(session: Session) -> None:
    make(session, 2000, person="row - if(row % 100 = 0, 1, 0)")
    (fault,) = facts(session).faults
    assert "1,981 values" in fault.found


@pytest.mark.parametrize("rows", [0, 1, 9, 18])
def test_few_rows(session: Session, rows: int) -> None:
    make(session, rows, person="row // 2")
    fields = [fault.field for fault in facts(session).faults]
    assert fields == ([] if rows else ["source.table"])


def test_a_sample_of_a_larger_table(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurring, "MOST_ROWS", 4000)
    monkeypatch.setattr(recurring, "ROWS", 2000)
    monkeypatch.setattr("tableveil.source.facts.MOST_ROWS", 4000)
    for people, found in (("{rows} // 5", 1), ("{rows} // 100", 1), ("{rows} * 1000", 0)):
        make(session, 20_000, person=f"drawn % ({people})" if found else "row")
        assert len(facts(session).faults) == found, people


def test_a_column_of_no_values_and_one_of_one(session: Session) -> None:
    make(session, 2000, spelled="NULL::INTEGER")
    assert facts(session).faults == ()
    make(session, 2000, spelled="'x'")
    assert facts(session).faults == ()


def test_columns_of_which_each_is_shuffled_number_nobody(session: Session) -> None:
    """Some laboratory values recur, in rows that agree where nearly all rows do."""
    made = [
        "round(exp(3 + 1.2 * random()), 3) AS opg",
        *(f"random() < {share} AS is_{i}" for i, share in enumerate((0.06, 0.07, 0.08, 0.1, 0.1, 0.2, 0.3, 0.5))),
    ]
    for seed in range(1, 9):
        session.execute(f"SELECT setseed({seed / 10})")
        session.execute(f"CREATE OR REPLACE TABLE t AS SELECT {', '.join(made)} FROM range(800)")
        flags = tuple(AttributePolicy(f"is_{i}", Role.QUASI_IDENTIFIER, SuppressionOnly()) for i in range(8))
        assert facts(session, replace(POLICY, attributes=flags)) == SourceFacts(800, ())


@pytest.mark.parametrize("name", ["ID", "patient_id", "Subject", "pid", "Kunden-Nr"])
def test_a_number_of_people_by_its_name_alone_is_told_with_its_count(session: Session, name: str) -> None:
    visit = f'(row // 5)::INT AS "{name}", row % 5 AS visit, md5_number_lower(row::VARCHAR) % 40 AS drinks'
    session.execute(f"CREATE OR REPLACE TABLE t AS SELECT {visit} FROM range(1000) r(row)")
    drinks = replace(POLICY.attributes[0], column="drinks")
    policy = replace(POLICY, attributes=(drinks,))
    found = facts(session, policy)
    assert found.faults == ()
    (warning,) = found.warnings
    assert rank_of(warning) is Rank.MUST_BE_DECIDED
    assert f"200 values of {shortened(name)} in 1,000 rows" in warning
    identifying = AttributePolicy(name, Role.IDENTIFYING, acknowledged=True)
    assert facts(session, replace(policy, attributes=(drinks, identifying))).warnings == ()
