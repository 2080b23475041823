"""Resolving the source: unknown names are answered with the nearest, and every column gets a role and a type."""

from dataclasses import replace

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import Source, resolve_source

AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly())

POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(AGE, AttributePolicy("Zip Code", Role.SENSITIVE)),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "out"),
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def patients(session: Session) -> None:
    session.execute('CREATE OR REPLACE TABLE patients (age INTEGER, "Zip Code" VARCHAR)')
    session.execute("CREATE SCHEMA IF NOT EXISTS clinic")
    session.execute("CREATE OR REPLACE TABLE clinic.visits (age INTEGER)")
    session.execute("CREATE OR REPLACE VIEW seniors AS SELECT * FROM patients")


def faults_of(session: Session, policy: Policy) -> list[tuple[str, str, str]]:
    source, _, faults = resolve_source(session, policy)
    assert (source is None) == any(f.field in ("source.catalog", "source.schema", "source.table") for f in faults)
    return [(fault.field, fault.found, fault.hint) for fault in faults]


def resolved(session: Session, policy: Policy) -> Source:
    source, _, faults = resolve_source(session, policy)
    assert faults == []
    assert source is not None
    return source


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (TableReference("", "main", "pateints"), ("source.table", "'pateints'", "Did you mean 'patients'?")),
        (TableReference("", "main", "Patients"), ("source.table", "'Patients'", "Did you mean 'patients'?")),
        (TableReference("", "main", "visits"), ("source.table", "'visits'", "")),
        (TableReference("", "clinc", "visits"), ("source.schema", "'clinc'", "Did you mean 'clinic'?")),
        (TableReference("other", "main", "patients"), ("source.catalog", "'other'", "")),
        (
            TableReference("", "main", "seniors"),
            (
                "source.table",
                "the view 'seniors'",
                "A view may change while it is read: create a table from it, and name that.",
            ),
        ),
        (TableReference("", "tableveil", "secrets"), ("source.schema", "'tableveil'", "")),
        (TableReference("", "TableVeil", "secrets"), ("source.schema", "'TableVeil'", "")),
    ],
)
def test_source_that_is_no_table(session: Session, reference: TableReference, expected: tuple[str, str, str]) -> None:
    assert faults_of(session, replace(POLICY, source=reference)) == [expected]


def test_names_of_10_000_characters_are_cut(session: Session) -> None:
    ((_, found, _),) = faults_of(session, replace(POLICY, source=TableReference("", "main", "x" * 10_000)))
    assert len(found) < 200


@pytest.mark.parametrize("catalog", ["", "test"])
@pytest.mark.parametrize("schema", ["", "main"])
def test_full_name_of_the_source(session: Session, catalog: str, schema: str) -> None:
    source = resolved(session, replace(POLICY, source=TableReference(catalog, schema, "patients")))
    assert source.reference == TableReference("test", "main", "patients")
    assert [(column.name, column.type) for column in source.columns] == [("age", "INTEGER"), ("Zip Code", "VARCHAR")]


def test_unknown_columns_and_columns_without_a_role_are_all_reported(session: Session) -> None:
    policy = replace(POLICY, attributes=(replace(AGE, column="agee"), AGE), person_column="zip code")
    assert faults_of(session, policy) == [
        ("attributes[0].column", "'agee'", "Did you mean 'age'?"),
        ("person_column", "'zip code'", "Did you mean 'Zip Code'?"),
        ("source.'Zip Code'", "no role", "List the column with its role, or state a default_role."),
    ]


def test_default_role_is_for_columns_that_are_not_listed(session: Session) -> None:
    _, policy, faults = resolve_source(session, replace(POLICY, attributes=(AGE,), default_role=Role.INSENSITIVE))
    assert faults == []
    assert [(a.column, a.role) for a in policy.attributes] == [
        ("age", Role.QUASI_IDENTIFIER),
        ("Zip Code", Role.INSENSITIVE),
    ]


@pytest.mark.parametrize("marker", ["age", "Zip Code", "zip code"])
def test_marker_is_no_column_of_the_source(session: Session, marker: str) -> None:
    policy = replace(POLICY, attributes=(AGE,), default_role=Role.SENSITIVE, marker_column=marker)
    assert [field for field, _, _ in faults_of(session, policy)] == ["suppressed_records.marker_column"]


@pytest.mark.parametrize(
    ("type_", "kind", "released"),
    [
        ("TINYINT", ValueKind.INTEGER, "TINYINT"),
        ("UBIGINT", ValueKind.INTEGER, "UBIGINT"),
        ("HUGEINT", ValueKind.INTEGER, "HUGEINT"),
        ("UHUGEINT", ValueKind.INTEGER, "UHUGEINT"),
        ("DECIMAL(18, 3)", ValueKind.DECIMAL, "DECIMAL(18,3)"),
        ("FLOAT", ValueKind.FLOAT, "FLOAT"),
        ("DOUBLE", ValueKind.FLOAT, "DOUBLE"),
        ("DATE", ValueKind.DATE, "DATE"),
        ("TIMESTAMP", ValueKind.TIMESTAMP, "TIMESTAMP"),
        ("TIMESTAMP_NS", ValueKind.TIMESTAMP, "TIMESTAMP_NS"),
        ("TIMESTAMPTZ", ValueKind.TIMESTAMP, "TIMESTAMP WITH TIME ZONE"),
        ("VARCHAR", ValueKind.TEXT, "VARCHAR"),
        # The values an ENUM lists are not all in the release.
        ("ENUM('it''s', 'a\nb', 'c)')", ValueKind.TEXT, "VARCHAR"),
        ("JSON", ValueKind.TEXT, "VARCHAR"),
        ("BOOLEAN", ValueKind.BOOLEAN, "BOOLEAN"),
        ("TIME", ValueKind.TIME, "TIME"),
        ("TIMETZ", ValueKind.OTHER, "TIME WITH TIME ZONE"),
        ("UUID", ValueKind.OTHER, "UUID"),
        ("BLOB", ValueKind.OTHER, "BLOB"),
        ("BIT", ValueKind.OTHER, "BIT"),
    ],
)
def test_scalar_types(session: Session, type_: str, kind: ValueKind, released: str) -> None:
    session.execute(f"CREATE OR REPLACE TABLE typed (age INTEGER, c {type_})")
    policy = replace(POLICY, source=TableReference("", "main", "typed"), attributes=(AGE,), default_role=Role.SENSITIVE)
    column = resolved(session, policy).column("c")
    assert (column.kind, column.released_type) == (kind, released)


NESTED = ["INTEGER[]", "INTEGER[3]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "UNION(a INTEGER, b VARCHAR)"]


@pytest.mark.parametrize(
    "type_", [*NESTED, "ENUM('a', 'b')[]", "DECIMAL(4, 2)[]", "VARCHAR COLLATE NOCASE", "INTERVAL"]
)
def test_types_that_are_not_released(session: Session, type_: str) -> None:
    """Nested ones, and those whose values are equal though they look different, such as a month and 30 days."""
    session.execute(f"CREATE OR REPLACE TABLE typed (age INTEGER, c {type_})")
    policy = replace(POLICY, source=TableReference("", "main", "typed"), attributes=(AGE,))
    for role in (Role.SENSITIVE, Role.INSENSITIVE):
        ((field, found, _),) = faults_of(session, replace(policy, default_role=role))
        assert field == "source.'c'"
        assert found.startswith("type '")
    assert [c.name for c in resolved(session, replace(policy, default_role=Role.IDENTIFYING)).columns] == ["age"]


def test_collations_are_found_whatever_columns_are_called(session: Session) -> None:
    session.execute(
        'CREATE TABLE collated (age INTEGER, "x VARCHAR COLLATE nocase, c9 VARCHAR COLLATE nocase" VARCHAR, '
        '"c0" VARCHAR COLLATE NOACCENT.NOCASE, c1 VARCHAR)'
    )
    policy = replace(POLICY, source=TableReference("", "main", "collated"), attributes=(AGE,))
    faults = faults_of(session, replace(policy, default_role=Role.SENSITIVE))
    assert [field for field, _, _ in faults] == ["source.'c0'"]


def test_a_catalog_is_called_like_its_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("odd") / 'o"dd; name.duckdb'
    database = Database(Settings(path))
    try:
        with database.session() as session:
            session.execute('CREATE TABLE patients (age INTEGER, "Zip Code" VARCHAR)')
            source = resolved(session, POLICY)
            assert source.reference.catalog == 'o"dd; name'
            assert session.rows(f"SELECT * FROM {source.table().sql(dialect='duckdb')}") == []
    finally:
        database.close()


def naming(policy: Policy, field: str, name: str) -> Policy:
    """The policy in which the person or record column has a name."""
    return replace(policy, person_column=name) if field == "person_column" else replace(policy, record_column=name)


@pytest.mark.parametrize("type_", ["INTERVAL", "VARCHAR COLLATE NOCASE", "INTEGER[]", "STRUCT(a INTEGER)"])
@pytest.mark.parametrize("field", ["person_column", "record_column"])
def test_people_whose_texts_are_not_compared_as_their_values_are(session: Session, type_: str, field: str) -> None:
    """30 days and a month are equal, and the ledger has digests of their texts; nothing refused it by name."""
    session.execute(f"ALTER TABLE patients ADD COLUMN who {type_}")
    policy = replace(POLICY, attributes=(*POLICY.attributes, AttributePolicy("who", Role.IDENTIFYING)))
    assert [found for found, *_ in faults_of(session, naming(policy, field, "who"))] == [field]
    assert faults_of(session, policy) == []
