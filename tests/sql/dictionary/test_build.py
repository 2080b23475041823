"""Dictionaries: codes, labels and groups of the values present, and values that a hierarchy does not cover."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.dictionary import Dictionary, build_dictionary, read_together
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import Fault
from tableveil.hierarchy import InlineLevels, RuleHierarchy
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, Redaction, SuppressionOnly
from tableveil.policy import AttributePolicy, KAnonymity, NullHandling, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import resolve_source

Hierarchy = InlineLevels | RuleHierarchy
SEXES = InlineLevels((("f", "known", "*"), ("m", "known", "*"), ("", "unknown", "*"), ("x", "other", "*")))


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def built(
    session: Session, type_: str, values: str, hierarchy: Hierarchy, **options: Any
) -> tuple[Dictionary | None, list[Fault]]:
    """The dictionary of a column `v` with these values."""
    session.execute(f"CREATE OR REPLACE TABLE t (v {type_})")
    session.execute(f"INSERT INTO t VALUES {values}")
    attribute = AttributePolicy("v", Role.QUASI_IDENTIFIER, hierarchy, **options)
    release = ReleaseTarget("main", "out")
    policy = Policy(TableReference("", "main", "t"), (attribute,), None, (KAnonymity(2),), release)
    source, _, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    return build_dictionary(session, source, CodedAttribute(attribute, hierarchy, "v@1", 7, "attributes[3]"))


def dictionary_of(session: Session, type_: str, values: str, hierarchy: Hierarchy, **options: Any) -> Dictionary:
    dictionary, faults = built(session, type_, values, hierarchy, **options)
    assert dictionary is not None, faults
    return dictionary


def rows_of(session: Session, dictionary: Dictionary) -> list[tuple[Any, ...]]:
    return session.rows(f'SELECT * FROM "{dictionary.table_name}" ORDER BY code')


def test_values_codes_labels_and_groups(session: Session) -> None:
    dictionary = dictionary_of(session, "VARCHAR", "('m'), ('f'), ('m'), (''), ('f')", SEXES)
    columns = [name for name, *_ in session.rows(f'DESCRIBE "{dictionary.table_name}"')]
    assert columns == ["value", "code", "l1", "g1", "l2", "g2"]
    assert rows_of(session, dictionary) == [
        ("", 0, "unknown", 1, "*", 0),
        ("f", 1, "known", 0, "*", 0),
        ("m", 2, "known", 0, "*", 0),
    ]
    assert (dictionary.nulls, dictionary.hierarchy, dictionary.top_label) == (0, "v@1", "*")
    # x is a leaf of the hierarchy though it does not occur.
    assert dictionary.levels.domain_size == 4


@pytest.mark.parametrize(
    ("nulls", "domain_size", "withholds"), [(NullHandling.VALUE, 5, False), (NullHandling.SUPPRESS, 4, True)]
)
def test_null_has_the_last_code(session: Session, nulls: NullHandling, domain_size: int, withholds: bool) -> None:
    """It is a leaf exactly if it is a value of its own."""
    dictionary = dictionary_of(session, "VARCHAR", "('m'), (NULL), ('f'), (NULL)", SEXES, nulls=nulls)
    assert rows_of(session, dictionary)[-1] == (None, 2, None, 1, "*", 0)
    assert dictionary.nulls == 2
    assert dictionary.levels.null_code == 2
    assert dictionary.levels.domain_size == domain_size
    assert dictionary.withholds == withholds


def test_withholds_nothing_where_no_null_occurs(session: Session) -> None:
    assert not dictionary_of(session, "VARCHAR", "('m')", SEXES, nulls=NullHandling.SUPPRESS).withholds


def test_all_null_column(session: Session) -> None:
    dictionary = dictionary_of(session, "VARCHAR", "(NULL), (NULL)", SEXES)
    assert rows_of(session, dictionary) == [(None, 0, None, 0, "*", 0)]
    assert dictionary.levels.null_code == 0


def test_one_value(session: Session) -> None:
    assert rows_of(session, dictionary_of(session, "INTEGER", "(5), (5)", SuppressionOnly())) == [(5, 0, "*", 0)]


@pytest.mark.parametrize("top", ["", "any", "it's"])
def test_the_tops_label_is_the_hierarchys(session: Session, top: str) -> None:
    dictionary = dictionary_of(session, "VARCHAR", "('a')", InlineLevels((("a", top), ("b", top))))
    assert dictionary.top_label == top
    assert rows_of(session, dictionary) == [("a", 0, top, 0)]


@pytest.mark.parametrize(
    ("type_", "values", "hierarchy", "expected"),
    [
        ("INTEGER", "(17), (30)", Intervals("0", "99", ("10",)), [(17, "[10, 19]"), (30, "[30, 39]")]),
        ("HUGEINT", "(17)", Intervals("0", "99", ("10",)), [(17, "[10, 19]")]),
        (
            "DECIMAL(5, 2)",
            "(1.50), (9.99)",
            Intervals("0", "10", ("2.5",)),
            [(Decimal("1.50"), "[0, 2.5)"), (Decimal("9.99"), "[7.5, 10]")],
        ),
        ("DOUBLE", "(0.5)", Intervals("0", "10", ("2",)), [(0.5, "[0, 2)")]),
        (
            "DATE",
            "('2024-02-29')",
            Dates("2020-01-01", "2029-12-31", (DateUnit.MONTH,)),
            [(datetime.date(2024, 2, 29), "2024-02")],
        ),
        ("VARCHAR", "('12345')", Redaction(5, 10, step=2), [("12345", "123**")]),
        ("ENUM('m', 'f')", "('f'), ('m')", SEXES, [("m", "known"), ("f", "known")]),
        ("BOOLEAN", "(true), (false)", SuppressionOnly(), [(False, "*"), (True, "*")]),
        ("BLOB", "('\\x00\\xFF')", SuppressionOnly(), [(b"\x00\xff", "*")]),
        ("TIME", "('12:30:00')", SuppressionOnly(), [(datetime.time(12, 30), "*")]),
    ],
)
def test_columns_of_any_type(
    session: Session, type_: str, values: str, hierarchy: Hierarchy, expected: list[tuple[Any, str]]
) -> None:
    found = rows_of(session, dictionary_of(session, type_, values, hierarchy))
    assert [(value, label) for value, _, label, *_ in found] == expected


def test_numbers_are_looked_up_in_listed_levels_by_their_text(session: Session) -> None:
    listed = InlineLevels((("1.50", "low", "*"), ("9.99", "high", "*")))
    found = rows_of(session, dictionary_of(session, "DECIMAL(5, 2)", "(1.5), (9.99)", listed))
    assert [row[2] for row in found] == ["low", "high"]


def test_values_without_a_label_are_counted_with_examples(session: Session) -> None:
    values = ", ".join(f"('v{i}')" for i in range(8))
    dictionary, (fault,) = built(session, "VARCHAR", f"('m'), {values}, ('v3'), (NULL)", SEXES)
    assert dictionary is None
    assert fault.field == "attributes[3].hierarchy"
    assert fault.found == "8 values of 'v' that the hierarchy does not cover"


def test_a_single_uncovered_value_is_the_example(session: Session) -> None:
    _, (fault,) = built(session, "INTEGER", "(5), (100)", Intervals("0", "99", ("10",)))
    assert fault.found == "1 value of 'v' that the hierarchy does not cover"


@pytest.mark.parametrize(
    ("type_", "hierarchy", "field"),
    [
        ("DATE", Redaction(5, 10), "attributes[3].hierarchy.redaction"),
        ("VARCHAR", Intervals("0", "9", ("5",)), "attributes[3].hierarchy.intervals"),
        ("VARCHAR", Dates("2020-01-01", "2020-12-31", (DateUnit.YEAR,)), "attributes[3].hierarchy.dates"),
        ("INTEGER", Intervals("0", "9.5", ("5",)), "attributes[3].hierarchy.intervals.maximum"),
    ],
)
def test_rules_that_do_not_fit_the_column(session: Session, type_: str, hierarchy: Hierarchy, field: str) -> None:
    dictionary, faults = built(session, type_, "(NULL)", hierarchy)
    assert dictionary is None
    assert [fault.field for fault in faults] == [field]


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"minimum_level": 2, "maximum_level": 2}, []),
        ({"minimum_level": 3}, ["minimum_level"]),
        ({"maximum_level": 3}, ["maximum_level"]),
        ({"minimum_level": 3, "maximum_level": 9}, ["minimum_level", "maximum_level"]),
    ],
)
def test_levels_beyond_the_top(session: Session, options: dict[str, int], fields: list[str]) -> None:
    _, faults = built(session, "VARCHAR", "('m')", SEXES, **options)
    assert [fault.field for fault in faults] == [f"attributes[3].{field}" for field in fields]
    assert all(fault.expected == "a level from 0 to 2, the hierarchy's top" for fault in faults)


def test_columns_that_are_read_together_have_the_dictionaries_of_each(session: Session) -> None:
    names = ("a", "b", "c", "d", "e")
    session.execute("CREATE OR REPLACE TABLE t (a VARCHAR, b TINYINT, c BIGINT, d DATE, e VARCHAR)")
    rows = ("('x', 1, -5, '2024-01-01', 'ä')", "(NULL, 1, 9000000000, NULL, '')", "('X', NULL, 7, NULL, '')")
    session.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
    attributes = tuple(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in names)
    release = ReleaseTarget("main", "out")
    policy = Policy(TableReference("", "main", "t"), attributes, None, (KAnonymity(2),), release)
    source, _, _ = resolve_source(session, policy)
    assert source is not None
    together = read_together(session, source, source.columns, {name: 10_001 if name == "e" else 3 for name in names})
    # Dates stay in the database, and `e` may have too many values.
    assert set(together) == {"a", "b", "c"}
    for i, attribute in enumerate(attributes):
        told = build_dictionary(
            session, source, CodedAttribute(attribute, SuppressionOnly(), "", i, ""), together.get(attribute.column)
        )
        alone = build_dictionary(session, source, CodedAttribute(attribute, SuppressionOnly(), "", i + 9, ""))
        (one, _), (other, _) = told, alone
        assert one is not None
        assert other is not None
        assert rows_of(session, one) == rows_of(session, other)
        assert (one.nulls, one.distinct) == (other.nulls, other.distinct)
