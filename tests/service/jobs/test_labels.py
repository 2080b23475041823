"""The columns beside labels, and the tables that explain a release."""

import datetime
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, Redaction, SuppressionOnly
from tableveil.pipelines.read import resolve_fully
from tableveil.policy import (
    AttributePolicy,
    IfExists,
    KAnonymity,
    NullHandling,
    Policy,
    ReleaseKind,
    ReleaseTarget,
    Role,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.state.releases import Release
from tests.migrated import opened
from tests.once import once
from tests.service.jobs.tampered import problems_after

Run = Callable[..., Release]

REGIONS = ("north", "south", "east")
UNUSED = "a label that nobody has"
POLICY = Policy(
    source=TableReference("", "main", "hidden_source"),
    attributes=(
        AttributePolicy("hidden_id", Role.IDENTIFYING),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "104", ("10", "20"), top_coding="80"), 1),
        AttributePolicy(
            "admitted", Role.QUASI_IDENTIFIER, Dates("2023-02-03", "2024-11-07", (DateUnit.QUARTER, DateUnit.YEAR)), 1
        ),
        AttributePolicy(
            "region", Role.QUASI_IDENTIFIER, InlineLevels((*((region, "*") for region in REGIONS), (UNUSED, "*")))
        ),
        AttributePolicy("zip_code", Role.QUASI_IDENTIFIER, Redaction(3, 10), 1),
        AttributePolicy("diagnosis", Role.SENSITIVE),
        AttributePolicy("charge", Role.SENSITIVE, acknowledged=True),
    ),
    person_column="hidden_id",
    privacy_models=(KAnonymity(3),),
    release=ReleaseTarget("main", "discharges_released", class_id=True),
    suppression_limit=Decimal("0.2"),
    repeat_reason="a reason that only the owner reads",
)
HIDDEN = ("hidden_source", "hidden_id", "only the owner reads", UNUSED, "104", "2023-02-03", "2024-11-07")
"""Texts of the policy that no public object may have."""

MARKED: dict[str, Any] = {"suppressed_records": SuppressedRecords.KEEP, "marker_column": "suppressed"}
EXPLANATIONS = ("columns", "labels", "about")


def create(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE hidden_source AS SELECT i AS hidden_id, "
        "CASE WHEN i % 41 = 0 THEN NULL ELSE i * 7 % 95 END AS age, "
        "DATE '2023-02-03' + (i * 13 % 600)::INTEGER AS admitted, ['north', 'south', 'east'][1 + i % 3] AS region, "
        "lpad((i % 12)::VARCHAR, 3, '0') AS zip_code, 'D' || (i * i % 7) AS diagnosis, "
        "(i * 31 % 977)::DECIMAL(10, 2) AS charge FROM range(1500) AS r(i)"
    )


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Iterator[Database]:
    for database in opened(tmp_path_factory.mktemp("labels") / "test.duckdb"):
        with database.session() as session:
            create(session)
        run(database, POLICY)
        yield database


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def records(session: Session) -> list[dict[str, Any]]:
    """The released rows, as they are."""
    names = [name for name, *_ in session.rows("DESCRIBE discharges_released")]
    return [dict(zip(names, row, strict=True)) for row in session.rows("FROM discharges_released")]


def test_joins_by_labels_find_null(session: Session, records: list[dict[str, Any]]) -> None:
    """The join that the guide tells of keeps all records, of NULL labels as well."""
    assert any(record["age"] is None for record in records)
    labels = ("age", "admitted", "region", "zip_code")
    same = " AND ".join(f"r.{name} IS NOT DISTINCT FROM c.{name}" for name in labels)
    joined = f"FROM discharges_released r JOIN discharges_released_classes c ON {same}"
    assert session.rows(f"SELECT count(*) {joined}") == [(len(records),)]


# --- what is written -------------------------------------------------------------------------------------------------


def test_bounds_and_ranks_are_functions_of_the_label(records: list[dict[str, Any]], session: Session) -> None:
    for name in ("age", "admitted", "region", "zip_code"):
        beside = [f"{name}_{end}" for end in ("from", "to", "rank") if f"{name}_{end}" in records[0]]
        seen: dict[str | None, set[tuple[Any, ...]]] = defaultdict(set)
        for record in records:
            seen[record[name]].add(tuple(record[column] for column in beside))
        assert all(len(of) == 1 for of in seen.values())
        ranks = sorted(of.pop()[-1] for label, of in seen.items() if label is not None)
        assert ranks == list(range(1, len(ranks) + 1))
        listed = session.rows("SELECT label, records FROM discharges_released_labels WHERE column_name = $1", [name])
        assert dict(listed) == {label: sum(r[name] == label for r in records) for label in seen}
    assert {type(record["admitted_from"]) for record in records} <= {datetime.date, type(None)}
    assert [record["class_id"] for record in records] != []


def test_comments_warn_that_labels_are_text(session: Session) -> None:
    told = dict(
        session.rows("SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'discharges_released'")
    )
    assert told["age"].endswith("Text: sort by age_rank, compare and compute by age_from and age_to.")
    assert told["region"].endswith("Text: sort by region_rank.")


def test_nothing_of_the_policy_is_told(session: Session) -> None:
    told = [str(session.rows(f"FROM discharges_released_{table}")) for table in EXPLANATIONS]
    told += [
        str(session.rows(f"SELECT comment FROM duckdb_{kind}() WHERE schema_name = 'main' AND comment IS NOT NULL"))
        for kind in ("tables", "columns")
    ]
    assert all(len(text) > 100 for text in told)
    for hidden in HIDDEN:
        # The range ends with 104, but no label does.
        assert not [text for text in told if hidden in text], hidden


def test_facts_are_a_closed_list(session: Session) -> None:
    facts = session.rows("FROM discharges_released_about")
    assert {fact for fact, _ in facts} == {
        *("name", "release", "day", "source_records", "records", "suppressed_records", "classes", "privacy_model"),
        *("tableveil_version", "duckdb_version", "cite"),
    }
    known = dict(facts)
    assert known["records"] == str(session.value("SELECT count(*) FROM discharges_released"))
    assert known["privacy_model"] == "3-anonymity"


def test_columns_are_described(session: Session) -> None:
    described = session.rows("SELECT column_name, type FROM discharges_released_columns ORDER BY position")
    assert described == session.rows("SELECT column_name, column_type FROM (DESCRIBE discharges_released)")


@pytest.mark.parametrize("kind", once(ReleaseKind))
def test_suppressed_records_have_nothing_beside_their_labels(
    database: Database, session: Session, run: Run, kind: ReleaseKind
) -> None:
    attributes = tuple(replace(a, nulls=NullHandling.SUPPRESS) if a.column == "age" else a for a in POLICY.attributes)
    target = ReleaseTarget("main", "marked", kind, IfExists.REPLACE, class_id=True)
    run(database, replace(POLICY, attributes=attributes, release=target, **MARKED))
    rows = session.rows(
        "SELECT DISTINCT age, age_from, age_to, age_rank, region_rank, class_id FROM marked WHERE suppressed"
    )
    assert rows == [(None,) * 6]
    assert session.value("SELECT count(*) FROM marked_labels WHERE label IS NULL") == 0
    assert session.value("SELECT sum(records) FROM marked_labels WHERE column_name = 'age'") == session.value(
        "SELECT count(*) FROM marked WHERE NOT suppressed"
    )


@pytest.mark.long
def test_labels_of_several_levels_are_in_one_order(database: Database, session: Session, run: Run) -> None:
    attributes = tuple(replace(a, minimum_level=0) for a in POLICY.attributes)
    target = ReleaseTarget("main", "recoded", if_exists=IfExists.REPLACE)
    policy = replace(POLICY, attributes=attributes, methods=(LocalRecoding(),), release=target)
    run(database, policy)
    ends = session.rows("SELECT DISTINCT age_rank, age_from, age_to FROM recoded WHERE age_from >= 0 ORDER BY 1")
    assert len(ends) > 3
    assert [low for _, low, _ in ends] == sorted(low for _, low, _ in ends)
    assert {high is None or high >= low for _, low, high in ends} == {True}


@pytest.mark.long
def test_the_policy_can_leave_them_out(database: Database, session: Session, run: Run) -> None:
    target = ReleaseTarget("main", "plain", if_exists=IfExists.REPLACE)
    run(database, replace(POLICY, release=target))
    run(database, replace(POLICY, release=replace(target, label_columns=False)))
    names = {name for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'plain%'")}
    # The tables of the earlier release are gone.
    assert names == {"plain", "plain_classes", "plain_risk", "plain_risk_histogram"}
    assert "age_rank" not in {name for name, *_ in session.rows("DESCRIBE plain")}


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "field"),
    [("AGE_FROM", "attributes[1].column"), ("region_Rank", "attributes[3].column"), ("Class_ID", "release.class_id")],
)
def test_names_that_columns_need(session: Session, column: str, field: str) -> None:
    session.execute(f'CREATE OR REPLACE TABLE taken AS SELECT *, 1 AS "{column}" FROM hidden_source')
    taken = replace(POLICY, source=TableReference("", "main", "taken"))
    policy = replace(taken, attributes=(*POLICY.attributes, AttributePolicy(column, Role.INSENSITIVE)))
    with pytest.raises(InvalidError) as raised:
        resolve_fully(session, replace(policy, release=replace(policy.release, name="x")), store=False)
    (fault,) = raised.value.faults
    assert (fault.field, f"'{column}'" in fault.found) == (field, True)
    unreleased = replace(policy, attributes=(*POLICY.attributes, AttributePolicy(column, Role.IDENTIFYING)))
    resolve_fully(session, replace(unreleased, release=replace(policy.release, name="x")), store=False)


def test_columns_whose_own_columns_collide(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE twice AS SELECT i AS a, i AS a_rank, i AS b FROM range(9) AS r(i)")
    attributes = tuple(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in ("a", "a_rank", "b"))
    policy = replace(POLICY, source=TableReference("", "main", "twice"), attributes=attributes, person_column=None)
    with pytest.raises(InvalidError) as raised:
        resolve_fully(session, policy, store=False)
    assert [fault.field for fault in raised.value.faults] == ["attributes[0].column"]


# --- the verification ------------------------------------------------------------------------------------------------

BROKEN = {
    "UPDATE main.broken SET age_from = age_from - 1 WHERE charge < 100": "differ in its bounds or its rank",
    "UPDATE main.broken SET age_to = age_to + 1": "bounds of a quasi-identifier are not those that its labels say",
    "UPDATE main.broken SET age_to = 104 WHERE age_to IS NULL AND age_from >= 80": "bounds of a quasi-identifier",
    "UPDATE main.broken SET admitted_to = admitted_to - 1": "bounds of a quasi-identifier",
    "UPDATE main.broken SET age_rank = 1": "ranks of a quasi-identifier are not the order",
    "UPDATE main.broken SET region_rank = 4 - region_rank": "ranks of a quasi-identifier are not the order",
    "UPDATE main.broken SET admitted_rank = 2 * admitted_rank": "ranks of a quasi-identifier are not the order",
    "UPDATE main.broken_labels SET records = records + 1": "the table of labels does not say what the rows say",
    "UPDATE main.broken_labels SET time_to = time_to + INTERVAL 1 DAY": "the table of labels does not say",
    "DELETE FROM main.broken_labels WHERE rank = 1": "the table of labels does not say what the rows say",
    "INSERT INTO main.broken_labels (column_name) VALUES ('diagnosis')": "labels has other columns' labels",
    "UPDATE main.broken_classes SET class_id = class_id + 1": "the ids of classes do not number them",
    "UPDATE main.broken SET class_id = 1": "rows do not have the ids of their classes",
}


@pytest.fixture(scope="module")
def problems(shared_database: Database, run: Run) -> dict[str, str]:
    """The problems that the verification finds in one release after each statement."""
    target = ReleaseTarget("main", "broken", if_exists=IfExists.REPLACE, class_id=True)
    return problems_after(BROKEN, lambda: run(shared_database, replace(POLICY, release=target)))


@pytest.mark.parametrize("statement", BROKEN)
def test_what_a_broken_writer_writes_is_found(problems: dict[str, str], statement: str) -> None:
    assert BROKEN[statement] in problems[statement]
