"""Looks into the tables of attached files, for the check of a statement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import duckdb

from tableveil.backend import folded
from tableveil.endpoint.labels import (
    Label,
    LabelColumn,
    Part,
    ReleasedLabels,
    ReleaseTable,
    UnknownTextError,
    comparable,
)

_BOUNDS = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP")

ESTIMATED = "_estimated"
"""The end of the name of a release's table of estimated values."""

Values = list[Any] | dict[str, Any]
"""Values of parameters, in their order or by their names."""


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
        self.estimates = cache(self._estimates)
        self.labels = cache(self._labels)

    def bind(self, parameters: int, names: Sequence[str]) -> None:
        """See `Look`."""
        self.bound = self._values(parameters, names)

    def _columns(self, table: ReleaseTable) -> Mapping[str, tuple[Part, LabelColumn] | None]:
        """See `Look`: by the names and types that every release gives to columns beside labels.

        Labels that are values, and have the order of their texts, are columns as any other.
        """
        types = dict(
            self._connection.execute(f"SELECT column_name, column_type FROM (DESCRIBE {self._path(table)})").fetchall()
        )
        found: dict[str, tuple[Part, LabelColumn] | None] = dict.fromkeys(types)
        if table.name.endswith(ESTIMATED):
            return {**found, **self._kept(replace(table, name=table.name.removesuffix(ESTIMATED)), types)}
        for name, type_ in types.items():
            if type_ != "VARCHAR" or types.get(f"{name}_rank") != "INTEGER":
                continue
            low, high = types.get(f"{name}_from", ""), types.get(f"{name}_to", "")
            column = LabelColumn(table, name, low if low == high and low in _BOUNDS else "", self._levels(table, name))
            if column.levels == (0,) and self.labels(column).are_plain:
                continue
            found[name], found[f"{name}_rank"] = (Part.LABEL, column), (Part.RANK, column)
            if column.bounds:
                found[f"{name}_from"], found[f"{name}_to"] = (Part.LOW, column), (Part.HIGH, column)
        return found

    def _kept(self, table: ReleaseTable, types: Mapping[str, str]) -> Mapping[str, tuple[Part, LabelColumn] | None]:
        """The columns that keep their labels beside estimated ones."""
        path = self._path(replace(table, name=f"{table.name}_columns"))
        try:
            drawn = f"SELECT column_name FROM {path} WHERE estimated_share > 0"
            estimated = {name for (name,) in self._connection.execute(drawn).fetchall()}
            of_rows = self.columns(table)
        except (duckdb.CatalogException, duckdb.BinderException):
            return {}
        kept = {name: of for name, of in of_rows.items() if types.get(name) == "VARCHAR" and name not in estimated}
        return {name: of for name, of in kept.items() if of is not None and of[0] is Part.LABEL}

    def _estimates(self, table: ReleaseTable) -> Mapping[str, LabelColumn]:
        """See `Look`."""
        if not table.name.endswith(ESTIMATED):
            return {}
        try:
            of_rows = self.columns(replace(table, name=table.name.removesuffix(ESTIMATED)))
        except (duckdb.CatalogException, duckdb.BinderException):
            return {}
        kept = self.columns(table)
        found = {name: of[1] for name, of in of_rows.items() if of is not None and of[0] is Part.LABEL and of[1].bounds}
        return {name: column for name, column in found.items() if name in kept and kept[name] is None}

    def _levels(self, table: ReleaseTable, name: str) -> tuple[int, ...]:
        path = self._path(replace(table, name=f"{table.name}_columns"))
        try:
            row = self._connection.execute(f"SELECT levels FROM {path} WHERE column_name = ?", [name]).fetchone()
        except (duckdb.CatalogException, duckdb.BinderException):
            return ()
        return tuple(map(int, row[0].split(","))) if row is not None and row[0] else ()

    def _labels(self, column: LabelColumn) -> ReleasedLabels:
        """See `Look`."""
        names = [_quoted(column.name), _quoted(column.beside(Part.RANK))]
        names += [_quoted(column.beside(part)) for part in (Part.LOW, Part.HIGH) if column.bounds]
        distinct = f"SELECT DISTINCT {', '.join(names)} FROM {self._path(column.table)}"
        rows = self._connection.execute(f"{distinct} WHERE {names[0]} IS NOT NULL ORDER BY 2").fetchall()
        return ReleasedLabels(column, (Label(text, rank, *map(comparable, ends)) for text, rank, *ends in rows))

    def texts(self, constant: str, names: Collection[str]) -> Sequence[str] | None:
        """See `Look`."""
        rows = self._asked(f"SELECT {constant} AS given, TRY_CAST(given AS VARCHAR)", names)
        if rows is None:
            return None
        values = [item for given, text in rows for item in (given if isinstance(given, list) else [text])]
        return [str(value) for value in values if value is not None]

    def matching(self, condition: str, texts: Sequence[str], names: Collection[str]) -> Sequence[str] | None:
        """See `Look`."""
        listed = ", ".join(_quoted(text, "'") for text in texts)
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
        """See `Look`."""
        names = {folded(name) for name in self.columns(table)}
        value = _quoted(column)
        place = f"min({_quoted(f'{column}_rank')})" if f"{folded(column)}_rank" in names else value
        values = self._connection.execute(
            f"SELECT CAST({value} AS VARCHAR) FROM {self._path(table)} WHERE {value} IS NOT NULL GROUP BY {value} "
            f"ORDER BY {place} LIMIT {most}"
        )
        return [text for (text,) in values.fetchall()]

    def _path(self, table: ReleaseTable) -> str:
        return f"{self.attach(table.release)}.{_quoted(table.schema)}.{_quoted(table.name)}"


def _quoted(name: str, quote: str = '"') -> str:
    return quote + name.replace(quote, quote * 2) + quote
