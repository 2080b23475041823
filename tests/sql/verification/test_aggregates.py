"""The verification's own aggregates: what a class may have instead of its values, and what it may not."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.backend import Database, Session
from tableveil.hierarchy import ValueKind
from tableveil.policy import AggregateFunction, Aggregation, AttributePolicy, Role, Scale, ValueOrder
from tableveil.verification.aggregates import check_aggregate
from tableveil.verification.written import ClassColumns, Labels, Written, WrittenAggregate

MEAN, MEDIAN, MODE, GEOMETRIC, INTERVAL, COMMON = AggregateFunction
NOWHERE = ("", "", "")
WRITTEN = Written(
    1,
    NOWHERE,
    "",
    NOWHERE,
    NOWHERE,
    NOWHERE,
    NOWHERE,
    0,
    (),
    (),
    (),
    (),
    ClassColumns("class_id", "class_size", "risk", ()),
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def holds(
    session: Session,
    type_: str,
    values: str,
    released_type: str,
    instead: str,
    aggregation: Aggregation,
    order: ValueOrder | None = None,
    labels: Labels | None = None,
) -> bool:
    """Whether a class of these values may have that instead."""
    session.execute(
        f"CREATE OR REPLACE TEMP TABLE membership AS SELECT 0 AS class, v::{type_} AS x0, count(*) AS n "
        f"FROM (VALUES {values}) AS t(v) GROUP BY v"
    )
    session.execute(f"CREATE OR REPLACE TEMP TABLE replaced AS SELECT 0 AS class, {instead}::{released_type} AS a0")
    kinds = {"INTEGER": ValueKind.INTEGER, "DATE": ValueKind.DATE, "VARCHAR": ValueKind.TEXT, "DOUBLE": ValueKind.FLOAT}
    kind = kinds.get(type_, ValueKind.TIMESTAMP if type_.startswith("TIMESTAMP") else ValueKind.DECIMAL)
    attribute = AttributePolicy("v", Role.QUASI_IDENTIFIER, aggregation=aggregation, order=order or ValueOrder())
    written = replace(WRITTEN, types=(("v", released_type),), source_types=(("v", type_),))
    problems = check_aggregate(session, 0, attribute, WrittenAggregate("v", kind, "", labels), written)
    assert len(problems) <= 1
    return not problems


@pytest.mark.parametrize(
    ("type_", "values", "released_type", "function", "right", "wrong"),
    [
        ("INTEGER", "(1), (2), (2)", "DOUBLE", MEAN, ["5 / 3.0"], ["2", "1.6666", "NULL", "'nan'"]),
        ("INTEGER", "(1), (2), (4), (9)", "DOUBLE", MEDIAN, ["3"], ["2", "4", "3.001"]),
        ("INTEGER", "(1), (4), (4), (1)", "DOUBLE", MEDIAN, ["2.5"], ["1", "4"]),
        ("INTEGER", "(2), (1), (1), (2), (3)", "INTEGER", MODE, ["1"], ["2", "3", "NULL"]),
        ("DOUBLE", "(1), (100)", "DOUBLE", GEOMETRIC, ["10"], ["50.5", "10.0001"]),
        ("DATE", "('2020-01-01'), ('2020-01-02'), ('2020-01-02')", "DATE", MEAN, ["'2020-01-02'"], ["'2020-01-01'"]),
        ("DATE", "('2020-01-01'), ('2020-01-02')", "DATE", MEDIAN, ["'2020-01-02'"], ["'2020-01-03'"]),
        (
            "TIMESTAMP",
            "('2020-01-01 00:00:00'), ('2020-01-01 00:00:01')",
            "TIMESTAMP",
            MEAN,
            ["'2020-01-01 00:00:00.5'"],
            ["'2020-01-01 00:00:00.5001'"],
        ),
    ],
)
def test_numbers(
    session: Session,
    type_: str,
    values: str,
    released_type: str,
    function: AggregateFunction,
    right: list[str],
    wrong: list[str],
) -> None:
    for instead in right:
        assert holds(session, type_, values, released_type, instead, Aggregation(function)), instead
    for instead in wrong:
        assert not holds(session, type_, values, released_type, instead, Aggregation(function)), instead


def test_coded_numbers(session: Session) -> None:
    mean = Aggregation(MEAN, bottom_coding="2", top_coding="5")
    assert holds(session, "INTEGER", "(1), (9), (5)", "DOUBLE", "4", mean)
    assert not holds(session, "INTEGER", "(1), (9), (5)", "DOUBLE", "5", mean)
    # Both ones count as twos, of which there are three then.
    mode = Aggregation(MODE, bottom_coding="2")
    assert holds(session, "INTEGER", "(0), (1), (2), (3), (3)", "INTEGER", "2", mode)
    assert not holds(session, "INTEGER", "(0), (1), (2), (3), (3)", "INTEGER", "3", mode)
    assert not holds(session, "INTEGER", "(0), (0), (0)", "INTEGER", "0", mode)


@pytest.mark.parametrize(
    ("type_", "values", "grid", "codings", "right", "wrong"),
    [
        (
            "INTEGER",
            "(5), (12)",
            "5",
            ("", ""),
            ["[5, 14]"],
            ["[5, 12]", "[5, 15)", "[5, 19]", "[0, 14]", "[10, 14]", "[5, 9]", "[3, 14]", "*", "< 15", ">= 5", "5", ""],
        ),
        ("INTEGER", "(-5)", "5", ("", ""), ["[-5, -1]"], ["[-10, -1]", "[-10, -6]", "[-5, -5]"]),
        ("INTEGER", "(2), (9)", "5", ("3", ""), ["< 10"], ["[0, 9]", "< 15", "< 9", "*", "< 5"]),
        ("INTEGER", "(3), (9)", "5", ("3", ""), ["< 10", "[0, 9]"], [">= 0"]),
        ("INTEGER", "(4), (9)", "5", ("3", ""), ["[0, 9]"], ["< 10"]),
        ("INTEGER", "(4), (9)", "5", ("", "8"), [">= 0"], ["[0, 9]", ">= 5", ">= -5"]),
        ("INTEGER", "(1), (9)", "5", ("3", "8"), ["*"], ["< 10", ">= 0", "[0, 9]"]),
        (
            "DECIMAL(4, 1)",
            "(0.3), (0.7)",
            "0.1",
            ("", ""),
            ["[0.3, 0.8)"],
            ["[0.2, 0.8)", "[0.3, 0.7)", "[0.3, 0.9)", "[0.35, 0.8)"],
        ),
        ("DOUBLE", "(1e20)", "1e10", ("", ""), ["[100000000000000000000, 100000000010000000000)"], ["[0, 1e30)"]),
        ("DATE", "('1970-01-09')", "7", ("", ""), ["[1970-01-08, 1970-01-14]"], ["[1970-01-09, 1970-01-15]"]),
        (
            "TIMESTAMP",
            "('1970-01-01 00:00:01')",
            "1.5",
            ("", ""),
            ["[1970-01-01T00:00:00, 1970-01-01T00:00:01.5)"],
            ["[1970-01-01T00:00:00, 1970-01-01T00:00:03)", "[1970-01-01T00:00:01, 1970-01-01T00:00:02.5)"],
        ),
    ],
)
def test_intervals(
    session: Session, type_: str, values: str, grid: str, codings: tuple[str, str], right: list[str], wrong: list[str]
) -> None:
    bottom, top = codings
    aggregation = Aggregation(INTERVAL, grid=Decimal(grid), bottom_coding=bottom, top_coding=top)
    for label in right:
        assert holds(session, type_, values, "VARCHAR", f"'{label}'", aggregation), label
    for label in wrong:
        assert not holds(session, type_, values, "VARCHAR", f"'{label}'", aggregation), label


def test_members(session: Session) -> None:
    listed = ValueOrder(values=("low", "middle", "high"))
    values = "('low'), ('high'), ('middle'), ('high')"
    median, mode = Aggregation(MEDIAN, Scale.ORDINAL), Aggregation(MODE, Scale.ORDINAL)
    assert holds(session, "VARCHAR", values, "VARCHAR", "'middle'", median, listed)
    assert not holds(session, "VARCHAR", values, "VARCHAR", "'high'", median, listed)
    assert not holds(session, "VARCHAR", values, "VARCHAR", "NULL", median, listed)
    assert holds(session, "VARCHAR", values, "VARCHAR", "'high'", mode, listed)
    assert holds(session, "VARCHAR", "('low'), ('high')", "VARCHAR", "'low'", mode, listed)
    assert not holds(session, "VARCHAR", "('low'), ('high')", "VARCHAR", "'high'", mode, listed)
    assert holds(session, "VARCHAR", "('low'), ('high')", "VARCHAR", "'high'", mode)


def test_common_labels(session: Session) -> None:
    session.execute("CREATE OR REPLACE TEMP TABLE tree (value VARCHAR, l1 VARCHAR, l2 VARCHAR)")
    session.execute("INSERT INTO tree VALUES ('a', 'ab', '*'), ('b', 'ab', '*'), ('c', 'c', '*')")
    labels = Labels("v", "tree", ("value", "l1", "l2"))
    common = Aggregation(COMMON, Scale.NOMINAL)
    right = {"('a'), ('a')": "a", "('a'), ('b')": "ab", "('a'), ('c')": "*", "('c')": "c"}
    for values, label in right.items():
        for instead in ("a", "ab", "c", "*", "x"):
            found = holds(session, "VARCHAR", values, "VARCHAR", f"'{instead}'", common, labels=labels)
            assert found == (instead == label), (values, instead)
