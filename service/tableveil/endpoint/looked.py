"""Looks into the tables of attached files, for the check of a statement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import duckdb

from tableveil.backend import folded
from tableveil.endpoint.labels import ANY, LabelColumn, Part, ReleasedLabels, ReleaseTable, UnknownTextError
from tableveil.endpoint.written import quoted

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
        values: Callable[[int, Sequence[str]], Values | None] = lambda *_: None,
    ) -> None:
        """`attach` gives the name of the database of a release, `values` those of parameters, if they are bound."""
        self._connection = connection
        self._values = values
        self.bound: Values | None = None
        self.attach = cache(attach)
        self.columns = cache(self._columns)
        self.labels = cache(self._labels)

    def bind(self, parameters: int, names: Sequence[str]) -> None:
        """Takes the values of so many parameters, if these are bound already; `names` are theirs if they have any."""
        self.bound = self._values(parameters, names)

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
            is_kept = {name for name, _ in kept if types.get(name) == "VARCHAR" and (name,) not in (drawn or ())}
            return {**found, **{name: (Part.LABEL, column) for name, column in kept if name in is_kept}}
        for name, type_ in types.items():
            if type_ != "VARCHAR" or types.get(f"{name}_rank") != "INTEGER":
                continue
            low, high = types.get(f"{name}_from", ""), types.get(f"{name}_to", "")
            levels = self._told(table, "levels", "column_name = ?", name)
            read_levels = tuple(map(int, levels[0][0].split(","))) if levels and levels[0][0] else ()
            column = LabelColumn(table, name, low if low == high and low in _BOUNDS else "", read_levels)
            labels = self.labels(column) if column.levels == (0,) else None
            if labels is not None and labels.are_values and labels.is_ordered and ANY not in labels.by_text:
                continue
            found[name], found[f"{name}_rank"] = (Part.LABEL, column), (Part.RANK, column)
            if column.bounds:
                found[f"{name}_from"], found[f"{name}_to"] = (Part.LOW, column), (Part.HIGH, column)
        return found

    def estimates(self, table: ReleaseTable) -> Mapping[str, LabelColumn]:
        """The columns of an estimated table that have numbers or times, with the labels that they are drawn under."""
        kept = self.columns(table)
        drawn = self._drawn_from(table).items() if table.name.endswith(ESTIMATED) else ()
        return {name: column for name, column in drawn if column.bounds and name in kept and kept[name] is None}

    def _drawn_from(self, table: ReleaseTable) -> Mapping[str, LabelColumn]:
        """The labels under which the values of an estimated table are drawn."""
        try:
            columns = self.columns(replace(table, name=table.name.removesuffix(ESTIMATED))).items()
        except (duckdb.CatalogException, duckdb.BinderException):
            return {}
        return {name: of[1] for name, of in columns if of is not None and of[0] is Part.LABEL}

    def _told(self, table: ReleaseTable, what: str, condition: str, *values: str) -> list[tuple[Any, ...]] | None:
        """Rows of the table by which a release tells of its columns; None if it has none."""
        path = self._path(replace(table, name=f"{table.name.removesuffix(ESTIMATED)}_columns"))
        try:
            return self._connection.execute(f"SELECT {what} FROM {path} WHERE {condition}", values).fetchall()
        except (duckdb.CatalogException, duckdb.BinderException):
            return None

    def _labels(self, column: LabelColumn) -> ReleasedLabels:
        """The labels of a column."""
        names = [quoted(column.name), quoted(column.beside(Part.RANK))]
        names += [quoted(column.beside(part)) for part in (Part.LOW, Part.HIGH) if column.bounds]
        distinct = f"SELECT DISTINCT {', '.join(names)} FROM {self._path(column.table)}"
        rows = self._connection.execute(f"{distinct} WHERE {names[0]} IS NOT NULL ORDER BY 2").fetchall()
        return ReleasedLabels(column, rows)

    def texts(self, constant: str, names: Collection[str]) -> Sequence[str] | None:
        """The texts that a constant expression gives, a list's each; None if its parameters are not bound yet.

        Raises:
            UnknownTextError: it has no value.
        """
        rows = self._asked(f"SELECT {constant} AS given, TRY_CAST(given AS VARCHAR)", names)
        if rows is None:
            return None
        values = [item for given, text in rows for item in (given if isinstance(given, list) else [text])]
        return [str(value) for value in values if value is not None]

    def matching(self, condition: str, texts: Sequence[str], names: Collection[str]) -> Sequence[str] | None:
        """The ones among some texts, each called `label`, that meet a condition of constants."""
        listed = ", ".join(quoted(text, "'") for text in texts)
        labels = f"(SELECT unnest([{listed}]::VARCHAR[]) AS label)"
        rows = self._asked(f"SELECT label FROM {labels} WHERE {condition}", names)
        return None if rows is None else [text for (text,) in rows]

    def _asked(self, statement: str, names: Collection[str]) -> list[tuple[Any, ...]] | None:
        if names and self.bound is None:
            return None
        given = self.bound or []
        bound = given if isinstance(given, dict) else {str(place): value for place, value in enumerate(given, 1)}
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
