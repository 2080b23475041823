"""Dictionaries of aggregated columns: positions, coding, orders and levels, and what cannot be aggregated."""

import math
import tracemalloc
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tableveil.backend import Database, Session
from tableveil.dictionary import AggregatedDictionary, build_aggregated
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import Fault
from tableveil.hierarchy import InlineLevels, RuleHierarchy
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    KAnonymity,
    NullHandling,
    OrderBy,
    Policy,
    ReleaseTarget,
    Role,
    Scale,
    TableReference,
    ValueOrder,
)
from tableveil.source import resolve_source

NOMINAL = Aggregation(AggregateFunction.COMMON_LABEL, Scale.NOMINAL)
ORDINAL = Aggregation(AggregateFunction.MEDIAN, Scale.ORDINAL)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def built(
    session: Session,
    type_: str,
    values: str,
    aggregation: Aggregation | None = None,
    hierarchy: InlineLevels | RuleHierarchy | None = None,
    order: ValueOrder | None = None,
    name: str = "v",
) -> tuple[AggregatedDictionary | None, list[Fault]]:
    """The dictionary of a column with these values; records with NULL in it are set aside."""
    session.execute("DROP TABLE IF EXISTS aggregated_7")
    quoted = '"' + name.replace('"', '""') + '"'
    session.execute(f"CREATE OR REPLACE TABLE t ({quoted} {type_})")
    session.execute(f"INSERT INTO t VALUES {values}")
    attribute = AttributePolicy(
        name,
        Role.QUASI_IDENTIFIER,
        hierarchy,
        nulls=NullHandling.SUPPRESS,
        order=order or ValueOrder(),
        aggregation=aggregation or Aggregation(),
        weight=2.5,
    )
    policy = Policy(TableReference("", "main", "t"), (attribute,), None, (KAnonymity(2),), ReleaseTarget("main", "out"))
    source, _, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    source = source.clustered([name])
    return build_aggregated(session, source, CodedAttribute(attribute, hierarchy, "h@1", 7, "attributes[3]"))


def dictionary_of(session: Session, type_: str, values: str, *options: Any, **more: Any) -> AggregatedDictionary:
    dictionary, faults = built(session, type_, values, *options, **more)
    assert dictionary is not None, faults
    codes = [code for (code,) in session.rows(f"SELECT code FROM {dictionary.table_name} ORDER BY code")]
    assert codes == list(range(dictionary.distinct))
    return dictionary


def fault_of(session: Session, type_: str, values: str, *options: Any, **more: Any) -> tuple[str, str]:
    dictionary, (fault,) = built(session, type_, values, *options, **more)
    assert dictionary is None
    assert session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name ~ 'aggregated_values.*'") == []
    assert fault.expected
    return fault.field, fault.found


@pytest.mark.parametrize(
    ("type_", "values", "positions", "counts"),
    [
        ("INTEGER", "(10), (9), (10), (-1), (NULL)", [-1, 9, 10], [1, 1, 2]),
        ("UHUGEINT", "(9007199254740991), (0)", [0, 9007199254740991], [1, 1]),
        ("DECIMAL(38, 1)", "(10), (9.5), (-0.1)", [-0.1, 9.5, 10], [1, 1, 1]),
        ("DECIMAL(38, 37)", "(1.0000000000000000000000000000000000001), (1)", [1, 1], [1, 1]),
        ("DOUBLE", "(1e140), (-0.0), (0.0), (5e-324)", [0, 5e-324, 1e140], [2, 1, 1]),
        ("FLOAT", "(0.5), (0.1)", [float(np.float32(0.1)), 0.5], [1, 1]),
        ("DATE", "('1970-01-02'), ('0001-01-01'), ('9999-12-31')", [-719162, 1, 2932896], [1, 1, 1]),
        ("TIMESTAMP", "('1970-01-01 00:00:01.25'), ('1969-12-31 23:59:59')", [-1, 1.25], [1, 1]),
        ("TIMESTAMP_S", "('9999-12-31 23:59:59')", [253402300799], [1]),
        ("TIMESTAMP_NS", "('1970-01-01 00:00:01.000001')", [1.000001], [1]),
        ("TIMESTAMPTZ", "('1970-01-01 01:00:00+01:00'), ('1970-01-01 00:00:00+00:00')", [0], [2]),
        ("INTEGER", "(NULL)", [], []),
    ],
)
def test_positions_of_numeric_values(
    session: Session, type_: str, values: str, positions: list[float], counts: list[int]
) -> None:
    dictionary = dictionary_of(session, type_, values)
    assert dictionary.values.positions.tolist() == positions
    assert dictionary.values.positions.dtype == np.float64
    assert dictionary.values.counts.tolist() == counts
    assert dictionary.values.coded == (-math.inf, math.inf)
    assert dictionary.values.weight == 2.5
    assert dictionary.set_aside == values.count("NULL")
    assert dictionary.counted.null_code is None
    assert not dictionary.counted.protected


def test_records_set_aside_for_other_columns_are_not_counted(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE t (v INTEGER, w INTEGER)")
    session.execute("INSERT INTO t VALUES (1, 1), (2, NULL), (NULL, 2), (NULL, NULL)")
    attributes = [
        AttributePolicy(name, Role.QUASI_IDENTIFIER, nulls=NullHandling.SUPPRESS, aggregation=Aggregation())
        for name in ("v", "w")
    ]
    policy = Policy(
        TableReference("", "main", "t"), tuple(attributes), None, (KAnonymity(2),), ReleaseTarget("main", "out")
    )
    source, _, _ = resolve_source(session, policy)
    assert source is not None
    dictionary, _ = build_aggregated(
        session, source.clustered(["v", "w"]), CodedAttribute(attributes[0], None, "", 8, "a")
    )
    assert dictionary is not None
    assert (dictionary.values.positions.tolist(), dictionary.set_aside) == ([1], 2)


@pytest.mark.parametrize("name", ["value", "n", "code", "text", "place", 'a "b"', "SELECT", "größe 年", "found"])
def test_columns_of_any_name(session: Session, name: str) -> None:
    dictionary = dictionary_of(session, "INTEGER", "(3), (1), (3)", name=name)
    assert dictionary.values.positions.tolist() == [1, 3]
    listed = ValueOrder(values=("3", "1"))
    dictionary = dictionary_of(session, "INTEGER", "(3), (1), (3)", ORDINAL, order=listed, name=name)
    assert dictionary.values.counts.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("type_", "values", "coding", "coded", "positions"),
    [
        ("INTEGER", "(1), (5), (9)", ("3", ""), (3, math.inf), [3, 5, 9]),
        ("INTEGER", "(1), (5), (9)", ("5", "5"), (5, 5), [5, 5, 5]),
        ("DECIMAL(4, 2)", "(1), (5), (9)", ("-1", "5.50"), (-1, 5.5), [1, 5, 5.5]),
        ("DOUBLE", "(-1), (5)", ("", "0.1"), (-math.inf, 0.1), [-1, 0.1]),
        ("DATE", "('2020-01-01'), ('1960-01-01')", ("1970-01-01", ""), (0, math.inf), [0, 18262]),
        ("TIMESTAMP", "('2020-01-01')", ("", "1970-01-01 00:00:01.5"), (-math.inf, 1.5), [1.5]),
        ("TIMESTAMPTZ", "('2020-01-01')", ("", "1970-01-02T00:00:00"), (-math.inf, 86400), [86400]),
        ("TIMESTAMP_S", "('2020-01-01')", ("", "1970-01-02"), (-math.inf, 86400), [86400]),
    ],
)
def test_values_beyond_a_coding_have_its_position(
    session: Session,
    type_: str,
    values: str,
    coding: tuple[str, str],
    coded: tuple[float, float],
    positions: list[float],
) -> None:
    bottom, top = coding
    dictionary = dictionary_of(session, type_, values, Aggregation(bottom_coding=bottom, top_coding=top))
    assert dictionary.values.coded == coded
    assert dictionary.values.positions.tolist() == positions


@pytest.mark.parametrize(
    ("type_", "coding", "field"),
    [
        ("INTEGER", ("1.5", ""), "bottom_coding"),
        ("UTINYINT", ("", "256"), "top_coding"),
        ("DECIMAL(4, 1)", ("", "1.25"), "top_coding"),
        ("DOUBLE", ("1e5", ""), "bottom_coding"),
        ("FLOAT", ("", "9" * 50), "top_coding"),
        ("DATE", ("1", ""), "bottom_coding"),
        ("DATE", ("1970-02-30", ""), "bottom_coding"),
        ("TIMESTAMP", ("1970-01-01 24:00", ""), "bottom_coding"),
        ("INTEGER", ("9", "8"), "top_coding"),
    ],
)
def test_codings_that_cannot_be_read(session: Session, type_: str, coding: tuple[str, str], field: str) -> None:
    bottom, top = coding
    path, found = fault_of(session, type_, "(NULL)", Aggregation(bottom_coding=bottom, top_coding=top))
    assert path == f"attributes[3].aggregation.{field}"
    assert found == repr(getattr(Aggregation(bottom_coding=bottom, top_coding=top), field)) or found in (bottom, top)


def test_all_that_is_wrong_with_codings_is_told(session: Session) -> None:
    _, faults = built(session, "INTEGER", "(1)", Aggregation(bottom_coding="a", top_coding="b"))
    assert [fault.field for fault in faults] == [
        "attributes[3].aggregation.bottom_coding",
        "attributes[3].aggregation.top_coding",
    ]


@pytest.mark.parametrize(
    ("type_", "values", "found"),
    [
        ("VARCHAR", "('1')", "NUMERIC for 'v', a column of type 'VARCHAR'"),
        ("TIME", "('10:00')", "NUMERIC for 'v', a column of type 'TIME'"),
        ("DOUBLE", "('nan'), ('nan'), ('inf'), (1)", "2 values of 'v' that are infinite or no numbers"),
        ("DATE", "('infinity'), ('2020-01-01')", "1 values of 'v' that are infinite or no numbers"),
        ("TIMESTAMPTZ", "('-infinity')", "1 values of 'v' that are infinite or no numbers"),
        ("BIGINT", "(9007199254740992), (-9007199254740992), (1)", "2 values of 'v' out of range"),
        ("DOUBLE", "(1.1e140), (1)", "1 values of 'v' out of range"),
        ("DATE", "('10000-01-01'), ('0001-01-01 (BC)'), ('2020-01-01')", "2 values of 'v' out of range"),
        ("TIMESTAMP", "('10000-01-01 00:00:00'), ('9999-12-31 23:59:59')", "1 values of 'v' out of range"),
    ],
)
def test_values_without_a_position(session: Session, type_: str, values: str, found: str) -> None:
    assert fault_of(session, type_, values) == ("attributes[3].aggregation.scale", found)


GEOMETRIC = AggregateFunction.GEOMETRIC_MEAN


def test_a_geometric_mean_is_of_numbers_above_zero(session: Session) -> None:
    field = "attributes[3].aggregation.function"
    found = "GEOMETRIC_MEAN of 'v', which has 2 values that are not above 0"
    assert fault_of(session, "INTEGER", "(0), (-1), (1)", Aggregation(GEOMETRIC)) == (field, found)
    found = "GEOMETRIC_MEAN of 'v', a column of type 'DATE'"
    assert fault_of(session, "DATE", "('2020-01-01')", Aggregation(GEOMETRIC)) == (field, found)
    dictionary_of(session, "INTEGER", "(0), (-1), (1)", Aggregation(GEOMETRIC, bottom_coding="1"))


@pytest.mark.parametrize(
    ("type_", "values", "grid"),
    [
        ("INTEGER", "(1)", "2.5"),
        ("DATE", "('2020-01-01')", "0.5"),
        ("TIMESTAMP", "('1970-01-01')", "0.0000001"),
        ("DOUBLE", "(1e20)", "5"),
        ("DOUBLE", "(-1e20)", "5"),
        ("TIMESTAMP", "('2020-01-01')", "0.000001"),
        ("DATE", "('9999-12-31')", "7"),
        ("TIMESTAMP", "('0001-01-01 00:00:01')", "1000000"),
    ],
)
def test_grids_that_do_not_fit(session: Session, type_: str, values: str, grid: str) -> None:
    path, found = fault_of(session, type_, values, Aggregation(AggregateFunction.INTERVAL, grid=Decimal(grid)))
    assert path == "attributes[3].aggregation.grid"
    assert found.startswith(f"{Decimal(grid)} for 'v'")


@pytest.mark.parametrize(("type_", "values", "grid"), [("DATE", "('2020-01-01')", "7"), ("DOUBLE", "(1e20)", "1e10")])
def test_grids_that_fit(session: Session, type_: str, values: str, grid: str) -> None:
    dictionary_of(session, type_, values, Aggregation(AggregateFunction.INTERVAL, grid=Decimal(grid)))


@pytest.mark.parametrize(
    ("type_", "values", "order", "counts"),
    [
        ("VARCHAR", "('b'), ('a'), ('b')", ValueOrder(), [1, 2]),
        ("VARCHAR", "('10'), ('9'), ('9')", ValueOrder(OrderBy.NUMBER), [2, 1]),
        ("VARCHAR", "('low'), ('high'), ('low')", ValueOrder(values=("low", "middle", "high")), [2, 1]),
        ("DOUBLE", "('nan'), ('-inf'), ('nan')", ValueOrder(), [1, 2]),
        ("BOOLEAN", "(true), (true), (false)", ValueOrder(), [1, 2]),
        ("VARCHAR", "(NULL)", ValueOrder(), []),
    ],
)
def test_ranks_of_ordinal_values(
    session: Session, type_: str, values: str, order: ValueOrder, counts: list[int]
) -> None:
    dictionary = dictionary_of(session, type_, values, ORDINAL, order=order)
    assert dictionary.values.counts.tolist() == counts
    assert dictionary.values.positions.tolist() == list(range(len(counts)))
    assert dictionary.values.levels is None


@pytest.mark.parametrize(
    ("type_", "values", "order", "field"),
    [
        ("BOOLEAN", "(true)", ValueOrder(OrderBy.NUMBER), "by"),
        ("VARCHAR", "('x')", ValueOrder(OrderBy.NUMBER), "by"),
        ("VARCHAR", "('1'), ('1.0')", ValueOrder(OrderBy.NUMBER), "by"),
        ("VARCHAR", "('x'), ('y')", ValueOrder(values=("x",)), "values"),
    ],
)
def test_ordinal_values_without_a_place(
    session: Session, type_: str, values: str, order: ValueOrder, field: str
) -> None:
    assert fault_of(session, type_, values, ORDINAL, order=order)[0] == f"attributes[3].order.{field}"


PLACES = InlineLevels((("a", "west", "*"), ("b", "west", "*"), ("c", "east", "*")))


def test_levels_of_nominal_values(session: Session) -> None:
    dictionary = dictionary_of(session, "VARCHAR", "('c'), ('b'), ('c'), ('a'), (NULL)", NOMINAL, PLACES)
    levels = dictionary.values.levels
    assert levels is not None
    assert [groups.tolist() for groups in levels.groups] == [[0, 1, 2], [1, 1, 0], [0, 0, 0]]
    assert levels.null_code is None
    assert dictionary.counted.levels is levels
    assert dictionary.hierarchy == "h@1"
    assert dictionary.set_aside == 1
    empty = dictionary_of(session, "VARCHAR", "(NULL)", NOMINAL, PLACES).values.levels
    assert empty is not None
    assert empty.top == 2


def test_nominal_values_that_the_hierarchy_does_not_cover(session: Session) -> None:
    field, found = fault_of(session, "VARCHAR", "('a'), ('x')", NOMINAL, PLACES)
    assert (field, found) == ("attributes[3].hierarchy", "1 value of 'v' that the hierarchy does not cover")


def test_common_labels_stand_for_the_same_values_at_every_level(session: Session) -> None:
    twice = InlineLevels((("a", "b", "*"), ("b", "c", "*"), ("c", "c", "*")))
    field, found = fault_of(session, "VARCHAR", "('a'), ('b'), ('c')", NOMINAL, twice)
    assert (field, found) == (
        "attributes[3].hierarchy",
        "a label of 'v' that stands for different values at the levels 0 and 1",
    )
    mode = Aggregation(AggregateFunction.MODE, Scale.NOMINAL)
    dictionary_of(session, "VARCHAR", "('a'), ('b'), ('c')", mode, twice)
    assert fault_of(session, "VARCHAR", "('*'), ('b')", NOMINAL, SuppressionOnly())[0] == "attributes[3].hierarchy"


@pytest.mark.long
def test_a_million_different_numbers_are_never_python_objects(session: Session) -> None:
    """As rows of Python objects they would be far more than their arrays."""
    session.execute("CREATE OR REPLACE TABLE t AS SELECT random() AS v FROM range(1000000)")
    attribute = AttributePolicy("v", Role.QUASI_IDENTIFIER, aggregation=Aggregation())
    policy = Policy(TableReference("", "main", "t"), (attribute,), None, (KAnonymity(2),), ReleaseTarget("main", "out"))
    source, _, _ = resolve_source(session, policy)
    assert source is not None
    tracemalloc.start()
    dictionary, _ = build_aggregated(session, source, CodedAttribute(attribute, None, "", 9, "attributes[0]"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert dictionary is not None
    assert dictionary.distinct > 999_000
    assert bool((np.diff(dictionary.values.positions) > 0).all())
    assert peak < 60_000_000
