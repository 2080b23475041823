"""Jobs on tables, columns, schemas, targets and values called anything, read back by SQL written here."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AttributePolicy,
    DeltaPresence,
    Distance,
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    IfExists,
    KAnonymity,
    KMap,
    NTCloseness,
    NullHandling,
    Policy,
    Population,
    ReleaseKind,
    Role,
    SuppressedRecords,
    TableReference,
    TCloseness,
)
from tableveil.state.releases import Release
from tests.inserted import insert
from tests.migrated import passing
from tests.once import once
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]


def quoted(*parts: str) -> str:
    """Names as SQL has them; shared with nothing under test."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


@dataclass(frozen=True)
class Names:
    """The names of everything: two quasi-identifiers, the person, a sensitive and an insensitive column, the rest."""

    columns: tuple[str, str, str, str, str]
    source: tuple[str, str] = ("main", "patients")
    target: tuple[str, str] = ("main", "released")
    marker: str = "suppressed"
    labels: tuple[str, str] = field(default=("young", "old"))


LONG = "n" * 10_000
PLAIN = ("age", "ward", "id", "illness", "note")

CASES = {
    "plain": Names(PLAIN),
    "quotes": Names(
        ('"', "'", '""', "''", "\"'"), ('a"b', "it's"), ('a"b', '"released"'), '" OR 1=1 --', ("it's", '"old"')
    ),
    "statements": Names(
        ("a; DROP TABLE x", "--", "/*", "*/", ";"),
        ("s; --", "t; DROP SCHEMA main"),
        ("s; --", "r); DROP TABLE y; --"),
        "m/*",
        ("'; DROP TABLE x; --", "*/ y"),
    ),
    "spaces": Names((" ", "  ", "a b", "\t", "\n"), ("a b", " "), ("a b", "  "), " \n ", ("", " ")),
    "keywords": Names(
        ("select", "from", "group", "order", "user"), ("table", "all"), ("table", "with"), "not", ("null", "true")
    ),
    "unicode": Names(
        ("größe", "漢字", "\u202eabc", "🏥", "e\u0301"), ("σχήμα", "таблица"), ("σχήμα", "résumé"), "ẞ", ("ÿ", "\u200b")
    ),
    "10,000 characters": Names(
        (f"{LONG}0", f"{LONG}1", f"{LONG}2", f"{LONG}3", f"{LONG}4"),
        (f"{LONG}s", f"{LONG}t"),
        (f"{LONG}s", f"{LONG}r"),
        f"{LONG}m",
        (f"{LONG}y", f"{LONG}o"),
    ),
    # The writer's own names of tables, aliases and columns.
    "own names 1": Names(("source", "d0", "d1", "n", "w0"), ("main", "source"), ("main", "recounted"), "released"),
    "own names 2": Names(("value", "code", "l1", "g1", "c0"), ("main", "dictionary_1"), ("main", "base_histogram")),
    "own names 3": Names(
        ("class_size", "risk", "size", "classes", "records"), ("main", "suppressed_classes"), ("main", "written")
    ),
    "own names 4": Names(
        ("q0", "q1", "recounted_size", "counted", "labels"), ("main", "recounted"), ("main", "counted")
    ),
    "own names 5": Names(
        ("risk", "class_size", "Class_Size_", "rowid_", "RISK_"), ("main", "rows_"), ("main", "labelled")
    ),
    "own names 6": Names(
        ("r", "m0", "keyed", "small", "grouped"), ("main", "searchable_base"), ("main", "levels_base_0_0")
    ),
    "own names 7": Names(
        ("distinct_values", "position", "text", "code", "labelled"), ("main", "values_0"), ("main", "suppressed_keys")
    ),
    "own names 8": Names(("h", "hashed", "f0", "v", "min0"), ("main", "collations"), ("main", "level_groups"), "s"),
    "own names 9": Names(
        ("jobs", "measure", "threshold", "base", "packed"), ("main", "jobs"), ("main", "releases"), "b"
    ),
    # The verification's own names.
    "own names 10": Names(
        ("q0", "class", "found", "pool", "records"), ("main", "spread"), ("main", "judged_classes"), "value"
    ),
    "own names 11": Names(
        ("position", "size", "superset", "is_null", "label"), ("main", "distribution"), ("main", "reference"), "k"
    ),
    "companions of each other": Names(
        PLAIN, ("main", "released"), ("main", "released_classes"), "released_classes_risk"
    ),
}

WORST = ("statements", "unicode", "10,000 characters", "own names 1", "own names 10")
"""These show most of what names can break."""

# (age, ward): 4 young in the north, 3 old in the south, one old in the north who is alone, one without a ward.
PEOPLE = [("1", "n"), ("1", "n"), ("2", "n"), ("2", "n"), ("8", "s"), ("9", "s"), ("9", "s"), ("9", "n"), ("1", None)]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Even the file, and with it the catalog, has an odd name."""
    yield from passing(tmp_path / 'clinic; it\'s "odd".duckdb')


def make(session: Session, names: Names) -> None:
    for schema in {names.source[0], names.target[0]} - {"main"}:
        session.execute(f"CREATE SCHEMA {quoted(schema)}")
    session.execute(
        f"CREATE TABLE {quoted(*names.source)} ({', '.join(f'{quoted(c)} VARCHAR' for c in names.columns)})"
    )
    rows = ((age, ward, f"person {i}", f"illness {i % 2}", "same") for i, (age, ward) in enumerate(PEOPLE))
    insert(session, quoted(*names.source), rows)


def policy_of(names: Names, **options: Any) -> Policy:
    age, ward, person, illness, note = names.columns
    young, old = names.labels
    ages = InlineLevels(tuple((str(a), young if a < 5 else old, "*") for a in range(1, 10)))
    wards = InlineLevels((("n", "*"), ("s", "*")))
    return Policy(
        source=TableReference("", *names.source),
        attributes=(
            AttributePolicy(age, Role.QUASI_IDENTIFIER, ages, minimum_level=1),
            AttributePolicy(ward, Role.QUASI_IDENTIFIER, wards, nulls=NullHandling.SUPPRESS, maximum_level=0),
            AttributePolicy(person, Role.IDENTIFYING),
            AttributePolicy(illness, Role.SENSITIVE),
            AttributePolicy(note, Role.INSENSITIVE, acknowledged=True),
        ),
        person_column=person,
        privacy_models=(KAnonymity(3),),
        release=plain_target(*names.target, **options),
        suppression_limit=Decimal("0.25"),
        suppressed_records=SuppressedRecords.BLANK,
        marker_column=names.marker,
    )


@pytest.mark.parametrize("case", once([*WORST, *(case for case in CASES if case not in WORST)], 2))
def test_releases_and_replaces_whatever_things_are_called(database: Database, run: Run, case: str) -> None:
    names = CASES[case]
    with database.session() as session:
        make(session, names)
        view = run(database, policy_of(names, kind=ReleaseKind.VIEW))
        check(session, names, view)
        again = policy_of(names, kind=ReleaseKind.TABLE, if_exists=IfExists.REPLACE)
        check(session, names, run(database, replace(again, repeat_reason="a test")))


def check(session: Session, names: Names, release: Release) -> None:
    """All that was written, and that the source is as it was."""
    young, old = names.labels
    age, ward, _, illness, note = names.columns
    schema, name = names.target
    described = session.rows(f"DESCRIBE {quoted(schema, name)}")
    assert [column for column, *_ in described] == [age, ward, illness, note, names.marker]
    rows = session.rows(f"SELECT * FROM {quoted(schema, name)}")
    kept = [(young, "n", f"illness {i % 2}", "same", False) for i in range(4)]
    kept += [(old, "s", f"illness {i % 2}", "same", False) for i in range(4, 7)]
    assert Counter(rows) == Counter([*kept, *[(None,) * 4 + (True,)] * 2])
    classes = session.rows(f"SELECT * FROM {quoted(schema, f'{name}_classes')}")
    # Two illnesses, twice each; and of three, one twice.
    uneven = round(3 / 2 ** (2 / 3), 9)
    assert sorted(classes) == sorted([(young, "n", 4, 1 / 4, 2, 2.0), (old, "s", 3, 1 / 3, 2, uneven)])
    found = session.rows(f"SELECT class_size, classes FROM {quoted(schema, f'{name}_risk_histogram')}")
    assert found == [(3, 1), (4, 1)]
    suppressed = f"SELECT value FROM {quoted(schema, f'{name}_risk')} WHERE measure = 'suppressed_records'"
    assert session.rows(suppressed) == [(2.0,)]
    assert session.value(f"SELECT count(*) FROM {quoted(*names.source)}") == len(PEOPLE)
    assert [attribute.column for attribute in release.attributes] == [age, ward]
    assert (release.objects[0].name, release.objects[0].row_count) == (name, 9)


@pytest.mark.parametrize("case", once(["statements", "own names 10", "quotes", "keywords", "own names 11"]))
def test_models_hold_whatever_things_are_called(database: Database, run: Run, case: str) -> None:
    """Two models for each part of the verification; suppressed records show their values."""
    names = CASES[case]
    person, illness, population = *names.columns[2:4], (names.source[0], f"{names.source[1]}_peopled")
    policy = policy_of(names)
    illnesses = InlineLevels((("illness 0", "any"), ("illness 1", "any")))
    attributes = [
        replace(a, hierarchy=illnesses if a.column == illness else a.hierarchy, nulls=NullHandling.VALUE)
        for a in policy.attributes
    ]
    policy = replace(
        policy,
        attributes=tuple(attributes),
        privacy_models=(
            KMap(3),
            DeltaPresence(Decimal("0.5"), Decimal(1)),
            DistinctLDiversity(illness, 2),
            EntropyLDiversity(illness, Decimal("1.5"), EntropyEstimator.GRASSBERGER),
            *(TCloseness(illness, Decimal("0.5"), distance) for distance in Distance),
            *(NTCloseness(illness, 5, Decimal("0.5"), distance) for distance in Distance),
        ),
        population=Population(TableReference("", *population)),
        suppressed_records=SuppressedRecords.KEEP,
    )
    with database.session() as session:
        make(session, names)
        session.execute(
            f"CREATE TABLE {quoted(*population)} AS SELECT * FROM {quoted(*names.source)} "
            f"UNION ALL SELECT * REPLACE ('another' AS {quoted(person)}) FROM {quoted(*names.source)} "
            f"WHERE {quoted(names.columns[1])} IS NULL"
        )
        release = run(database, policy)
        shown = session.rows(
            f"SELECT {quoted(illness)} FROM {quoted(*names.target)} WHERE {quoted(names.marker)} ORDER BY 1"
        )
    assert release.suppressed_records == len(shown) == 2
    assert shown == [("illness 0",), ("illness 1",)]


def test_class_columns_make_way_for_quasi_identifiers(database: Database, run: Run) -> None:
    names = CASES["own names 3"]
    with database.session() as session:
        make(session, names)
        run(database, policy_of(names))
        described = session.rows(f"DESCRIBE {quoted('main', 'written_classes')}")
    own = ["class_size_", "risk_", "distinct_l_classes", "entropy_l_classes"]
    assert [column for column, *_ in described] == ["class_size", "risk", *own]


@pytest.mark.long
def test_class_columns_make_way_for_each_other(database: Database, run: Run) -> None:
    """Whatever the case: the database does not tell such names apart."""
    with database.session() as session:
        session.execute("CREATE TABLE patients AS SELECT 1 AS \"Distinct_L_a\", 'x' AS a, 'y' AS b FROM range(3)")
        policy = Policy(
            source=TableReference("", "main", "patients"),
            attributes=(
                AttributePolicy("Distinct_L_a", Role.QUASI_IDENTIFIER, SuppressionOnly()),
                AttributePolicy("a", Role.SENSITIVE),
                AttributePolicy("b", Role.SENSITIVE),
            ),
            person_column=None,
            privacy_models=(KAnonymity(2),),
            release=plain_target("main", "released"),
        )
        run(database, policy)
        (found,) = session.rows("SELECT * FROM released_classes")
        described = session.rows("DESCRIBE released_classes")
    assert [column for column, *_ in described] == [
        *("Distinct_L_a", "class_size", "risk"),
        *("distinct_l_a_", "entropy_l_a", "distinct_l_b", "entropy_l_b"),
    ]
    assert found == ("1", 3, 1 / 3, 1, 1.0, 1, 1.0)


def test_values_of_any_kind_come_through_unchanged(database: Database, run: Run) -> None:
    """Values that are released as they are: quotes, NUL, SQL, Unicode, 10,000 characters."""
    values = [
        "it's",
        '"',
        "\0",
        "a\0b",
        "'; DROP TABLE patients; --",
        "漢字",
        "\u202e",
        "x" * 10_000,
        "",
        " ",
        "NULL",
        "*",
    ]
    with database.session() as session:
        session.execute("CREATE TABLE patients (v VARCHAR, s VARCHAR)")
        insert(session, "patients", ((value, value) for value in values for _ in range(2)))
        hierarchy = InlineLevels(tuple((value, "any") for value in values))
        policy = Policy(
            source=TableReference("", "main", "patients"),
            attributes=(AttributePolicy("v", Role.QUASI_IDENTIFIER, hierarchy), AttributePolicy("s", Role.SENSITIVE)),
            person_column=None,
            privacy_models=(KAnonymity(2),),
            release=plain_target("main", "released"),
        )
        run(database, policy)
        found = session.rows("SELECT v, s FROM released")
    assert sorted(found) == sorted((value, value) for value in values for _ in range(2))


def test_labels_of_any_kind_come_through_unchanged(database: Database, run: Run) -> None:
    labels = ["it's", '"', "\0", "'; DROP TABLE patients; --", "漢字", "x" * 10_000, "", " ", "NULL"]
    with database.session() as session:
        session.execute("CREATE TABLE patients AS SELECT i AS v FROM range(18) r(i)")
        hierarchy = InlineLevels(tuple((str(i), labels[i // 2], "it's\0 the top") for i in range(18)))
        policy = Policy(
            source=TableReference("", "main", "patients"),
            attributes=(AttributePolicy("v", Role.QUASI_IDENTIFIER, hierarchy),),
            person_column=None,
            privacy_models=(KAnonymity(2),),
            release=plain_target("main", "released"),
        )
        run(database, policy)
        assert session.rows("SELECT v FROM released") == sorted((label,) for label in labels for _ in range(2))
