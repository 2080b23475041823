"""The results of a job: tables and views that meet the policy, read back by plain SQL, and the evidence about them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines.work import JobReport
from tableveil.policy import (
    AttributePolicy,
    IfExists,
    KAnonymity,
    NullHandling,
    Policy,
    ReleaseKind,
    Role,
    SearchOptions,
    SuppressedRecords,
    TableReference,
)
from tableveil.state.jobs import JobPhase
from tableveil.state.release_objects import ObjectKind
from tableveil.state.releases import Release
from tests.inserted import insert
from tests.once import once
from tests.searched import searched
from tests.service.jobs.managed import other_warnings
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]

AGES = Intervals("0", "99", ("10", "50"))
# Unlike the ages, no two of these values join below the top.
WARDS = InlineLevels(tuple((ward, "*") for ward in ("north", "south", "east", "west")))

POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES),
        AttributePolicy("ward", Role.QUASI_IDENTIFIER, WARDS),
        AttributePolicy("illness", Role.SENSITIVE),
    ),
    person_column="id",
    privacy_models=(KAnonymity(3),),
    release=plain_target("main", "released"),
    suppression_limit=Decimal("0.2"),
)
BLANK: dict[str, Any] = {"suppressed_records": SuppressedRecords.BLANK, "marker_column": "suppressed"}
REPLACE = replace(plain_target("main", "released", if_exists=IfExists.REPLACE), guards=UNGUARDED)

# (age, ward): classes of 4, 3 and 3 at ages by ten; the last two are alone.
PEOPLE = (
    [(20, "north")] * 2 + [(25, "north")] * 2 + [(31, "south")] * 3 + [(44, "east")] * 3 + [(90, "west"), (5, "west")]
)


@pytest.fixture(autouse=True)
def patients(session: Session) -> None:
    session.execute("CREATE TABLE patients (id INTEGER, ward VARCHAR, illness VARCHAR, age INTEGER)")
    insert(session, "patients", ((i, ward, f"illness {i % 3}", age) for i, (age, ward) in enumerate(PEOPLE)))


def objects(session: Session) -> set[tuple[str, str]]:
    """All tables and views outside of Tableveil's state, but for the source."""
    return set(
        session.rows(
            "SELECT table_name, 'table' FROM duckdb_tables() WHERE schema_name = 'main' AND table_name <> 'patients' "
            "UNION ALL SELECT view_name, 'view' FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
        )
    )


NAMES = {"released", "released_classes", "released_risk", "released_risk_histogram"}
KEPT = [
    ("east", "illness 0", "[40, 49]"),
    ("east", "illness 1", "[40, 49]"),
    ("east", "illness 2", "[40, 49]"),
    ("north", "illness 0", "[20, 29]"),
    ("north", "illness 0", "[20, 29]"),
    ("north", "illness 1", "[20, 29]"),
    ("north", "illness 2", "[20, 29]"),
    ("south", "illness 0", "[30, 39]"),
    ("south", "illness 1", "[30, 39]"),
    ("south", "illness 2", "[30, 39]"),
]


# --- what is written ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(ReleaseKind))
def test_writes_the_rows_and_their_companions(
    database: Database, session: Session, run: Run, kind: ReleaseKind
) -> None:
    release = run(database, replace(POLICY, release=replace(POLICY.release, kind=kind)))
    assert objects(session) == {
        (name, "view" if kind is ReleaseKind.VIEW and name == "released" else "table") for name in NAMES
    }
    # In the source's order of columns, sorted by all of them; no identifying column, suppressed records dropped.
    assert session.rows("SELECT * FROM released") == KEPT
    assert [row[:2] for row in session.rows("DESCRIBE released")] == [
        ("ward", "VARCHAR"),
        ("illness", "VARCHAR"),
        ("age", "VARCHAR"),
    ]
    assert session.rows("SELECT * FROM released_classes") == [
        ("east", "[40, 49]", 3, 1 / 3, 3, 3.0),
        # One of three illnesses occurs twice.
        ("north", "[20, 29]", 4, 1 / 4, 3, round(4 / 2**0.5, 9)),
        ("south", "[30, 39]", 3, 1 / 3, 3, 3.0),
    ]
    assert session.rows("SELECT * FROM released_risk_histogram") == [(3, 2, 6, 1 / 3), (4, 1, 4, 1 / 4)]
    assert session.rows("SELECT * FROM released_risk") == [
        ("records", None, 10.0),
        ("classes", None, 3.0),
        ("highest_risk", None, 1 / 3),
        ("average_risk", None, 0.3),
        ("lowest_risk", None, 1 / 4),
        ("unique_records", None, 0.0),
        ("records_above_threshold", "0.05", 10.0),
        ("records_above_threshold", "0.1", 10.0),
        ("records_above_threshold", "0.2", 10.0),
        # 1/3 is above 0.33.
        ("records_above_threshold", "0.33", 6.0),
        ("suppressed_records", None, 2.0),
    ]
    assert [(item.name, item.kind, item.row_count) for item in release.objects] == [
        ("released", ObjectKind.ROWS, 10),
        ("released_classes", ObjectKind.CLASSES, 3),
        ("released_risk", ObjectKind.RISK, 11),
        ("released_risk_histogram", ObjectKind.RISK_HISTOGRAM, 2),
    ]


def test_a_risk_at_the_threshold_is_not_above_it(database: Database, session: Session, run: Run) -> None:
    """Classes of 5 and 10: 1/5 is not above 0.2, nor 1/10 above 0.1."""
    session.execute("DELETE FROM patients")
    session.execute("INSERT INTO patients SELECT i, if(i < 5, 'north', 'south'), 'x', 20 FROM range(15) r(i)")
    run(database, POLICY)
    found = session.rows("SELECT threshold, value FROM released_risk WHERE measure = 'records_above_threshold'")
    assert found == [("0.05", 15.0), ("0.1", 5.0), ("0.2", 0.0), ("0.33", 0.0)]


def test_view_shows_a_snapshot_that_the_source_does_not_change(database: Database, session: Session, run: Run) -> None:
    run(database, replace(POLICY, release=replace(POLICY.release, kind=ReleaseKind.VIEW)))
    session.execute("DELETE FROM patients")
    assert session.rows("SELECT * FROM released") == KEPT


@pytest.mark.parametrize("kind", once(list(ReleaseKind)))
def test_suppressed_records_kept_blank_under_a_marker(
    database: Database, session: Session, run: Run, kind: ReleaseKind
) -> None:
    release = run(database, replace(POLICY, **BLANK, release=replace(POLICY.release, kind=kind)))
    rows = session.rows("SELECT * FROM released")
    assert rows == [(*row, False) for row in KEPT] + [(None, None, None, True)] * 2
    assert session.rows("DESCRIBE released")[-1][:2] == ("suppressed", "BOOLEAN")
    assert session.value("SELECT sum(class_size) FROM released_classes") == 10
    assert release.objects[0].row_count == 12
    assert release.suppressed_records == 2


def test_evidence(database: Database, session: Session, run: Run) -> None:
    document = '{"as": "it was sent"}'
    release = run(database, replace(POLICY, repeat_reason="just so"), document=document)
    assert (release.records, release.suppressed_records, release.classes) == (12, 2, 3)
    assert release.source == TableReference("test", "main", "patients")
    assert (release.target_schema, release.target_name, release.kind) == ("main", "released", ReleaseKind.TABLE)
    assert (release.policy, release.repeat_reason, release.current) == (document, "just so", True)
    assert other_warnings(release) == ()
    # In the policy's order. |H| = 100 ages: (10 - 1)/99 for 10 records, 1 for 2.
    assert [(a.column, a.level, a.top_level, a.distinct_before, a.distinct_after) for a in release.attributes] == [
        ("age", 1, 3, 6, 3),
        ("ward", 0, 1, 4, 3),
    ]
    assert [a.loss for a in release.attributes] == pytest.approx([(10 * 9 / 99 + 2) / 12, 2 / 12], rel=1e-12)
    assert [a.hierarchy for a in release.attributes][1] == "patients.ward@1"
    assert release.score == pytest.approx(sum(a.loss for a in release.attributes) / 2, rel=1e-12)
    proof, search = release.proof, searched(release)
    assert (proof.optimal, proof.lower_bound, search.lattice_size) == (True, release.score, "8")
    assert search.checked + sum(int(count) for count in search.pruned.values()) == 8
    assert release.risk_before.classes == 6
    assert release.risk_before.unique_records == 2
    assert release.risk_after.highest == 1 / 3
    assert list(release.phase_seconds) == ["reading", "counting", "searching", "writing", "verifying"]
    assert 0 < sum(release.phase_seconds.values()) <= release.seconds + 0.1
    assert set(release.versions) == {"tableveil", "duckdb", "numpy", "python"}


def test_phases_are_told_as_they_begin(database: Database, run: Run) -> None:
    phases: list[JobPhase] = []
    run(database, POLICY, JobReport(on_phase=phases.append))
    assert phases == list(JobPhase)


def test_the_same_rows_give_the_same_release_in_the_same_order(database: Database, session: Session, run: Run) -> None:
    run(database, POLICY)
    session.execute("CREATE TABLE shuffled AS SELECT * FROM patients ORDER BY hash(id)")
    other = replace(POLICY, source=TableReference("", "main", "shuffled"), repeat_reason="a test")
    run(database, replace(other, release=plain_target("main", "again")))
    for name in sorted(NAMES):
        again = name.replace("released", "again")
        assert session.rows(f"SELECT * FROM {name}") == session.rows(f"SELECT * FROM {again}")


# --- extremes -------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_all_suppressed(database: Database, session: Session, run: Run) -> None:
    """No two records are alike at any allowed level, and the limit allows to suppress all."""
    session.execute("UPDATE patients SET age = id")
    attributes = (POLICY.attributes[0], replace(POLICY.attributes[1], maximum_level=0), *POLICY.attributes[2:])
    release = run(database, replace(POLICY, attributes=attributes, suppression_limit=Decimal(1)))
    assert other_warnings(release) == ("All 12 records are suppressed: the release is empty.",)
    assert (release.suppressed_records, release.score) == (12, 1.0)
    for name in ("released", "released_classes", "released_risk_histogram"):
        assert session.rows(f"SELECT * FROM {name}") == []
    risks = {
        measure: value for measure, threshold, value in session.rows("SELECT * FROM released_risk") if not threshold
    }
    assert risks["records"] == risks["highest_risk"] == 0
    assert risks["suppressed_records"] == 12
    blank = replace(POLICY, attributes=attributes, suppression_limit=Decimal(1), **BLANK)
    run(database, replace(blank, release=REPLACE, repeat_reason="a test"))
    assert session.rows("SELECT * FROM released") == [(None, None, None, True)] * 12


def test_all_at_the_top(database: Database, session: Session, run: Run) -> None:
    release = run(database, replace(POLICY, privacy_models=(KAnonymity(12),)))
    assert [warning.split(":")[0] for warning in other_warnings(release)] == [
        f"'{column}' has the same label in all released records" for column in ("age", "ward")
    ]
    assert session.rows("SELECT DISTINCT ward, age FROM released") == [("*", "*")]
    assert session.value("SELECT count(*) FROM released") == 12


def test_one_row(database: Database, session: Session, run: Run) -> None:
    """Not even the loosest policy lets a single record out: if it may be suppressed, nothing is left to release."""
    session.execute("DELETE FROM patients WHERE id > 0")
    with pytest.raises(InfeasibleError) as raised:
        run(database, replace(POLICY, suppression_limit=Decimal("0.99")))
    assert raised.value.code == "TOO_FEW_RECORDS"
    assert objects(session) == set()
    release = run(database, replace(POLICY, suppression_limit=Decimal(1)))
    assert (release.suppressed_records, len(other_warnings(release))) == (1, 1)
    assert session.rows("SELECT * FROM released") == []


def test_nothing_needs_generalizing(database: Database, session: Session, run: Run) -> None:
    session.execute("UPDATE patients SET age = 30, ward = 'north'")
    release = run(database, POLICY)
    assert (release.score, release.suppressed_records) == (0.0, 0)
    assert session.rows("SELECT DISTINCT ward, age FROM released") == [("north", "30")]


def test_types_do_not_depend_on_the_levels_found(database: Database, session: Session, run: Run) -> None:
    """A column has the type of labels, unless the policy fixes it at level 0."""
    run(database, POLICY)
    assert session.rows("DESCRIBE released")[2][:2] == ("age", "VARCHAR")
    session.execute("UPDATE patients SET age = 30, ward = 'north'")
    again = replace(POLICY, release=REPLACE, repeat_reason="a test")
    (level,) = [found.level for found in run(database, again).attributes if found.column == "age"]
    assert level == 0
    assert session.rows("DESCRIBE released")[2][:2] == ("age", "VARCHAR")
    fixed = tuple(replace(a, maximum_level=0) if a.column == "age" else a for a in again.attributes)
    run(database, replace(again, attributes=fixed))
    assert session.rows("DESCRIBE released")[2][:2] == ("age", "INTEGER")


@pytest.mark.long
def test_limit_is_exact(database: Database, session: Session, run: Run) -> None:
    """2 of 12 records: 0.16666 is not enough, 0.16667 is."""
    bounds: dict[str, Any] = {
        "attributes": tuple(replace(a, maximum_level=1) if a.hierarchy else a for a in POLICY.attributes)
    }
    run(database, replace(POLICY, **bounds, suppression_limit=Decimal("0.16667")))
    assert session.value("SELECT count(*) FROM released") == 10
    run(database, replace(POLICY, suppression_limit=Decimal("0.16666"), release=REPLACE, repeat_reason="a test"))
    assert session.value("SELECT count(*) FROM released") == 11


# --- NULLs ----------------------------------------------------------------------------------------------------------


def with_nulls(handling: NullHandling) -> tuple[AttributePolicy, ...]:
    return (*POLICY.attributes[:2], replace(POLICY.attributes[2], nulls=handling), POLICY.attributes[3])


@pytest.mark.long
def test_null_is_a_value_of_its_own(database: Database, session: Session, run: Run) -> None:
    session.execute("UPDATE patients SET ward = NULL WHERE ward = 'south'")
    policy = replace(POLICY, attributes=with_nulls(NullHandling.VALUE))
    run(database, policy)
    assert session.rows("SELECT * FROM released_classes WHERE ward IS NULL") == [(None, "[30, 39]", 3, 1 / 3, 3, 3.0)]
    # It joins the others at the top.
    run(database, replace(policy, privacy_models=(KAnonymity(12),), release=REPLACE, repeat_reason="a test"))
    assert session.rows("SELECT DISTINCT ward FROM released") == [("*",)]


@pytest.mark.parametrize("suppressed", once([{}, BLANK]))
def test_records_with_null_are_suppressed(
    database: Database, session: Session, run: Run, suppressed: dict[str, Any]
) -> None:
    """They count against the limit: 3 withheld and 2 outliers."""
    session.execute("UPDATE patients SET ward = NULL WHERE ward = 'south'")
    policy = replace(
        POLICY, attributes=with_nulls(NullHandling.SUPPRESS), suppression_limit=Decimal("0.42"), **suppressed
    )
    release = run(database, policy)
    assert release.suppressed_records == 5
    kept = session.rows(f"SELECT ward, illness, age FROM released {'WHERE NOT suppressed' if suppressed else ''}")
    assert kept == [row for row in KEPT if row[0] != "south"]
    assert session.value("SELECT count(*) FROM released") == (12 if suppressed else 7)


def test_records_with_null_are_suppressed_at_the_top_too(database: Database, session: Session, run: Run) -> None:
    session.execute("UPDATE patients SET ward = NULL WHERE ward = 'south'")
    policy = replace(POLICY, attributes=with_nulls(NullHandling.SUPPRESS), privacy_models=(KAnonymity(9),))
    release = run(database, replace(policy, suppression_limit=Decimal("0.25")))
    assert release.suppressed_records == 3
    assert session.rows("SELECT ward, age, count(*) FROM released GROUP BY ALL") == [("*", "*", 9)]


def test_nulls_are_refused_where_they_are_an_error(database: Database, session: Session, run: Run) -> None:
    session.execute("UPDATE patients SET ward = NULL WHERE ward = 'south'")
    with pytest.raises(InvalidError) as raised:
        run(database, replace(POLICY, attributes=with_nulls(NullHandling.ERROR)))
    assert [fault.field for fault in raised.value.faults] == ["attributes[2].nulls"]
    assert objects(session) == set()


def test_all_null_column(database: Database, session: Session, run: Run) -> None:
    session.execute("UPDATE patients SET ward = NULL")
    run(database, POLICY)
    assert session.rows("SELECT DISTINCT ward FROM released") == [(None,)]


# --- what looks different is different ------------------------------------------------------------------------------


LOOKING_ALIKE = {
    "DOUBLE": ["0.0", "-0.0", "-0.0", "nan", "nan", "nan"],
    "FLOAT": ["0.0", "-0.0", "-0.0", "1.5", "1.5", "1.5"],
    "TIMETZ": ["12:00:00+00", "12:00:00+00", "12:00:00+00", "13:00:00+01", "13:00:00+01", "13:00:00+01"],
    "JSON": ['{"a":1}', '{"a":1}', '{"a":1}', '{"a": 1}', '{"a": 1}', '{"a": 1}'],
    "VARCHAR": ["é", "é", "é", "e\u0301", "e\u0301", "e\u0301"],
    "BLOB": ["a", "a", "a", "A", "A", "A"],
}
"""Per type, values of which the first three look alike once released, and the others."""


def test_equal_values_look_alike(database: Database, session: Session, run: Run) -> None:
    """At least k records share what is seen, not just what the database calls equal."""
    session.execute(f"CREATE TABLE odd ({', '.join(f'c{i} {type_}' for i, type_ in enumerate(LOOKING_ALIKE))})")
    insert(session, "odd", zip(*LOOKING_ALIKE.values(), strict=True))
    hierarchy = SuppressionOnly()
    attributes = tuple(AttributePolicy(f"c{i}", Role.QUASI_IDENTIFIER, hierarchy) for i in range(len(LOOKING_ALIKE)))
    source = TableReference("", "main", "odd")
    run(database, replace(POLICY, source=source, attributes=attributes, person_column=None))
    for i in range(len(LOOKING_ALIKE)):
        seen = Counter(text for (text,) in session.rows(f"SELECT c{i}::VARCHAR FROM released"))
        assert list(seen.values()) == [3, 3]


TYPED = [
    ("ENUM('a', 'b', 'not there')", "'a'", "VARCHAR"),
    ("JSON", """'{"a": 1}'""", "VARCHAR"),
    ("DECIMAL(9, 2)", "12.50", "DECIMAL(9,2)"),
    ("HUGEINT", "170141183460469231731687303715884105727", "HUGEINT"),
    ("UTINYINT", "255", "UTINYINT"),
    ("DOUBLE", "0.1", "DOUBLE"),
    ("DATE", "'2024-02-29'", "DATE"),
    ("TIMESTAMP", "'2024-02-29 12:30:00.123456'", "TIMESTAMP"),
    ("TIMESTAMPTZ", "'2024-02-29 12:30:00+02'", "TIMESTAMP WITH TIME ZONE"),
    ("TIME", "'12:30:00'", "TIME"),
    ("UUID", "'12345678-1234-5678-1234-567812345678'", "UUID"),
    ("BLOB", "'\\x00\\xFF'", "BLOB"),
    ("BIT", "'0101'", "BIT"),
    ("BOOLEAN", "true", "BOOLEAN"),
]
"""Per type of a column, a value and the type it is released with."""


@pytest.mark.parametrize(
    ("role", "kind"),
    once([(Role.QUASI_IDENTIFIER, ReleaseKind.TABLE), (Role.SENSITIVE, ReleaseKind.VIEW)], several=True),
)
def test_types_of_values_that_are_released_as_they_are(
    database: Database, session: Session, run: Run, role: Role, kind: ReleaseKind
) -> None:
    session.execute(f"CREATE TABLE typed ({', '.join(f'c{i} {type_}' for i, (type_, _, _) in enumerate(TYPED))})")
    for _ in range(3):
        session.execute(f"INSERT INTO typed VALUES ({', '.join(value for _, value, _ in TYPED)})")
    hierarchy = SuppressionOnly()
    attributes = [AttributePolicy(f"c{i}", role) for i in range(len(TYPED))]
    if role is Role.QUASI_IDENTIFIER:
        attributes = [replace(attribute, hierarchy=hierarchy, maximum_level=0) for attribute in attributes]
    else:
        attributes[0] = AttributePolicy("c0", Role.QUASI_IDENTIFIER, hierarchy)
    source, target = TableReference("", "main", "typed"), replace(POLICY.release, kind=kind)
    run(database, replace(POLICY, source=source, attributes=tuple(attributes), person_column=None, release=target))
    found = session.rows("DESCRIBE released")
    assert [row[1] for row in found] == [released for _, _, released in TYPED]
    columns = ", ".join(f"c{i}::VARCHAR" for i in range(len(TYPED)))
    assert session.rows(f"SELECT {columns} FROM released") == session.rows(f"SELECT {columns} FROM typed")


@pytest.mark.parametrize("top", once(["", "any ward"]))
def test_the_tops_label_is_the_hierarchys(database: Database, session: Session, run: Run, top: str) -> None:
    wards = InlineLevels(tuple((row[0], top) for row in WARDS.rows))
    attributes = (*POLICY.attributes[:2], replace(POLICY.attributes[2], hierarchy=wards), POLICY.attributes[3])
    run(database, replace(POLICY, attributes=attributes, privacy_models=(KAnonymity(12),)))
    assert session.rows("SELECT DISTINCT ward, age FROM released") == [(top, "*")]


# --- what the search says ------------------------------------------------------------------------------------------


def test_a_search_stopped_by_time_says_so(database: Database, run: Run) -> None:
    release = run(database, replace(POLICY, search=SearchOptions(Decimal("0.000000001"))))
    assert not release.proof.optimal
    (warning, *_) = [text for text in other_warnings(release) if "time limit" in text]
    assert f"{release.proof.lower_bound:.6g}" in warning
    assert release.proof.lower_bound <= release.score


def test_runners_up_are_kept_in_order(database: Database, run: Run) -> None:
    release = run(database, replace(POLICY, suppression_limit=Decimal(1)))
    scores = [(other.score, sum(other.levels)) for other in searched(release).runners_up]
    assert scores == sorted(scores)
    assert all(score >= release.score for score, _ in scores)
    assert len(scores) >= 1


def test_infeasible_hints_work(database: Database, session: Session, run: Run) -> None:
    bounds: dict[str, Any] = {
        "attributes": tuple(replace(a, maximum_level=0) if a.hierarchy else a for a in POLICY.attributes)
    }
    policy = replace(POLICY, **bounds, suppression_limit=Decimal("0.1"))
    with pytest.raises(InfeasibleError, match="no transformation meets the policy") as raised:
        run(database, policy)
    # At level 0 the ages 20 and 25 are classes of two: 6 of 12 records are in classes of fewer than 3.
    assert "6 of 12 records (50 %)" in str(raised.value)
    assert "suppression_limit = 0.5." in raised.value.faults[-1].hint
    assert objects(session) == set()
    run(database, replace(policy, suppression_limit=Decimal("0.5000")))
    assert session.value("SELECT count(*) FROM released") == 6
