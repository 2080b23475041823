"""The labels of a release's columns, looked up in its file: the values of each, and which have some value both."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum
from functools import cache, cached_property
from itertools import pairwise
from math import inf
from typing import Any

import duckdb
from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint.grammar import quoted

ANY = "*"
"""The label that stands for any value, and the sign that stands for any character of a masked code."""

_TIMES = ("DATE", "TIMESTAMP")
_OPEN = ("DOUBLE", "TIMESTAMP")
_MOST_PAIRS = 4_000_000


class UnknownTextError(Exception):
    """A text that only the query itself computes."""


class Part(Enum):
    """The part that a column has beside its labels; an answer of a function of labels, or texts that are estimates."""

    LABEL = "label"
    LOW = "from"
    HIGH = "to"
    RANK = "rank"
    ANSWER = "answer"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ReleaseTable:
    """A table of a release, by folded names; `estimated` names the one that has values in place of its labels."""

    release: int
    schema: str
    name: str
    estimated: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A column of labels; `bounds` is the type of the two columns of bounds beside it, if there are any.

    `levels` are the levels of its labels that the release tells; labels of level 0 are values. Labels in a table of
    estimates stand `alone`: that has no bounds and ranks of them.
    """

    table: ReleaseTable
    name: str
    bounds: str = ""
    levels: tuple[int, ...] = ()
    alone: bool = False

    @property
    def of_time(self) -> bool:
        """Whether its bounds are times."""
        return self.bounds in _TIMES

    def beside(self, part: Part) -> str:
        """The name of a column beside it."""
        return f"{self.name}_{part.value}"


End = tuple[Any, int]
"""A value, and -1 if only those below it count, else 0. Days are the points of time at which they begin."""


@dataclass(frozen=True, slots=True)
class Label:
    """A label, and the ends of its values."""

    text: str
    rank: int
    low: End = (-inf, 0)
    high: End = (inf, 0)


class ReleasedLabels:
    """The labels of one column, in the order of their ranks."""

    def __init__(self, column: LabelColumn, labels: Iterable[tuple[Any, ...]]) -> None:
        """Takes the text, the rank and the bounds of each."""
        self.column = column
        self.by_text = {text: self._label(text, rank, *ends) for text, rank, *ends in labels}

    def _label(self, text: str, rank: int, low: Any = None, high: Any = None) -> Label:
        least, greatest = (datetime.min, datetime.max) if self.column.of_time else (-inf, inf)
        # Other than whole numbers and days, the upper end is no value of a label, unless it says so.
        is_open = self.column.bounds in _OPEN and None is not high != low and not text.endswith("]")
        ends = least if low is None else _point(low), greatest if high is None else _point(high)
        return Label(text, rank, (ends[0], 0), (ends[1], -is_open))

    @cached_property
    def is_masked(self) -> bool:
        """Whether they are codes in which a star stands for any character."""
        return not self.column.bounds and any(ANY in text and text != ANY for text in self.by_text)

    @cached_property
    def is_untold(self) -> bool:
        """Whether nothing tells which of them hold which others: groups that somebody listed, of several levels."""
        return not self.column.bounds and not self.is_masked and len(self._levels) > 1

    @property
    def _levels(self) -> tuple[int, ...]:
        """The levels of labels other than the one for any value, which is the last level of its hierarchy."""
        return self.column.levels[:-1] if ANY in self.by_text and self.column.levels[1:] else self.column.levels

    @property
    def are_values(self) -> bool:
        """Whether each label other than the one for any value is a value."""
        return self._levels in ((), (0,)) and not self.is_masked and not self.column.bounds

    @cached_property
    def is_ordered(self) -> bool:
        """Whether their texts have the order of their ranks, and none stands for numbers or times."""
        texts = [text for text in self.by_text if text != ANY]
        return not self.column.bounds and texts == sorted(texts)

    @cached_property
    def are_apart(self) -> bool:
        """Whether no value is under two of them."""
        if ANY in self.by_text or self.is_untold:
            return len(self.by_text) < 2
        if self.is_masked:
            # Codes with as many stars as all others hold each other only if they are the same.
            return len({text.count(ANY) for text in self.by_text}) == 1
        labels = sorted(self.by_text.values(), key=lambda label: label.low)
        return not self.column.bounds or not any(self.overlap(one, other) for one, other in pairwise(labels))

    def overlap(self, one: Label, other: Label) -> bool:
        """Whether some value may be under both."""
        if ANY in (one.text, other.text) or one is other or self.is_untold:
            return True
        if self.is_masked:
            signs = zip(one.text, other.text, strict=False)
            return len(one.text) == len(other.text) and all(ANY in (a, b) or a == b for a, b in signs)
        return bool(self.column.bounds) and max(one.low, other.low) <= min(one.high, other.high)

    def on_both_sides(self, operator: str, text: str) -> int:
        """How many labels have values of which a comparison is true, and others; all that it is no value for."""
        if (value := self._value(text)) is None:
            return len(self.by_text)
        limit = (value, 1 if operator in (">", "<=") else 0)
        return sum(label.low < limit <= label.high for label in self.by_text.values())

    def _value(self, text: str) -> Any:
        """The value of a column with bounds that a text means; None for none."""
        try:
            return _point(datetime.fromisoformat(text)) if self.column.of_time else float(text)
        except ValueError:
            return None

    def holding(self, text: str) -> list[str] | None:
        """The labels under which a value may be that is none of them; None if its text tells nothing."""
        labels = self.by_text.values()
        if self.column.bounds:
            value = self._value(text)
            held = [label.text for label in labels if value is not None and label.low <= (value, 0) <= label.high]
            return None if value is None else held
        if self.is_masked:
            return [label.text for label in labels if self.overlap(label, Label(text, 0))]
        return [label.text for label in labels if label.text == ANY] if self.are_values else None

    def left_out(self, asked: Collection[str]) -> list[str]:
        """The labels that share values with those asked for, and are not among them, by the narrowest of these."""
        named = [self.by_text[text] for text in asked if text in self.by_text and text != ANY]
        others = [label for label in self.by_text.values() if label.text not in asked]
        if not named or self.are_apart or not others:
            return []
        if self.is_untold:
            return [label.text for label in others if label.text == ANY or len(named) == 1]
        if len(named) * len(self.by_text) > _MOST_PAIRS:
            return [label.text for label in others]
        narrow = [label for label in named if not any(self._is_within(other, label) for other in named)]
        return [label.text for label in others if any(self.overlap(label, one) for one in narrow)]

    def _is_within(self, one: Label, other: Label) -> bool:
        """Whether a label holds another one, and more."""
        if self.is_masked:
            return self.overlap(one, other) and one.text.count(ANY) < other.text.count(ANY)
        return other.low <= one.low and one.high <= other.high and (one.low, one.high) != (other.low, other.high)


def _point(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else value


_BOUNDS = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP")

ESTIMATED = "_estimated"
"""The end of the name of a release's table of estimated values."""

Values = list[Any] | dict[str, Any]
"""Values of parameters, in their order or by their names."""

Columns = Mapping[str, tuple[Part, LabelColumn] | None]
"""The columns of a table, each with the labels that it belongs to, if any."""


class LookInFiles:
    """Attaches the file of a release when it is first looked into, and looks once."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        attach: Callable[[int], str],
        rows: Callable[[int, Sequence[str]], Sequence[Values] | None] = lambda *_: None,
    ) -> None:
        """`attach` gives the name of the database of a release, `rows` those of parameters, if they are bound."""
        self._connection = connection
        self._rows = rows
        self.rows: Sequence[Values] | None = None
        self.bound: Values | None = None
        self.attach = cache(attach)
        self.columns = cache(self._columns)
        self.labels = cache(self._labels)
        self.estimates = cache(self._estimates)

    def bind(self, parameters: int, names: Sequence[str]) -> None:
        """Takes the rows of so many parameters, if these are bound already; `names` are theirs if they have any."""
        self.rows = self._rows(parameters, names)

    def _columns(self, table: ReleaseTable) -> Columns:
        """The columns, by the names and types that every release gives to columns beside labels.

        Labels that are values, and have the order of their texts, are columns as any other.
        """
        described = f"SELECT column_name, column_type FROM (DESCRIBE {self._path(table)})"
        types = dict(self._connection.execute(described).fetchall())
        found: dict[str, tuple[Part, LabelColumn] | None] = dict.fromkeys(types)
        if table.name.endswith(ESTIMATED):
            drawn = self._told(table, "column_name", "estimated_share > 0")
            kept = self._drawn_from(table).items() if drawn is not None else ()
            for name, of in kept:
                if types.get(name) == "VARCHAR":
                    own = (Part.LABEL, replace(of, alone=True)), (Part.TEXT, replace(of, table=table))
                    found[name] = own[(name,) in (drawn or ())]
            return found
        named = [name for name, type_ in types.items() if (type_, types.get(f"{name}_rank")) == ("VARCHAR", "INTEGER")]
        drawn = self._told(table, "column_name", "estimated_share > 0") if named and table.estimated else None
        levels = dict(self._told(table, "column_name, levels", "levels <> ''") or ()) if named else {}
        for name in named:
            low, high = types.get(f"{name}_from", ""), types.get(f"{name}_to", "")
            read_levels = tuple(map(int, levels[name].split(","))) if name in levels else ()
            known = table if drawn is None or (name,) in drawn else replace(table, estimated="")
            column = LabelColumn(known, name, low if low == high and low in _BOUNDS else "", read_levels)
            labels = self.labels(column) if column.levels == (0,) else None
            if labels is not None and labels.are_values and labels.is_ordered and ANY not in labels.by_text:
                continue
            found[name], found[f"{name}_rank"] = (Part.LABEL, column), (Part.RANK, column)
            if column.bounds:
                found[f"{name}_from"], found[f"{name}_to"] = (Part.LOW, column), (Part.HIGH, column)
        return found

    def _estimates(self, table: ReleaseTable) -> Mapping[str, LabelColumn]:
        """The columns of an estimated table that have numbers or times, with the labels that they are drawn under."""
        kept = self.columns(table)
        drawn = self._drawn_from(table).items() if table.name.endswith(ESTIMATED) else ()
        return {folded(name): of for name, of in drawn if of.bounds and name in kept and kept[name] is None}

    def _drawn_from(self, table: ReleaseTable) -> Mapping[str, LabelColumn]:
        """The labels under which the values of an estimated table are drawn."""
        try:
            columns = self.columns(replace(table, name=table.name.removesuffix(ESTIMATED))).items()
        except (duckdb.CatalogException, duckdb.BinderException):
            return {}
        return {name: of[1] for name, of in columns if of is not None and of[0] is Part.LABEL}

    def _told(self, table: ReleaseTable, what: str, condition: str) -> list[tuple[Any, ...]] | None:
        """Rows of the table by which a release tells of its columns; None if it has none."""
        path = self._path(replace(table, name=f"{table.name.removesuffix(ESTIMATED)}_columns"))
        try:
            return self._connection.execute(f"SELECT {what} FROM {path} WHERE {condition}").fetchall()
        except (duckdb.CatalogException, duckdb.BinderException):
            return None

    def _labels(self, column: LabelColumn) -> ReleasedLabels:
        """The labels of a column."""
        is_estimated = column.table.name.endswith(ESTIMATED)
        names = [quoted(column.name), "0" if is_estimated else quoted(column.beside(Part.RANK))]
        names += [quoted(column.beside(part)) for part in (Part.LOW, Part.HIGH) if column.bounds]
        distinct = f"SELECT DISTINCT {', '.join(names)} FROM {self._path(column.table)}"
        rows = self._connection.execute(f"{distinct} WHERE {names[0]} IS NOT NULL ORDER BY 2").fetchall()
        return ReleasedLabels(column, rows)

    def texts(self, constant: exp.Expr) -> Sequence[str] | None:
        """The texts that a constant expression gives, a list's each; None if its parameters are not bound yet.

        Raises:
            UnknownTextError: it has no value.
        """
        rows = self._asked("SELECT", constant, "AS given, TRY_CAST(given AS VARCHAR)")
        if rows is None:
            return None
        values = [item for given, text in rows for item in (given if isinstance(given, list) else [text])]
        return [str(value) for value in values if value is not None]

    def matching(self, condition: exp.Expr, texts: Iterable[str]) -> Sequence[str] | None:
        """The ones among some texts, each called `label`, that meet a condition of constants."""
        listed = ", ".join(quoted(text, "'") for text in texts)
        rows = self._asked(f"SELECT label FROM unnest([{listed}]::VARCHAR[]) AS u(label) WHERE", condition)
        return None if rows is None else [text for (text,) in rows]

    def _asked(self, before: str, constant: exp.Expr, after: str = "") -> list[tuple[Any, ...]] | None:
        names = {parameter.name for parameter in constant.find_all(exp.Placeholder)}
        if names and self.bound is None:
            return None
        given = self.bound or []
        bound = given if isinstance(given, dict) else {str(place): value for place, value in enumerate(given, 1)}
        statement = f"{before} {constant.sql(dialect='duckdb')} {after}"
        try:
            return self._connection.execute(statement, {name: bound[name] for name in names} or None).fetchall()
        except duckdb.Error:
            raise UnknownTextError from None

    def values(self, table: ReleaseTable, column: str, most: int) -> Sequence[str]:
        """At most so many different values of a column as texts, labels by their rank; without NULL."""
        names = {folded(name) for name in self.columns(table)}
        value = quoted(column)
        place = f"min({quoted(f'{column}_rank')})" if f"{folded(column)}_rank" in names else value
        values = self._connection.execute(
            f"SELECT CAST({value} AS VARCHAR) FROM {self._path(table)} WHERE {value} IS NOT NULL GROUP BY {value} "
            f"ORDER BY {place} LIMIT {most}"
        )
        return [text for (text,) in values.fetchall()]

    def _path(self, table: ReleaseTable) -> str:
        return f"{self.attach(table.release)}.{quoted(table.schema)}.{quoted(table.name)}"
