"""Looks into the tables of attached files, for the check of a statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
