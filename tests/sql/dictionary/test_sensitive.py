"""Dictionaries of sensitive columns: the order of the values, where NULL stands, and what has no place in an order."""

from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.dictionary import SensitiveDictionary, build_sensitive
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import Fault
from tableveil.hierarchy import InlineLevels, RuleHierarchy
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals
from tableveil.policy import (
    AttributePolicy,
    KAnonymity,
    NullPosition,
    OrderBy,
    Policy,
    ReleaseTarget,
    Role,
    TableReference,
    ValueOrder,
)
from tableveil.source import resolve_source


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def built(
    session: Session,
    type_: str,
    values: str,
    order: ValueOrder | None = None,
    hierarchy: InlineLevels | RuleHierarchy | None = None,
    ordered: bool = False,
) -> tuple[SensitiveDictionary | None, list[Fault]]:
    """The dictionary of a column `v` with these values."""
    session.execute("DROP TABLE IF EXISTS sensitive_7")
    session.execute(f"CREATE OR REPLACE TABLE t (v {type_})")
    session.execute(f"INSERT INTO t VALUES {values}")
    attribute = AttributePolicy("v", Role.SENSITIVE, hierarchy, order=order or ValueOrder())
    release = ReleaseTarget("main", "out")
    policy = Policy(TableReference("", "main", "t"), (attribute,), None, (KAnonymity(2),), release)
    source, _, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    return build_sensitive(session, source, CodedAttribute(attribute, hierarchy, "", 7, "attributes[3]"), ordered)


def dictionary_of(session: Session, type_: str, values: str, *options: Any, **more: Any) -> SensitiveDictionary:
    dictionary, faults = built(session, type_, values, *options, **more)
    assert dictionary is not None, faults
    return dictionary


def fault_of(session: Session, type_: str, values: str, *options: Any, **more: Any) -> tuple[str, str]:
    dictionary, (fault,) = built(session, type_, values, *options, **more)
    assert dictionary is None
    tables = session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name ~ 'sensitive_values.*'")
    assert tables == []
    return fault.field, fault.found


def texts_in_order(session: Session, dictionary: SensitiveDictionary) -> list[str | None]:
    rows = session.rows(f'SELECT CAST(value AS VARCHAR), code, n FROM "{dictionary.table_name}" ORDER BY code')
    assert [code for _, code, _ in rows] == list(range(len(rows)))
    assert [n for _, _, n in rows] == dictionary.values.counts.tolist()
    return [text for text, _, _ in rows]


@pytest.mark.parametrize(
    ("type_", "values", "expected"),
    [
        ("INTEGER", "(10), (9), (10), (-1)", ["-1", "9", "10"]),
        ("DECIMAL(5, 2)", "(10), (9.5), (-1)", ["-1.00", "9.50", "10.00"]),
        ("DOUBLE", "('nan'), ('inf'), (1e9), ('-inf'), ('nan')", ["-inf", "1000000000.0", "inf", "nan"]),
        ("DATE", "('2024-02-01'), ('2023-12-31')", ["2023-12-31", "2024-02-01"]),
        (
            "TIMESTAMPTZ",
            "('2024-02-01 00:00+01'), ('2024-01-31 23:30+00')",
            ["2024-01-31 23:00:00+00", "2024-01-31 23:30:00+00"],
        ),
        ("VARCHAR", "('10'), ('9'), ('é'), ('z'), ('Z')", ["10", "9", "Z", "z", "é"]),
        ("ENUM('low', 'high', 'absent', 'also')", "('high'), ('low'), ('also')", ["low", "high", "also"]),
        ("BOOLEAN", "(true), (false)", ["false", "true"]),
    ],
)
def test_values_come_in_the_order_of_their_type(session: Session, type_: str, values: str, expected: list[str]) -> None:
    assert texts_in_order(session, dictionary_of(session, type_, values)) == expected


def test_zeros_are_one_value_whatever_their_sign(session: Session) -> None:
    dictionary = dictionary_of(session, "DOUBLE", "(0.0), ('-0.0'), (1)", ValueOrder(values=("1.0", "0.0")))
    assert texts_in_order(session, dictionary) == ["1.0", "0.0"]
    assert dictionary.values.counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("type_", "by", "values", "expected"),
    [
        ("VARCHAR", OrderBy.NUMBER, "('10'), ('9'), ('-.5'), ('+1e3'), ('7.')", ["-.5", "7.", "9", "10", "+1e3"]),
        ("ENUM('10', '9')", OrderBy.NUMBER, "('10'), ('9')", ["9", "10"]),
        ("INTEGER", OrderBy.NUMBER, "(10), (9)", ["9", "10"]),
        ("VARCHAR", OrderBy.DATE, "('2024-02-01'), ('0999-12-31')", ["0999-12-31", "2024-02-01"]),
        ("DATE", OrderBy.DATE, "('2024-02-01'), ('2023-12-31')", ["2023-12-31", "2024-02-01"]),
    ],
)
def test_text_is_ordered_as_what_it_says(
    session: Session, type_: str, by: OrderBy, values: str, expected: list[str]
) -> None:
    assert texts_in_order(session, dictionary_of(session, type_, values, ValueOrder(by))) == expected


def test_a_list_orders_what_occurs(session: Session) -> None:
    order = ValueOrder(values=("low", "medium", "it's; high"))
    dictionary = dictionary_of(session, "VARCHAR", "('it''s; high'), ('low')", order)
    assert texts_in_order(session, dictionary) == ["low", "it's; high"]


@pytest.mark.parametrize(("nulls", "first"), [(NullPosition.FIRST, True), (NullPosition.LAST, False), (None, False)])
def test_null_has_the_last_code_wherever_it_stands(session: Session, nulls: NullPosition | None, first: bool) -> None:
    order = ValueOrder(OrderBy.NUMBER, nulls=nulls)
    dictionary = dictionary_of(session, "VARCHAR", "(NULL), ('2'), (NULL), ('10')", order)
    assert texts_in_order(session, dictionary) == ["2", "10", None]
    assert dictionary.values.counts.tolist() == [1, 1, 2]
    assert (dictionary.values.null_code, dictionary.values.null_first) == (2, first)


def test_columns_of_nothing_but_null_and_without_any(session: Session) -> None:
    assert dictionary_of(session, "INTEGER", "(NULL), (NULL)").values.null_code == 0
    assert dictionary_of(session, "INTEGER", "(5)").values.null_code is None


LISTED = InlineLevels(
    (("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "stomach", "*"), ("gout", "joint", "*"))
)


@pytest.mark.parametrize("order", [ValueOrder(), ValueOrder(values=("ulcer", "flu", "asthma"))])
def test_groups_follow_the_codes(session: Session, order: ValueOrder) -> None:
    dictionary = dictionary_of(session, "VARCHAR", "('ulcer'), ('flu'), ('asthma'), ('flu'), (NULL)", order, LISTED)
    levels = dictionary.values.levels
    assert levels is not None
    assert levels.top == 2
    labels = [levels.labels[0][group] for group in levels.groups[1]]
    parts = {"flu": "lung", "asthma": "lung", "ulcer": "stomach", None: None}
    assert labels == [parts[text] for text in texts_in_order(session, dictionary)]
    assert levels.null_code == dictionary.values.null_code == 3


def test_a_rule_groups_numbers(session: Session) -> None:
    dictionary = dictionary_of(session, "INTEGER", "(25), (3), (7)", hierarchy=Intervals("0", "29", ("10",)))
    assert dictionary.values.levels is not None
    assert dictionary.values.levels.groups[1].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("type_", "by", "values", "count"),
    [
        ("VARCHAR", OrderBy.NUMBER, "('1'), (' 1'), ('one'), ('nan'), ('1_0'), ('0x1'), ('')", 6),
        ("VARCHAR", OrderBy.DATE, "('2024-02-30'), ('2024-2-1'), ('01.02.2024'), ('2024-02-01')", 3),
    ],
)
def test_text_that_says_nothing_of_the_kind(session: Session, type_: str, by: OrderBy, values: str, count: int) -> None:
    field, found = fault_of(session, type_, values, ValueOrder(by))
    assert field == "attributes[3].order.by"
    # None of them is shown.
    assert found == f"{count} values of 'v' that are none"


@pytest.mark.parametrize("values", ["('1'), ('1.0'), ('2')", "('9007199254740993'), ('9007199254740992')"])
def test_numbers_that_are_the_same(session: Session, values: str) -> None:
    field, found = fault_of(session, "VARCHAR", values, ValueOrder(OrderBy.NUMBER))
    assert field == "attributes[3].order.by"
    assert found == "2 values of 'v' that are the same number of 64 bits as others"


def test_values_that_the_list_lacks(session: Session) -> None:
    order = ValueOrder(values=("low", "high"))
    fault = fault_of(session, "VARCHAR", "('low'), ('medium'), ('Low'), (NULL)", order)
    assert fault == ("attributes[3].order.values", "2 values of 'v' that are not listed")


def test_null_needs_a_place_only_where_distances_are_ordered(session: Session) -> None:
    values = "(1), (NULL), (NULL)"
    assert built(session, "INTEGER", values, ordered=False)[1] == []
    assert fault_of(session, "INTEGER", values, ordered=True) == ("attributes[3].order.nulls", "2 NULLs in 'v'")
    assert built(session, "INTEGER", values, ValueOrder(nulls=NullPosition.LAST), ordered=True)[1] == []
    assert built(session, "INTEGER", "(1)", ordered=True)[1] == []


@pytest.mark.parametrize(
    ("type_", "values", "by"), [("DATE", "('2024-02-01')", OrderBy.NUMBER), ("INTEGER", "(1)", OrderBy.DATE)]
)
def test_types_of_another_kind(session: Session, type_: str, values: str, by: OrderBy) -> None:
    found = f"{by} for 'v', a column of type '{type_}'"
    assert fault_of(session, type_, values, ValueOrder(by)) == ("attributes[3].order.by", found)


def test_values_that_the_hierarchy_does_not_cover(session: Session) -> None:
    field, found = fault_of(session, "VARCHAR", "('flu'), ('cold'), (NULL)", hierarchy=LISTED)
    assert field == "attributes[3].hierarchy"
    assert found == "1 value of 'v' that the hierarchy does not cover"


def test_a_rule_that_does_not_fit_the_column(session: Session) -> None:
    field, _ = fault_of(session, "INTEGER", "(1)", hierarchy=Dates("2000-01-01", "2020-12-31", (DateUnit.YEAR,)))
    assert field.startswith("attributes[3].hierarchy.dates")
