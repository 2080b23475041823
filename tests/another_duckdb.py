"""A warehouse for tests: another file of DuckDB, reached only in the way that any engine's rows are."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Database, Ledger, Listed, Session, Settings, Traits, Visibility, create_table, drop, table
from tableveil.backend.warehouse import Statement
from tableveil.control import Control
from tableveil.errors import Fault
from tableveil.policy import Policy, TableReference

TRAITS = Traits(
    collects=True,
    transactional=False,
    keeps_ledger=False,
    views_keep_rows=True,
    reads_views=True,
    comments=False,
    knows_readers=False,
    shared=True,
    names_collations=True,
)

Before = Callable[[str], None]
"""Called before each verb that writes, with its name."""


class AnotherSession:
    """A session of the other file; see `WarehouseSession`."""

    traits = TRAITS

    def __init__(self, rows: Session, embedded: Session, before: Before, most_collected: int) -> None:
        self._rows, self._before = rows, before
        self.embedded = embedded
        self.catalog = self.warehouse = rows.catalog
        self.hashes = "another"
        self.versions: Mapping[str, str] = {"another": "1"}
        self.most_collected: int | None = most_collected
        self.token = secrets.token_hex(8)
        self.control: Control | None = None
        self.memory: int | None = None

    @property
    def ledger(self) -> Ledger:
        return self.embedded.ledger

    @property
    def visibility(self) -> Visibility:
        return self.embedded.visibility

    def execute(self, statement: Statement, parameters: Sequence[object] = ()) -> None:
        self._before("execute")
        self._rows.execute(statement, parameters)

    def rows(self, statement: Statement, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._rows.rows(statement, parameters)

    def row(self, statement: Statement, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        return self._rows.row(statement, parameters)

    def value(self, statement: Statement, parameters: Sequence[object] = ()) -> Any:
        return self._rows.value(statement, parameters)

    def arrays(self, statement: Statement, parameters: Sequence[object] = ()) -> dict[str, NDArray[Any]]:
        return self._rows.arrays(statement, parameters)

    def described(self, query: Statement) -> list[tuple[str, str]]:
        return self._rows.described(query)

    def described_tables(self, tables: Sequence[exp.Table]) -> list[list[tuple[str, str]]]:
        return self._rows.described_tables(tables)

    def noted(self, target: exp.Table) -> list[str]:
        return self._rows.noted(target)

    def view(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> None:
        self._rows.stage(name, query, parameters)

    def forget(self, name: str) -> None:
        self._rows.execute(drop("TABLE", table(name)))

    def collect(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> int:
        self._rows.stage("collecting", query, parameters)
        self.embedded.execute(drop("TABLE", table(name), if_exists=True))
        _copy(self._rows, "collecting", self.embedded, name)
        self._rows.execute(drop("TABLE", table("collecting")))
        return int(self.embedded.value(exp.select(exp.Count(this=exp.Star())).from_(table(name))))

    def lend(self, name: str) -> None:
        self._rows.execute(drop("TABLE", table(name), if_exists=True))
        _copy(self.embedded, name, self._rows, name)

    def create(self, target: exp.Table, query: exp.Query) -> None:
        self._before("create")
        with self._rows.relation("created", self.embedded.batches(query, 10_000).read_all()):
            self._rows.execute(create_table(target, exp.select("*").from_(table("created"))))

    def write(self, target: exp.Table, query: exp.Query, parameters: Sequence[object] = ()) -> None:
        self._before("write")
        self._rows.write(target, query, parameters)

    def rename(self, written: exp.Table, to: exp.Table) -> None:
        self._before("rename")
        self._rows.rename(written, to)

    def schemas(self) -> list[str]:
        return self._rows.schemas()

    def listed(self, schema: str | None = None) -> list[Listed]:
        return self._rows.listed(schema)

    def end(self, token: str) -> None:
        """Nothing: statements end with the process."""

    def scope(self, schema: str) -> str:
        return f"{self.catalog}.{schema}"

    def recorded(self, found: TableReference) -> TableReference:
        return TableReference("", self.scope(found.schema), found.table)

    def unsupported(self, policy: Policy) -> list[Fault]:
        return [Fault("source_query", "a query", "a table")] if policy.source_query else []

    def reading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AnotherDuckDB:
    """The warehouse `lake`. `before` may raise an error, as a warehouse does that fails in the middle."""

    def __init__(self, directory: Path) -> None:
        self.name = "lake"
        self.database = Database(Settings(directory / "lake.duckdb", threads=1))
        self.before: Before = lambda verb: None
        self.most_collected = 2**30

    def session(self, embedded: Session) -> AnotherSession:
        return AnotherSession(self.database.session(), embedded, lambda verb: self.before(verb), self.most_collected)

    def close(self) -> None:
        self.database.close()


def _copy(of: Session, name: str, to: Session, called: str) -> None:
    with to.relation("copied", of.batches(exp.select("*").from_(table(name)), 10_000).read_all()):
        to.stage(called, exp.select("*").from_(table("copied")))
