"""Remembers which transformations have a property that all transformations below them, or above them, inherit."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tableveil.lattice import Transformation


class Inheritance(Enum):
    """The direction in which a property is inherited."""

    DOWNWARDS = "to all x <= it"
    UPWARDS = "to all x >= it"


class Antichain:
    """The transformations known to have a property: only as many as imply all the others.

    If the property is inherited downwards, the maximal ones are kept; if upwards, the minimal ones. No two of these are
    comparable (they form an antichain), so memory grows with the findings, not with the lattice.

    They are kept in a prefix tree, with one attribute per depth. A node knows the least and the greatest rank (sum of
    levels) below it, so that queries and insertions skip branches that are too low or too high as a whole. Ranks count
    the remaining attributes only: a surplus in an earlier attribute makes up for nothing. An element's own rank is not
    left out; the published query leaves it out, and never finds the element itself.

    Source: Prasser, Kohlmayer and Kuhn 2016, Efficient and effective pruning strategies for health data
    de-identification, BMC Medical Informatics and Decision Making 16:49.
    """

    __slots__ = ("_root", "_sign", "_size", "nodes")

    def __init__(self, inherited: Inheritance) -> None:
        # Upwards is downwards with negated levels, so that the rest needs only one direction.
        self._sign = 1 if inherited is Inheritance.DOWNWARDS else -1
        self._root: _Node | None = None
        self._size = 0
        self.nodes = 0
        """Nodes of the tree: memory grows with them."""

    def add(self, x: Transformation) -> bool:
        """Notes that x has the property, and forgets those that inherit it from x; False if it was known."""
        levels, ranks = self._prepared(x)
        if self._root is not None:
            if _covers(self._root, levels, ranks, 0):
                return False
            if self._root.low <= ranks[0] and self._drop(self._root, levels, ranks, 0):
                self._root = None
                self.nodes -= 1
        if self._root is None:
            self._root = self._node(ranks[0])
        node = self._root
        for level, rank in zip(levels, ranks[1:], strict=False):
            node.low, node.high = min(node.low, level + rank), max(node.high, level + rank)
            child = node.children.get(level)
            if child is None:
                child = node.children[level] = self._node(rank)
            node = child
        self._size += 1
        return True

    def covers(self, x: Transformation) -> bool:
        """Whether x is known to have the property, by itself or by inheritance."""
        levels, ranks = self._prepared(x)
        return self._root is not None and _covers(self._root, levels, ranks, 0)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Transformation]:
        """The kept transformations, in no particular order."""
        for levels in _elements(self._root) if self._root is not None else ():
            yield tuple([self._sign * level for level in levels])

    def _prepared(self, x: Transformation) -> tuple[Transformation, list[int]]:
        """The levels as they are in the tree, and for each attribute the rank of the rest that begins there."""
        levels = x if self._sign > 0 else tuple([-level for level in x])
        ranks, rank = [0] * len(levels), 0
        for depth in range(len(levels) - 1, -1, -1):
            rank += levels[depth]
            ranks[depth] = rank
        return levels, ranks

    def _node(self, rank: int) -> _Node:
        self.nodes += 1
        return _Node(rank)

    def _drop(self, node: _Node, levels: Transformation, ranks: list[int], depth: int) -> bool:
        """Drops elements <= levels from the node, whose low is <= the rank; returns whether the node is empty now."""
        if depth == len(levels) - 1:
            self._size -= 1
            return True
        level, rank = levels[depth], ranks[depth + 1]
        for at, child in list(node.children.items()):
            if at <= level and child.low <= rank and self._drop(child, levels, ranks, depth + 1):
                del node.children[at]
                self.nodes -= 1
        if not node.children:
            return True
        node.low = min(at + child.low for at, child in node.children.items())
        node.high = max(at + child.high for at, child in node.children.items())
        return False


class _Node:
    """The elements with one prefix; their rests have ranks from `low` to `high`.

    Before the last attribute there are no children: elements that agree in all levels but the last are comparable, so
    there is one, and both ranks are its last level.
    """

    __slots__ = ("children", "high", "low")

    def __init__(self, rank: int) -> None:
        self.children: dict[int, _Node] = {}
        self.low = self.high = rank


def _covers(node: _Node, levels: Transformation, ranks: list[int], depth: int) -> bool:
    """Whether an element below the node is >= levels from this depth on."""
    if node.high < ranks[depth]:
        return False
    if depth == len(levels) - 1:
        return True
    level, depth = levels[depth], depth + 1
    rank = ranks[depth]
    for at, child in node.children.items():
        # The child's rank is checked here, too: a call costs more than everything else.
        if at >= level and child.high >= rank and _covers(child, levels, ranks, depth):
            return True
    return False


def _elements(node: _Node) -> Iterator[Transformation]:
    if not node.children:
        yield (node.low,)
    for level, child in node.children.items():
        for rest in _elements(child):
            yield (level, *rest)
