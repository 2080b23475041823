"""Releases with aggregated columns: the rows are those of the definitions, and the verification finds what is not."""

import datetime
import math
from dataclasses import replace
from typing import Any

import pytest

from tableveil.backend import Database, Session, table
from tableveil.dictionary import build_aggregated
from tableveil.dictionary.values import CodedAttribute
from tableveil.disclosure.check import check_exposure
from tableveil.errors import InternalError, InvalidError
from tableveil.policy import KAnonymity, ReleaseKind
from tableveil.release.clusters import Clusters
from tableveil.release.write import write_rows
from tableveil.verification import verify
from tests.once import once
from tests.sql.verification.aggregated_cases import SPECS, Case, drop, quoted, written_case


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def problems_of(session: Session, case: Case) -> str:
    try:
        verify(session, case.policy, case.plan.records, case.written)
    except InternalError as error:
        return error.message
    return ""


def released(session: Session, case: Case) -> list[tuple[Any, ...]]:
    names = ", ".join(map(quoted, case.compared))
    kept = "WHERE NOT gone" if case.plan.marker else ""
    return session.rows(f"SELECT {names} FROM main.released {kept}")


def alike(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> bool:
    """Whether they are the same rows in any order, averages up to their last digits."""

    def key(row: tuple[Any, ...]) -> list[str]:
        return [f"{x + 0.0:.9e}" if isinstance(x, float) else repr(x) for x in row]

    def same(x: Any, y: Any) -> bool:
        if isinstance(x, float) and isinstance(y, float):
            return math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-12)
        if isinstance(x, datetime.datetime):
            return bool(abs(x - y) <= datetime.timedelta(microseconds=1))
        return bool(x == y)

    pairs = zip(sorted(found, key=key), sorted(expected, key=key), strict=True)
    return all(len(a) == len(b) and all(map(same, a, b)) for a, b in pairs)


GROUPS = [sorted(SPECS)[i::4] for i in range(4)]
"""All columns, as they are together in a table."""

OTHER = {
    "BOOLEAN": "NOT {}",
    "DATE": "{} + 2",
    "DOUBLE": "{} * 1.001 + 0.001",
    "INTEGER": "{} + 1",
    "SMALLINT": "{} + 1",
    "VARCHAR": "CASE WHEN {} IN ('*', 'small', 'a', '9') THEN '10' ELSE '*' END",
}
"""Per released type, what is wrong in place of an aggregate; of timestamps two seconds more."""


@pytest.mark.parametrize("clusters", once([True, False]), ids=["clusters", "classes"])
@pytest.mark.parametrize("names", GROUPS, ids="+".join)
def test_rows_have_the_aggregates_of_their_classes(session: Session, names: list[str], clusters: bool) -> None:
    case = written_case(session, GROUPS.index(names), clusters, names, records=50)
    assert len(released(session, case)) == len(case.expected) > 0
    assert alike(released(session, case), case.expected), (released(session, case), case.expected)
    assert problems_of(session, case) == ""
    session.execute("BEGIN TRANSACTION")
    for j, name in enumerate(case.specs):
        other = OTHER.get(case.written.type_of(name), "{} + INTERVAL 2 SECOND")
        change(session, case, name, other)
        if clusters:
            session.execute(f"UPDATE class_aggregates SET a{j} = {other.format(f'a{j}')}")
    problems = problems_of(session, case)
    for spec in case.specs.values():
        assert f"classes have another {spec.aggregation.function} of a column" in problems
    assert problems.count("of a column than their records") == len(names)
    session.execute("ROLLBACK")
    drop(session, case)


def rows_of(case: Case) -> str:
    """The table that has the rows."""
    number = case.written.release
    return f"tableveil.snapshot_{number}" if case.policy.release.kind is ReleaseKind.VIEW else "main.released"


def change(session: Session, case: Case, name: str, other: str) -> None:
    """Writes something else into a column of the rows, and of the table of classes."""
    for of in (rows_of(case), "main.released_classes"):
        session.execute(f"UPDATE {of} SET {quoted(name)} = {other.format(quoted(name))}")


CHANGED = {
    "UPDATE class_members SET last = last + 1 WHERE rowid = 0": "the clusters do not have every record",
    "UPDATE class_members SET first = first - 1 WHERE rowid = 0": "parts of clusters do not follow each other",
    "DELETE FROM class_members WHERE rowid = 0": "the clusters do not have every record",
    "INSERT INTO class_members FROM class_members LIMIT 1": "parts of clusters do not follow each other",
    "UPDATE class_members SET c0 = (c0 + 1) % (SELECT count(*) FROM aggregated_0)": "the clusters do not have every",
    "UPDATE class_members SET class = (SELECT max(class) FROM class_members) - class": "another MEAN of a column",
    "UPDATE {rows} SET s = CASE s WHEN 'flu' THEN 'cold' ELSE 'flu' END": "the rows are not the records",
    "UPDATE {rows} SET i = 0": "the rows do not have the source's other values",
    "UPDATE {rows} SET {v} = {v} + 100": "the mean of a column's means is not that of the source",
    "UPDATE {rows} SET {v} = {v} + CASE WHEN i = 0 THEN 1 ELSE -1 END": "the rows are not the records of the clusters",
}
"""Changes to the members or rows of clusters, and the verification's findings."""


def test_clusters_that_are_not_those_of_the_rows_are_found(session: Session) -> None:
    case = written_case(session, 3, True, ["mean", "common"], records=40)
    assert len(case.plan.kept) > 2
    assert problems_of(session, case) == ""
    for statement, problem in CHANGED.items():
        session.execute("BEGIN TRANSACTION")
        session.execute(statement.format(rows=rows_of(case), v=quoted(next(iter(case.specs)))))
        assert problem in problems_of(session, case), statement
        session.execute("ROLLBACK")
    drop(session, case)


def test_clusters_are_as_large_as_the_policy_asks(session: Session) -> None:
    """Also where clusters that are too small look alike, so that together they are large enough."""
    case = written_case(session, 5, True, ["median"], records=40)
    smallest = int(case.plan.classes.counts.min())
    just, more = (
        replace(case, policy=replace(case.policy, privacy_models=(KAnonymity(k),))) for k in (smallest, smallest + 1)
    )
    assert problems_of(session, just) == ""
    assert f"clusters have fewer than {smallest + 1} records" in problems_of(session, more)
    drop(session, case)


def test_classes_that_do_not_have_the_records_of_their_labels_are_found(session: Session) -> None:
    case = written_case(session, 11, False, ["mean"], records=40)
    before, after = session.rows(
        f"SELECT g, min({quoted(case.compared[1])}) FROM main.released WHERE g IS NOT NULL GROUP BY g ORDER BY g"
    )[:2]
    session.execute("BEGIN TRANSACTION")
    session.execute(
        f"UPDATE {rows_of(case)} SET g = ?, {quoted(case.compared[1])} = ? WHERE rowid = ("
        f"SELECT min(rowid) FROM {rows_of(case)} WHERE g = ?)",
        [*after, before[0]],
    )
    assert "2 classes do not have the records of the source with their labels" in problems_of(session, case)
    session.execute("ROLLBACK")
    drop(session, case)


@pytest.mark.parametrize("clusters", once([True, False]), ids=["clusters", "classes"])
def test_a_single_record(session: Session, clusters: bool) -> None:
    for seed in range(100, 102):
        case = written_case(session, seed, clusters, ["mean", "interval_coded", "common"], records=1)
        assert alike(released(session, case), case.expected)
        assert problems_of(session, case) == ""
        drop(session, case)


def test_order_in_the_source_does_not_show(session: Session) -> None:
    """Which of the records with the same values are in which cluster depends on nothing but what is released."""
    case = written_case(session, 3, True, ["mode"], records=40)
    first = session.rows("FROM main.released")
    assert session.value("SELECT count(*) FROM class_members WHERE first > 1")
    session.execute("CREATE TABLE shuffled AS FROM people ORDER BY hash(rowid)")
    session.execute("DELETE FROM people")
    session.execute("INSERT INTO people FROM shuffled")
    session.execute("DROP TABLE shuffled")
    write_rows(session, case.plan, table("again", "main"))
    assert session.rows("FROM main.again") == first
    session.execute("DROP TABLE main.again")
    drop(session, case)


@pytest.mark.parametrize("clusters", [True, False], ids=["clusters", "classes"])
def test_columns_that_give_away_what_aggregates_hide(session: Session, clusters: bool) -> None:
    case = written_case(session, 3, clusters, ["mode"], records=40)
    ((name, _),) = case.specs.items()
    plan = case.plan
    attributes = [replace(a, acknowledged=False) for a in plan.policy.attributes]
    plan = replace(plan, policy=replace(plan.policy, attributes=tuple(attributes)))
    check_exposure(session, plan)
    session.execute(f"UPDATE people SET i = {quoted(name)}")
    with pytest.raises(InvalidError) as raised:
        check_exposure(session, plan)
    (fault,) = raised.value.faults
    assert fault.found.endswith("more finely than its aggregates: 100% of the records with equal values agree in it")
    check_exposure(session, case.plan)
    drop(session, case)


def test_no_column_is_given_away_that_has_one_value(session: Session) -> None:
    case = written_case(session, 3, True, ["mode"], records=40)
    ((name, _),) = case.specs.items()
    session.execute(f"UPDATE people SET {quoted(name)} = 1, i = 1")
    attribute = case.policy.attributes[0]
    source = case.plan.source
    session.execute("DROP TABLE temp.main.aggregated_0")
    dictionary, _ = build_aggregated(session, source, CodedAttribute(attribute, None, "", 0, ""))
    assert dictionary is not None
    assert isinstance(case.plan.recoding, Clusters)
    ((_, aggregates),) = case.plan.recoding.aggregates
    recoding = replace(case.plan.recoding, aggregates=((dictionary, aggregates),))
    attributes = tuple(replace(a, acknowledged=False) for a in case.policy.attributes)
    check_exposure(session, replace(case.plan, recoding=recoding, policy=replace(case.policy, attributes=attributes)))
    drop(session, case)
