"""The source for all other code: its records, its columns, and the population they are a part of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tableveil.backend import alias as aliased
from tableveil.backend import column, conjunction, table, try_cast
from tableveil.errors import shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import TableReference


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its type as DuckDB spells it, and the type it has in a release.

    An ENUM's type lists values that the release may not hold, so that it is released as VARCHAR.
    """

    name: str
    type: str
    kind: ValueKind

    @property
    def released_type(self) -> str:
        """The column's type if it is released unchanged."""
        return "VARCHAR" if self.kind is ValueKind.TEXT else self.type


@dataclass(frozen=True, slots=True)
class PopulationRows:
    """The rows of a table that are the population.

    `columns` are the table's columns with the names of the policy's quasi-identifiers, in the policy's order; `types`
    are their types in the source. `field` is the policy's field that names the population.
    """

    reference: TableReference
    columns: tuple[Column, ...]
    types: tuple[str, ...]
    field: str

    def table(self, alias: str = "") -> exp.Expr:
        """The quasi-identifiers in a FROM clause, in the source's types.

        `check_facts` makes sure that these types hold all values: another value would be NULL here.
        """
        if all(source_column.type == type_ for source_column, type_ in zip(self.columns, self.types, strict=True)):
            return _whole(self.reference, alias)
        converted = [
            column(source_column.name)
            if source_column.type == type_
            else aliased(try_cast(column(source_column.name), type_), source_column.name)
            for source_column, type_ in zip(self.columns, self.types, strict=True)
        ]
        return exp.select(*converted).from_(self.whole_table()).subquery(alias or None)

    def whole_table(self) -> exp.Table:
        """The table in a FROM clause, unchanged."""
        return _whole(self.reference)


SNAPSHOT = TableReference("temp", "main", "source_query")
"""The rows of a source that is a query, as its job read them: a temporary table of the job's session."""


DRAWN = TableReference("temp", "main", "drawn_rows")
"""The generalized rows that chance left of a source: a temporary table of the job's session."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The facts that may be told of a draw of rows: its parameters, and facts about the drawn rows.

    `removed` rows are removed from a class on average. `levels` has per column its level, the highest level of its
    hierarchy, and the name of that; `losses` the mean loss of the drawn rows. Nothing else about the table may be told.
    """

    epsilon: str
    delta: str
    search_epsilon: str
    removed: int
    levels: Mapping[str, tuple[int, int, str]]
    losses: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """A query that was checked: its text, in which tables have their full names, and these tables."""

    text: str
    tables: tuple[TableReference, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The source table, by its full name, and its columns in table order; or the rows of a `query`.

    A query has no name: its `reference` has only the database. Its rows exist after its fingerprint was computed. If
    the policy names a `subset` column, the source's records are the rows where it is true; if it is a release with a
    `marker` column, those where that is false. Records with a NULL in a `complete` column are set aside. Code that
    reads `table` sees no other records. If rows were `drawn`, all code sees these in place of the table's; if they are
    `staged`, those of this temporary table. The people of the records have the events of the `related` tables.
    """

    reference: TableReference
    columns: tuple[Column, ...]
    subset: str = ""
    population: PopulationRows | None = None
    marker: str = ""
    complete: tuple[str, ...] = ()
    query: SourceQuery | None = None
    drawn: Drawn | None = None
    staged: str = ""
    related: tuple[Source, ...] = ()

    @property
    def rows(self) -> TableReference:
        """The table that has the rows."""
        if self.drawn is not None:
            return DRAWN
        if self.staged:
            return TableReference("temp", "main", self.staged)
        return self.reference if self.query is None else SNAPSHOT

    @property
    def tables(self) -> tuple[TableReference, ...]:
        """The tables of the database that are read."""
        own = (self.reference,) if self.query is None else self.query.tables
        return (*own, *(table for source in self.related for table in source.tables))

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return shortened(str(self.reference)) if self.query is None else "the source query"

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)

    def table(self, alias: str = "") -> exp.Expr:
        """The records in a FROM clause."""
        if not (self.subset or self.marker or self.complete):
            return _whole(self.rows, alias)
        conditions: list[exp.Expr] = [column(self.subset)] if self.subset else []
        conditions += [exp.Not(this=column(self.marker))] if self.marker else []
        conditions += [column(name).is_(exp.null()).not_() for name in self.complete]
        return exp.select("*").from_(self.whole_table()).where(conjunction(conditions)).subquery(alias or None)

    def clustered(self, columns: Sequence[str]) -> Source:
        """The source without the records that are set aside for a NULL in one of the columns."""
        return replace(self, complete=tuple(columns))

    def with_all(self) -> Source:
        """The source with the records that were set aside."""
        return replace(self, complete=())

    def whole_table(self) -> exp.Table:
        """The table in a FROM clause, with the rows that are outside the subset."""
        return _whole(self.rows)


def _whole(reference: TableReference, alias: str = "") -> exp.Table:
    return table(reference.table, reference.schema, reference.catalog, alias)
