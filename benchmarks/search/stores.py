"""Simpler ways to remember an inherited property, to compare `tableveil.search.antichain` with.

They are those of Prasser, Kohlmayer and Kuhn 2016 (see there). All are written as tightly as the antichain, so that the
comparison is about the methods, not about their coding.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeAlias

from tableveil.lattice import Transformation
from tableveil.search.antichain import Antichain, Inheritance


class PropertyStore(Protocol):
    """The interface of every store; see `Antichain`."""

    def add(self, x: Transformation) -> bool:
        """Notes that x has the property; False if it was known."""
        ...

    def covers(self, x: Transformation) -> bool:
        """Whether x is known to have the property, by itself or by inheritance."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Transformation]: ...


class PlainList:
    """A list of all that was added and not known by then."""

    def __init__(self, inherited: Inheritance) -> None:
        self._compare = operator.ge if inherited is Inheritance.DOWNWARDS else operator.le
        self._elements: list[Transformation] = []

    def add(self, x: Transformation) -> bool:
        """Appends x unless it is known."""
        if self.covers(x):
            return False
        self._elements.append(x)
        return True

    def covers(self, x: Transformation) -> bool:
        """Looks at one after the other."""
        compare = self._compare
        for element in self._elements:  # noqa: SIM110 - a generator is slower
            if all(map(compare, element, x)):
                return True
        return False

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Transformation]:
        return iter(self._elements)


class AntichainList(PlainList):
    """A list that drops elements which inherit the property from a new one."""

    def add(self, x: Transformation) -> bool:
        """Appends x unless it is known, and removes elements that inherit from it."""
        if self.covers(x):
            return False
        compare = self._compare
        self._elements = [element for element in self._elements if not all(map(compare, x, element))]
        self._elements.append(x)
        return True


class TreeWithoutRanks:
    """The prefix tree of the antichain, but without bounds of ranks below a node."""

    def __init__(self, inherited: Inheritance) -> None:
        self._sign = 1 if inherited is Inheritance.DOWNWARDS else -1
        self._root: _Branches = {}
        self._size = 0

    def add(self, x: Transformation) -> bool:
        """Adds a path unless x is known, and removes elements that inherit from it."""
        levels = self._stored(x)
        if _reaches(self._root, levels, 0):
            return False
        self._drop(self._root, levels, 0)
        branches = self._root
        for level in levels:
            branches = branches.setdefault(level, {})
        self._size += 1
        return True

    def covers(self, x: Transformation) -> bool:
        """Goes down all branches whose level is high enough."""
        return _reaches(self._root, self._stored(x), 0)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Transformation]:
        return map(self._stored, _paths(self._root) if self._size else ())

    def _stored(self, x: Transformation) -> Transformation:
        return x if self._sign > 0 else tuple([-level for level in x])

    def _drop(self, branches: _Branches, levels: Transformation, depth: int) -> None:
        if depth == len(levels):
            self._size -= 1
            return
        for at, below in list(branches.items()):
            if at <= levels[depth]:
                self._drop(below, levels, depth + 1)
                if not below:
                    del branches[at]


_Branches: TypeAlias = dict[int, "_Branches"]

STORES: Mapping[str, Callable[[Inheritance], PropertyStore]] = {
    "plain list": PlainList,
    "list, antichain": AntichainList,
    "tree": TreeWithoutRanks,
    "tree with ranks": Antichain,
}
"""By the name in the tables; the last one is used by the search."""


def _reaches(branches: _Branches, levels: Transformation, depth: int) -> bool:
    if depth == len(levels):
        return True
    level, depth = levels[depth], depth + 1
    for at, below in branches.items():  # noqa: SIM110 - a generator is slower
        if at >= level and _reaches(below, levels, depth):
            return True
    return False


def _paths(branches: _Branches) -> Iterator[Transformation]:
    if not branches:
        yield ()
    for level, below in branches.items():
        for rest in _paths(below):
            yield (level, *rest)
