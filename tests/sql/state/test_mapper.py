"""Rows of the state as dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

import pytest

from tableveil.backend import Ledger
from tableveil.policy import TableReference
from tableveil.state.mapper import NumberedTable, Table, of_each


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner:
    seconds: float | None
    colour: Colour | None


@dataclass(frozen=True, slots=True)
class Branch:
    length: int
    part: str


@dataclass(frozen=True, slots=True)
class Root:
    label: str
    planted: datetime | None


@dataclass(frozen=True, slots=True)
class Tree:
    number: int
    job: int
    planted: datetime
    source: TableReference
    colour: Colour
    amount: Decimal
    digits: Decimal
    numbers: tuple[int, ...]
    pairs: tuple[tuple[float, float], ...]
    shares: Mapping[str, float]
    inner: Inner | None
    branches: tuple[Branch, ...]
    roots: tuple[Root, ...]
    optional: tuple[int, ...] | None = None
    unstored: int = 5


BRANCHES = Table("branches", Branch, "tree", position=True, names={"length": "size"})
ROOTS = Table("roots", Root, "of_tree")
TREES = NumberedTable(
    "trees",
    Tree,
    "tree_numbers",
    names={"inner.colour": "inner_colour", "unstored": None},
    parts={"branches": BRANCHES, "roots": ROOTS},
)

FULL = Tree(
    number=1,
    job=3,
    planted=datetime(2026, 1, 2, 3, 4, 5, 6),
    source=TableReference("c", "s", 't"'),
    colour=Colour.RED,
    amount=Decimal("0.1"),
    digits=Decimal("0.10"),
    numbers=(1, 2),
    pairs=((0.0, 0.5), (1.0, 1.0)),
    shares={"b": 0.1, "a": 0.2},
    inner=Inner(None, Colour.RED),
    branches=(Branch(3, "x"), Branch(2, "")),
    roots=(Root("z", datetime(2026, 3, 4)), Root("y", None)),
    optional=(7,),
)
EMPTY = Tree(
    number=2,
    job=4,
    planted=datetime(2026, 1, 2),
    source=TableReference("", "", ""),
    colour=Colour.RED,
    amount=Decimal("1e12"),
    digits=Decimal("1e-44"),
    numbers=(),
    pairs=(),
    shares={},
    inner=None,
    branches=(),
    roots=(),
)


@pytest.fixture
def trees(ledger: Ledger) -> Ledger:
    ledger.execute("""
        CREATE SEQUENCE tableveil.tree_numbers;
        CREATE TABLE tableveil.trees (inner_colour VARCHAR, number BIGINT PRIMARY KEY, job BIGINT, planted TIMESTAMP,
            source_catalog VARCHAR, source_schema VARCHAR, source_table VARCHAR, colour VARCHAR NOT NULL,
            amount DECIMAL(22, 9), digits VARCHAR, numbers BIGINT[], pairs DOUBLE[][], shares MAP(VARCHAR, DOUBLE),
            seconds DOUBLE, optional BIGINT[]);
        CREATE TABLE tableveil.branches (tree BIGINT, position INTEGER, size INTEGER, part VARCHAR);
        CREATE TABLE tableveil.roots (of_tree BIGINT, label VARCHAR, planted TIMESTAMP)""")
    TREES.insert(ledger, [FULL, EMPTY])
    return ledger


def test_rows_come_back_as_they_were(trees: Ledger) -> None:
    assert TREES.find(trees, 1) == FULL
    assert TREES.find(trees, 2) == EMPTY
    assert TREES.find(trees, 3) is None
    assert TREES.among(trees, [2, 5]) == [EMPTY]
    assert TREES.among(trees, []) == []


def test_pages_go_back_from_the_newest(trees: Ledger) -> None:
    assert TREES.page(trees, None, 9) == [EMPTY, FULL]
    assert TREES.page(trees, 2, 9) == [FULL]


def test_each_field_has_its_column(trees: Ledger) -> None:
    query = "SELECT colour, inner_colour, seconds, source_table, amount::VARCHAR, digits FROM tableveil.trees"
    assert trees.rows(f"{query} ORDER BY number") == [
        ("red", "red", None, 't"', "0.100000000", "0.10"),
        ("red", None, None, "", "1000000000000.000000000", f"{Decimal('1e-44'):f}"),
    ]
    assert trees.rows("FROM tableveil.branches") == [(1, 0, 3, "x"), (1, 1, 2, "")]


def test_parts_are_read_by_key(trees: Ledger) -> None:
    assert BRANCHES.of(trees, [1, 2]) == {1: list(FULL.branches)}
    assert of_each(trees, [2, 1], [ROOTS, BRANCHES]) == [{1: list(FULL.roots)}, {1: list(FULL.branches)}]
    assert of_each(trees, [], [ROOTS, BRANCHES]) == [{}, {}]
    last = "QUALIFY row_number() OVER (PARTITION BY tree ORDER BY position DESC) = 1"
    assert BRANCHES.of(trees, [1], last) == {1: [Branch(2, "")]}


def test_a_row_is_deleted_with_its_parts(trees: Ledger) -> None:
    assert list(TREES.names()) == ["trees", "branches", "roots"]
    assert TREES.numbers_of(trees, 3) == [1]
    TREES.delete(trees, 1)
    assert TREES.page(trees, None, 9) == [EMPTY]
    assert trees.rows("FROM tableveil.branches") == trees.rows("FROM tableveil.roots") == []
