"""A session of Spark that computes a statement once for all jobs, as long as its tables stay as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import render
from tableveil.spark.session import SparkSession, Statement

Memory = dict[tuple[str, ...], Any]
"""Results by what was asked, by all that was lent, and by the views."""


class RememberingSession(SparkSession):
    """Tables are lent when a statement needs them that was not asked before."""

    known: Memory
    """Shared by the sessions; set it before the first statement."""

    def rows(self, statement: Statement, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        key = self._key("rows", statement, parameters)
        if key not in self.known:
            self._lend_all()
            self.known[key] = super().rows(statement, parameters)
        return cast(list[tuple[Any, ...]], self.known[key])

    def described(self, query: Statement) -> list[tuple[str, str]]:
        key = self._key("described", query, ())
        if key not in self.known:
            self._lend_all()
            self.known[key] = super().described(query)
        return cast(list[tuple[str, str]], self.known[key])

    def collect(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> int:
        key = self._key("collect", query, parameters)
        if key not in self.known:
            self._lend_all()
            super().collect(name, query, parameters)
            self.known[key] = self.embedded.batches(f"SELECT * FROM {name}", 1_000_000).read_all()
        with self.embedded.relation("remembered", self.known[key]):
            self.embedded.execute(f"DROP TABLE IF EXISTS {name}")
            return self.embedded.stage(name, "SELECT * FROM remembered")

    def view(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> None:
        self._lend_all()
        super().view(name, query, parameters)
        self._views()[name] = repr((query if isinstance(query, str) else render(query), parameters))

    def forget(self, name: str) -> None:
        self._views().pop(name, None)
        super().forget(name)

    def _views(self) -> dict[str, str]:
        found: dict[str, str] = self.__dict__.setdefault("views", {})
        return found

    def lend(self, name: str) -> None:
        rows = self.embedded.batches(f"SELECT * FROM {name}", 1_000_000).read_all()
        lent = hashlib.sha256(repr((rows.schema, rows.to_pydict())).encode()).hexdigest()
        self._pending()[name] = (lent, rows)

    def _pending(self) -> dict[str, tuple[str, pa.Table | None]]:
        found: dict[str, tuple[str, pa.Table | None]] = self.__dict__.setdefault("lent", {})
        return found

    def _lend_all(self) -> None:
        for name, (lent, rows) in self._pending().items():
            if rows is not None:
                with self.embedded.relation("lending", rows):
                    self._lend(name, self._embedded_rows(exp.select("*").from_("lending")), lambda frame: frame)
                self._pending()[name] = (lent, None)

    def _key(self, verb: str, statement: Statement, parameters: Sequence[object]) -> tuple[str, ...]:
        asked = statement if isinstance(statement, str) else render(statement)
        lent = (f"{name}={of}" for name, (of, _) in sorted(self._pending().items()))
        return (verb, asked, repr(parameters), *lent, *map(repr, sorted(self._views().items())))
