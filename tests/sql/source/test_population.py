"""The population: what a policy may name as one, what its rows must be, and what the source is beside it."""

from dataclasses import replace

import pytest

from tableveil.backend import Database, Session, render
from tableveil.counting import build_base
from tableveil.dictionary import Dictionary, build_dictionary
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import Fault
from tableveil.hierarchy.rules import Intervals
from tableveil.policy import (
    AttributePolicy,
    KAnonymity,
    NullHandling,
    Policy,
    Population,
    ReleaseTarget,
    Role,
    TableReference,
)
from tableveil.source import Source, check_facts, fingerprint, population_fingerprint, resolve_source

AGES = Intervals("0", "99", ("10",))
POLICY = Policy(
    source=TableReference("", "main", "t"),
    attributes=(AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES), AttributePolicy("note", Role.SENSITIVE)),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "out"),
)
BY_TABLE = replace(POLICY, population=Population(TableReference("", "main", "people")))
BY_SUBSET = replace(POLICY, population=Population(subset_column="sick"))


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def make(session: Session, type_: str, ages: str, people_type: str, people: str) -> None:
    session.execute("DROP TABLE IF EXISTS dictionary_0")
    session.execute(f"CREATE OR REPLACE TABLE t (age {type_}, note VARCHAR)")
    session.execute(f"INSERT INTO t (age) VALUES {ages}")
    session.execute(f"CREATE OR REPLACE TABLE people (extra INTEGER[], age {people_type})")
    session.execute(f"INSERT INTO people (age) VALUES {people}")


def make_subset(session: Session, rows: str, type_: str = "BOOLEAN") -> None:
    session.execute("DROP TABLE IF EXISTS dictionary_0")
    session.execute(f"CREATE OR REPLACE TABLE t (age INTEGER, note VARCHAR, sick {type_})")
    session.execute(f"INSERT INTO t VALUES {rows}")


def faults_of(session: Session, policy: Policy) -> list[tuple[str, str, str]]:
    source, policy, faults = resolve_source(session, policy)
    if source is not None and not faults:
        faults = list(check_facts(session, source, policy).faults)
    return [(fault.field, fault.found, fault.hint) for fault in faults]


def resolved(session: Session, policy: Policy) -> tuple[Source, Policy]:
    source, policy, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    assert check_facts(session, source, policy).faults == ()
    return source, policy


def dictionary_of(session: Session, policy: Policy) -> tuple[Source, Dictionary | None, list[Fault]]:
    source, policy = resolved(session, policy)
    attribute = policy.attributes[0]
    return source, *build_dictionary(session, source, CodedAttribute(attribute, AGES, "", 0, "attributes[0]"))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (TableReference("", "main", "peeple"), ("population.table.table", "'peeple'", "Did you mean 'people'?")),
        (TableReference("", "mian", "people"), ("population.table.schema", "'mian'", "Did you mean 'main'?")),
        (TableReference("other", "main", "people"), ("population.table.catalog", "'other'", "")),
        (TableReference("", "tableveil", "jobs"), ("population.table.schema", "'tableveil'", "")),
    ],
)
def test_no_such_table(session: Session, table: TableReference, expected: tuple[str, str, str]) -> None:
    make(session, "INTEGER", "(1)", "INTEGER", "(1)")
    assert faults_of(session, replace(POLICY, population=Population(table))) == [expected]


def test_a_table_without_a_quasi_identifier(session: Session) -> None:
    make(session, "INTEGER", "(1)", "INTEGER", "(1)")
    session.execute("ALTER TABLE people RENAME age TO ages")
    found = "'test.main.people', which has no column 'age'"
    assert faults_of(session, BY_TABLE) == [("population.table", found, "Did you mean 'ages'?")]


@pytest.mark.parametrize(
    ("type_", "age", "people_type", "person"),
    [
        ("INTEGER", "1", "DATE", "'2024-01-01'"),
        ("INTEGER", "1", "VARCHAR", "'1'"),
        ("VARCHAR", "'1'", "VARCHAR COLLATE NOCASE", "'1'"),
        ("INTEGER", "1", "INTEGER[]", "[1]"),
        ("TIME", "'10:00'", "BOOLEAN", "true"),
    ],
)
def test_types_that_do_not_compare(session: Session, type_: str, age: str, people_type: str, person: str) -> None:
    make(session, type_, f"({age})", people_type, f"({person})")
    ((field, found, _),) = faults_of(session, BY_TABLE)
    assert field == "population.table"
    assert found == f"'age' of type '{people_type}' in 'test.main.people'"


@pytest.mark.parametrize(
    ("type_", "ages", "people_type", "people"),
    [
        ("INTEGER", "(1)", "BIGINT", "(1), (2)"),
        ("INTEGER", "(1)", "DECIMAL(6, 2)", "(1), (2)"),
        ("DECIMAL(6, 2)", "(1), (2)", "DOUBLE", "(1), (2)"),
        ("DATE", "('2024-01-01')", "TIMESTAMP", "('2024-01-01'), ('2024-01-02')"),
        ("ENUM('a', 'b')", "('a')", "VARCHAR", "('a'), ('b')"),
        ("VARCHAR", "('a')", "JSON", "('1'), ('[2]')"),
    ],
)
def test_types_that_do(session: Session, type_: str, ages: str, people_type: str, people: str) -> None:
    make(session, type_, ages, people_type, people)
    source, _ = resolved(session, BY_TABLE)
    assert source.population is not None
    query = f"SELECT typeof(age), count(*) FROM {render(source.population.table('p'))} GROUP BY 1"
    assert session.rows(query) == [(source.column("age").type, 2)]


@pytest.mark.parametrize(
    ("type_", "ages", "people_type", "people"),
    [
        ("TINYINT", "(1)", "INTEGER", "(1), (128), (-500)"),
        ("UHUGEINT", "(1)", "INTEGER", "(1), (-128), (-500)"),
        ("INTEGER", "(1)", "DECIMAL(6, 2)", "(1), (1.5), (2.25)"),
        ("DATE", "('2024-01-01')", "TIMESTAMP", "('2024-01-01'), ('2024-01-02 10:00'), ('2024-01-02 11:00')"),
        ("ENUM('a', 'b')", "('a')", "VARCHAR", "('a'), ('c'), ('d')"),
        ("JSON", "('1')", "VARCHAR", "('1'), ('{'), ('?')"),
    ],
)
def test_values_that_the_sources_type_does_not_hold(
    session: Session, type_: str, ages: str, people_type: str, people: str
) -> None:
    """They are neither rounded nor taken for NULL, and are not shown."""
    make(session, type_, ages, people_type, people)
    ((field, found, _),) = faults_of(session, BY_TABLE)
    assert field == "population.table"
    type_ = session.value("SELECT data_type FROM duckdb_columns() WHERE table_name = 't' AND column_name = 'age'")
    shown = "ENUM" if type_.startswith("ENUM") else type_
    assert found == f"2 values of 'age' in 'test.main.people' that the source's type '{shown}' does not hold"


def test_codes_are_of_both_but_numbers_of_records_of_the_source(session: Session) -> None:
    make(session, "INTEGER", "(5), (25), (5)", "BIGINT", "(1), (25), (NULL), (NULL)")
    source, dictionary, _ = dictionary_of(session, BY_TABLE)
    assert dictionary is not None
    rows = session.rows("SELECT value, code, g1 FROM dictionary_0 ORDER BY code")
    assert rows == [(1, 0, 0), (5, 1, 0), (25, 2, 1), (None, 3, 2)]
    assert dictionary.nulls == 0
    # No value of the source is NULL: |H| is as without a population.
    assert dictionary.levels.domain_size == 100
    base = build_base(session, source, [dictionary])
    assert (base.records, base.withheld, base.population_records) == (3, 0, 4)


def test_null_of_both_is_a_value(session: Session) -> None:
    make(session, "INTEGER", "(5), (NULL)", "INTEGER", "(NULL)")
    _, dictionary, _ = dictionary_of(session, BY_TABLE)
    assert dictionary is not None
    assert (dictionary.nulls, dictionary.levels.domain_size) == (1, 101)


@pytest.mark.parametrize("nulls", [NullHandling.SUPPRESS, NullHandling.ERROR])
def test_null_of_the_population_only(session: Session, nulls: NullHandling) -> None:
    """Where NULLs are suppressed, nobody with one is in a class; where they are errors, the source has none."""
    make(session, "INTEGER", "(5)", "INTEGER", "(NULL)")
    attributes = (replace(BY_TABLE.attributes[0], nulls=nulls), BY_TABLE.attributes[1])
    source, dictionary, _ = dictionary_of(session, replace(BY_TABLE, attributes=attributes))
    assert dictionary is not None
    assert dictionary.levels.domain_size == 100
    assert dictionary.withholds == (nulls is NullHandling.SUPPRESS)
    base = build_base(session, source, [dictionary])
    assert (base.withheld, base.population_records) == (0, 1)


def test_values_that_the_hierarchy_does_not_cover(session: Session) -> None:
    make(session, "INTEGER", "(5), (100)", "INTEGER", "(100), (101), (102), (99)")
    _, dictionary, faults = dictionary_of(session, BY_TABLE)
    assert dictionary is None
    assert [(fault.field, fault.found) for fault in faults] == [
        ("attributes[0].hierarchy", "1 value of 'age' that the hierarchy does not cover"),
        (
            "population.table",
            "2 values of 'age' in the population 'test.main.people' that the hierarchy does not cover",
        ),
    ]


def test_the_subset_is_the_source(session: Session) -> None:
    make_subset(session, "(1, 'a', true), (2, 'b', false), (3, 'c', true), (99, 'd', false)")
    source, policy = resolved(session, BY_SUBSET)
    assert session.rows(f"SELECT age FROM {render(source.table())} ORDER BY 1") == [(1,), (3,)]
    assert session.rows(f"SELECT s.age FROM {render(source.table('s'))} ORDER BY 1") == [(1,), (3,)]
    assert check_facts(session, source, policy).records == 2
    # Nobody may see who is in it.
    assert [a.role for a in policy.attributes if a.column == "sick"] == [Role.IDENTIFYING]
    dictionary, _ = build_dictionary(session, source, CodedAttribute(policy.attributes[0], AGES, "", 0, ""))
    assert dictionary is not None
    base = build_base(session, source, [dictionary])
    assert (base.records, base.population_records) == (2, 4)


def test_the_subset_is_identifying_whatever_the_default(session: Session) -> None:
    make_subset(session, "(1, 'a', true)")
    for default in Role.INSENSITIVE, Role.SENSITIVE, None:
        _, policy = resolved(session, replace(BY_SUBSET, default_role=default))
        assert [a.role for a in policy.attributes if a.column == "sick"] == [Role.IDENTIFYING]


@pytest.mark.parametrize(
    ("rows", "type_", "expected"),
    [
        ("(1, 'a', 1)", "INTEGER", ("population.subset_column", "'sick' of type 'INTEGER'")),
        ("(1, 'a', true), (1, 'a', NULL)", "BOOLEAN", ("population.subset_column", "1 NULLs in 'sick'")),
        ("(1, 'a', false)", "BOOLEAN", ("source.table", "no row of 'test.main.t' in which 'sick' is true")),
    ],
)
def test_columns_that_are_no_subset(session: Session, rows: str, type_: str, expected: tuple[str, str]) -> None:
    make_subset(session, rows, type_)
    assert [fault[:2] for fault in faults_of(session, BY_SUBSET)] == [expected]


def test_a_subset_that_is_no_column(session: Session) -> None:
    make_subset(session, "(1, 'a', true)")
    policy = replace(POLICY, population=Population(subset_column="sik"), default_role=Role.IDENTIFYING)
    assert faults_of(session, policy) == [("population.subset_column", "'sik'", "Did you mean 'sick'?")]


def test_a_size_alone_has_no_rows(session: Session) -> None:
    make(session, "INTEGER", "(1)", "INTEGER", "(1)")
    source, _ = resolved(session, replace(POLICY, population=Population(size=100)))
    assert source.population is None


def test_the_population_has_a_fingerprint_of_its_own(session: Session) -> None:
    key = b"k" * 32

    def mark(policy: Policy) -> str:
        return population_fingerprint(session, resolved(session, policy)[0], key)

    make(session, "INTEGER", "(1)", "INTEGER", "(1), (2)")
    assert mark(POLICY) == ""
    of_source = fingerprint(session, resolved(session, BY_TABLE)[0], key)
    marks = [mark(BY_TABLE)]
    session.execute("INSERT INTO people (age) VALUES (3)")
    marks += [mark(BY_TABLE)]
    session.execute("UPDATE people SET age = 4 WHERE age = 3")
    marks += [mark(BY_TABLE)]
    session.execute("ALTER TABLE people ALTER age TYPE BIGINT")
    marks += [mark(BY_TABLE)]
    assert len(set(marks)) == len(marks)
    # The ledger knows the source by its own rows.
    assert fingerprint(session, resolved(session, BY_TABLE)[0], key) == of_source
    # No column of it but these can change the release.
    session.execute("UPDATE people SET extra = [1]")
    assert mark(BY_TABLE) == marks[-1]
    make_subset(session, "(1, 'a', true), (2, 'b', false)")
    first = mark(BY_SUBSET)
    session.execute("UPDATE t SET age = 3 WHERE NOT sick")
    assert mark(BY_SUBSET) != first


@pytest.mark.parametrize("policy", [BY_TABLE, BY_SUBSET], ids=["table", "subset"])
def test_a_population_that_has_people_twice_is_refused(session: Session, policy: Policy) -> None:
    """Also where everybody has one record in the source: the journalist's risk counts rows of the population."""
    attributes = (*POLICY.attributes, AttributePolicy("id", Role.IDENTIFYING))
    policy = replace(policy, attributes=attributes, default_role=Role.IDENTIFYING, person_column="id")
    rows = "SELECT unnest([1, 2, 3]) AS age, 'a' AS note, unnest([true, true, false]) AS sick, unnest([7, 8, {}]) AS id"
    field = "population.table" if policy.population == BY_TABLE.population else "population.subset_column"
    for other, faults in ((8, [field]), (9, []), ("NULL", [])):
        session.execute(f"CREATE OR REPLACE TABLE people AS {rows.format(other)}")
        session.execute(f"CREATE OR REPLACE TABLE t AS {rows.format(other)}")
        if field == "population.table":
            session.execute("DELETE FROM t WHERE NOT sick")
        found = faults_of(session, policy)
        # Without a person, the record of the source is refused as well.
        assert [name for name, _, _ in found if name != "person_column"] == faults
    session.execute("ALTER TABLE people DROP id")
    if field == "population.table":
        assert faults_of(session, policy) == []
