"""The meaning of columns in a statement: which of them are labels, and which stand beside labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from sqlglot import exp

from tableveil.backend import folded

_NUMBERS = ("BIGINT", "DOUBLE")
_TIMES = ("DATE", "TIMESTAMP")


@dataclass(frozen=True, slots=True)
class ReleaseTable:
    """A table of a release."""

    release: int
    schema: str
    name: str


class Look(Protocol):
    """Looks into the tables that a statement names."""

    @property
    def columns(self) -> Callable[[ReleaseTable], Sequence[tuple[str, str]]]:
        """The names and types of the columns of a table."""

    @property
    def values(self) -> Callable[[ReleaseTable, str, int], Sequence[str]]:
        """At most so many different values of a column as texts, labels by their rank; without NULL."""

    @property
    def is_disordered(self) -> Callable[[ReleaseTable, str], bool]:
        """Whether the labels of a column, as texts, have another order than by their rank."""

    @property
    def straddling(self) -> Callable[[ReleaseTable, str, str, str | None], int]:
        """How many records have a label on both sides of a comparison; without a value, on those of any."""

    @property
    def is_general(self) -> Callable[[ReleaseTable, str], bool]:
        """Whether the release tells that labels of a column stand for more than one value."""

    @property
    def is_value(self) -> Callable[[ReleaseTable, str, str], bool]:
        """Whether a text is a value of a column's bounds."""

    @property
    def has(self) -> Callable[[ReleaseTable, str, str], bool]:
        """Whether a text is a label of a column."""


class Part(Enum):
    """The part that a column has beside the labels that it belongs to."""

    LABEL = "label"
    LOW = "from"
    HIGH = "to"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class LabelMeaning:
    """A column of labels, or one beside it; `exact` unless it is an expression of one.

    Columns that belong together have one `key`. `bounds` says whether there are bounds, and `of_time` what they are.
    """

    part: Part
    label: str
    key: tuple[object, ...]
    bounds: bool
    of_time: bool = False
    exact: bool = True
    table: ReleaseTable | None = None

    @property
    def is_bound(self) -> bool:
        """Whether it is one end of a label."""
        return self.part in (Part.LOW, Part.HIGH)

    def derived(self) -> LabelMeaning:
        """The meaning of an expression of it."""
        return replace(self, exact=False)


@dataclass(frozen=True, slots=True)
class Relation:
    """The columns of a table, or of a query; None where they mean no label."""

    columns: tuple[tuple[str, LabelMeaning | None], ...] = ()

    def find(self, name: str) -> tuple[bool, LabelMeaning | None]:
        """Whether there is a column of that folded name, and its meaning."""
        return next(
            ((True, meaning) for source_column, meaning in self.columns if folded(source_column) == name), (False, None)
        )

    def beside(self, meaning: LabelMeaning, part: Part) -> str | None:
        """The name of the column that has this part of the same labels."""
        wanted = (part, meaning.key)
        return next(
            (name for name, of in self.columns if of is not None and of.exact and (of.part, of.key) == wanted), None
        )

    def renamed(self, names: Sequence[str]) -> Relation:
        """It with other names for its first columns."""
        rest = self.columns[len(names) :]
        return Relation((*((name, of) for name, (_, of) in zip(names, self.columns, strict=False)), *rest))

    def within(self, place: object) -> Relation:
        """It in one place of FROM: columns of two places do not belong together."""
        return Relation(
            tuple((name, None if of is None else replace(of, key=(place, *of.key))) for name, of in self.columns)
        )


def either(one: LabelMeaning | None, other: LabelMeaning | None) -> LabelMeaning | None:
    """The meaning of a column of two queries together."""
    if one is not None and other is not None and one.part is other.part:
        return one.derived()
    return derived(one if one is not None and one.part is Part.LABEL else other)


def derived(meaning: LabelMeaning | None) -> LabelMeaning | None:
    """The meaning of an expression of a column."""
    return meaning.derived() if meaning is not None else None


def at(relation: Relation, position: int) -> LabelMeaning | None:
    """The meaning of the column at a position, counted from 0."""
    return relation.columns[position][1] if 0 <= position < len(relation.columns) else None


def of_table(table: ReleaseTable, columns: Sequence[tuple[str, str]]) -> Relation:
    """The meaning of a table's columns, by the names and types that every release gives to those beside labels."""
    types = dict(columns)
    meanings: dict[str, LabelMeaning] = {}
    for name, type_ in columns:
        if type_ != "VARCHAR" or types.get(f"{name}_rank") != "INTEGER":
            continue
        low, high = types.get(f"{name}_from"), types.get(f"{name}_to")
        bounds = low == high and low in (*_NUMBERS, *_TIMES)
        label = LabelMeaning(Part.LABEL, name, (folded(name),), bounds, low in _TIMES, table=table)
        meanings[name] = label
        meanings[f"{name}_rank"] = replace(label, part=Part.RANK)
        if bounds:
            meanings[f"{name}_from"] = replace(label, part=Part.LOW)
            meanings[f"{name}_to"] = replace(label, part=Part.HIGH)
    return Relation(tuple((name, meanings.get(name)) for name, _ in columns))


_BANDS = Relation((("band_from", None), ("band_to", None), ("weight", None)))
_PERIODS = Relation((("period_from", None), ("period_to", None), ("weight", None)))
ROWS_OF_PARTS = {"tv_band": _BANDS, "tv_period": _PERIODS}
"""The columns of functions that make a row of each part of a label."""


@dataclass(slots=True)
class NamedColumns:
    """The columns that an expression may name: those of FROM, then those of the queries around it."""

    parent: NamedColumns | None = None
    sources: list[tuple[str, Relation]] = field(default_factory=list)
    aliases: Mapping[str, LabelMeaning | None] = field(default_factory=dict)
    grouped: frozenset[tuple[object, ...]] = frozenset()
    aggregates: bool = False

    def resolve(self, name: str, table: str | None) -> tuple[LabelMeaning | None, Relation]:
        """The meaning of a column, and the columns beside it."""
        for scope in self.outwards():
            for alias, relation in scope.sources:
                read_is, meaning = relation.find(name)
                if read_is and table in (None, alias):
                    return meaning, relation
            if table is None and name in scope.aliases:
                return scope.aliases[name], Relation()
        return None, Relation()

    def outwards(self) -> Iterator[NamedColumns]:
        """It and those around it."""
        scope: NamedColumns | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


def named_by(columns: exp.Anonymous, scope: NamedColumns) -> list[tuple[str, LabelMeaning | None]]:
    """The columns that COLUMNS stands for; all of them where a pattern may mean more to DuckDB than to Python."""
    named = columns.expressions[0]
    named_already = [column for _, relation in scope.sources for column in relation.columns]
    if isinstance(named, exp.Star):
        left_out = {folded(column.name) for column in named.args.get("except_") or []}
        return [column for column in named_already if folded(column[0]) not in left_out]
    if isinstance(named, exp.Array):
        wanted = {folded(name.name) for name in named.expressions}
        return [column for column in named_already if folded(column[0]) in wanted]
    try:
        pattern = re.compile(named.name)
    except re.error:
        return named_already
    return [column for column in named_already if pattern.search(column[0])]


def stood_for(columns: exp.Anonymous, scope: NamedColumns) -> LabelMeaning | None:
    """The meaning of COLUMNS in an expression: that of labels, if they are among its columns."""
    parts = (Part.LABEL, Part.LOW, Part.HIGH, Part.RANK)
    meanings = sorted((of for _, of in named_by(columns, scope) if of is not None), key=lambda of: parts.index(of.part))
    return derived(next(iter(meanings), None))
