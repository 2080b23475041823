"""Looks into the tables of attached files, for the check of a statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import duckdb

from tableveil.backend import folded
from tableveil.endpoint.meanings import ReleaseTable


class LookInFiles:
    """Attaches the file of a release when it is first looked into, and looks once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, attach: Callable[[int], str]) -> None:
        """`attach` gives the name of the database of a release."""
        self._connection = connection
        self.attach = cache(attach)
        self.columns = cache(self._columns)
        self.is_disordered = cache(self._is_disordered)
        self.straddling = cache(self._straddling)
        self.is_general = cache(self._is_general)

    def _columns(self, table: ReleaseTable) -> Sequence[tuple[str, str]]:
        """See `Look`."""
        described = self._connection.execute(f"DESCRIBE {self._path(table)}").fetchall()
        return [(name, type_) for name, type_, *_ in described]

    def _is_disordered(self, table: ReleaseTable, label: str) -> bool:
        """See `Look`; `*` is the last label, wherever it would be among texts."""
        name, rank = _quoted(label), _quoted(f"{label}_rank")
        labels = f"SELECT DISTINCT {name} AS label, {rank} AS place FROM {self._path(table)} WHERE {name} <> '*'"
        before = f"SELECT label, lag(label) OVER (ORDER BY place) AS earlier FROM ({labels})"
        disordered = self._connection.execute(f"SELECT count(*) FROM ({before}) WHERE earlier > label").fetchone()
        return disordered is not None and disordered[0] > 0

    def _straddling(self, table: ReleaseTable, label: str, operator: str, value: str | None) -> int:
        """See `Look`; a value that is no number or time is as good as none."""
        name, low, high = (_quoted(f"{label}{end}") for end in ("", "_from", "_to"))
        type_ = self._type_of_bounds(table, label)
        limit = _value(type_)
        # The upper end is no value of these labels.
        above = (
            f"({low} IS DISTINCT FROM {high} AND NOT suffix({name}, ']'))"
            if type_ in ("DOUBLE", "TIMESTAMP")
            else "FALSE"
        )
        all_, none = {
            ">": (f"{low} > {limit}", f"{high} <= {limit}"),
            ">=": (f"{low} >= {limit}", f"({high} < {limit} OR ({high} = {limit} AND {above}))"),
            "<": (f"({high} < {limit} OR ({high} = {limit} AND {above}))", f"{low} >= {limit}"),
            "<=": (f"{high} <= {limit}", f"{low} > {limit}"),
        }[operator]
        one_side = f"coalesce({all_}, FALSE) OR coalesce({none}, FALSE) OR coalesce({low} = {high}, FALSE)"
        counted = f"SELECT count(*) FROM {self._path(table)} WHERE {name} IS NOT NULL AND NOT ({one_side})"
        row = self._connection.execute(counted, [value] * counted.count("?")).fetchone()
        return int(row[0]) if row is not None else 0

    def has(self, table: ReleaseTable, label: str, value: str) -> bool:
        """See `Look`."""
        one = f"SELECT 1 FROM {self._path(table)} WHERE {_quoted(label)} = ? LIMIT 1"
        return self._connection.execute(one, [value]).fetchone() is not None

    def is_value(self, table: ReleaseTable, label: str, value: str) -> bool:
        """See `Look`."""
        cast = f"SELECT {_value(self._type_of_bounds(table, label))} IS NOT NULL"
        return self._connection.execute(cast, [value]).fetchone() == (True,)

    def _type_of_bounds(self, table: ReleaseTable, label: str) -> str:
        return next(type_ for column, type_ in self.columns(table) if column == f"{label}_from")

    def _is_general(self, table: ReleaseTable, label: str) -> bool:
        """See `Look`; the column `levels` lists those of all labels."""
        path = self._path(replace(table, name=f"{table.name}_columns"))
        try:
            row = self._connection.execute(f"SELECT levels FROM {path} WHERE column_name = ?", [label]).fetchone()
        except (duckdb.CatalogException, duckdb.BinderException):
            return False
        return row is not None and row[0] not in (None, "0")

    def values(self, table: ReleaseTable, column: str, most: int) -> Sequence[str]:
        """See `Look`."""
        names = {folded(name) for name, _ in self.columns(table)}
        value = _quoted(column)
        place = f"min({_quoted(f'{column}_rank')})" if f"{folded(column)}_rank" in names else value
        values = self._connection.execute(
            f"SELECT CAST({value} AS VARCHAR) FROM {self._path(table)} WHERE {value} IS NOT NULL GROUP BY {value} "
            f"ORDER BY {place} LIMIT {most}"
        )
        return [text for (text,) in values.fetchall()]

    def _path(self, table: ReleaseTable) -> str:
        return f"{self.attach(table.release)}.{_quoted(table.schema)}.{_quoted(table.name)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(type_: str) -> str:
    """A parameter as a value of bounds of that type, or NULL."""
    return f"TRY_CAST(? AS {'TIMESTAMP' if type_ in ('DATE', 'TIMESTAMP') else 'DOUBLE'})"
