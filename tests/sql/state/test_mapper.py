"""Rows of the state as dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

import pytest

from tableveil.backend import Ledger
from tableveil.policy import TableReference
from tableveil.state.mapper import NumberedTable, Table


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner:
    seconds: float | None
    colour: Colour | None


@dataclass(frozen=True, slots=True)
class Leaf:
    label: str


@dataclass(frozen=True, slots=True)
class Branch:
    length: int
    leaves: tuple[Leaf, ...]


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
    optional: tuple[int, ...] | None = None
    unstored: int = 5


LEAVES = Table("leaves", Leaf, "tree", "branch", position=True)
BRANCHES = Table("branches", Branch, "tree", position=True, names={"length": "size"}, parts={"leaves": LEAVES})
TREES = NumberedTable(
    "trees",
    Tree,
    "tree_numbers",
    names={"inner.colour": "inner_colour", "unstored": None},
    parts={"branches": BRANCHES},
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
    branches=(Branch(3, (Leaf("x"), Leaf("a"))), Branch(2, ())),
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
)


@pytest.fixture
def trees(ledger: Ledger) -> Ledger:
    ledger.execute("""
        CREATE SEQUENCE tableveil.tree_numbers;
        CREATE TABLE tableveil.trees (inner_colour VARCHAR, number BIGINT PRIMARY KEY, job BIGINT, planted TIMESTAMP,
            source_catalog VARCHAR, source_schema VARCHAR, source_table VARCHAR, colour VARCHAR NOT NULL,
            amount DECIMAL(22, 9), digits VARCHAR, numbers BIGINT[], pairs DOUBLE[][], shares MAP(VARCHAR, DOUBLE),
            seconds DOUBLE, optional BIGINT[]);
        CREATE TABLE tableveil.branches (tree BIGINT, position INTEGER, size INTEGER);
        CREATE TABLE tableveil.leaves (tree BIGINT, branch INTEGER, position INTEGER, label VARCHAR)""")
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
    assert trees.rows("FROM tableveil.leaves") == [(1, 0, 0, "x"), (1, 0, 1, "a")]


def test_parts_are_read_by_key(trees: Ledger) -> None:
    assert BRANCHES.of(trees, [1, 2]) == {1: list(FULL.branches)}
    assert LEAVES.of(trees, [1]) == {(1, 0): [Leaf("x"), Leaf("a")]}
    last = "QUALIFY row_number() OVER (PARTITION BY tree ORDER BY position DESC) = 1"
    assert BRANCHES.of(trees, [1], last) == {1: [Branch(2, ())]}


def test_a_row_is_deleted_with_its_parts(trees: Ledger) -> None:
    assert list(TREES.names()) == ["trees", "branches", "leaves"]
    assert TREES.numbers_of(trees, 3) == [1]
    TREES.delete(trees, 1)
    assert TREES.page(trees, None, 9) == [EMPTY]
    assert trees.rows("FROM tableveil.branches") == trees.rows("FROM tableveil.leaves") == []
