"""The columns of a statement by sqlglot's scopes: which of them are labels of a release, or stand beside labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from tableveil.backend import folded
from tableveil.endpoint.allowed import refused
from tableveil.endpoint.cyclic_parts import cyclic
from tableveil.endpoint.grammar import ANSWERS, COLUMNS
from tableveil.endpoint.labels import LabelColumn, Look, Part, ReleaseTable

_RELEASED = "released"
_KEEPING = frozenset(
    [
        "any_value",
        "arg_max",
        "arg_min",
        "array_agg",
        "coalesce",
        "first",
        "first_value",
        "group_concat",
        "histogram",
        "ifnull",
        "lag",
        "last",
        "last_value",
        "lead",
        "list",
        "listagg",
        "max",
        "max_by",
        "min",
        "min_by",
        "mode",
        "nth_value",
        "nullif",
        "string_agg",
    ]
)
"""Functions whose results are labels, or lists of them, if their first arguments are."""

_ALL_ARGUMENTS = frozenset({"coalesce", "ifnull", "nullif"})


@dataclass(frozen=True, slots=True)
class LabelMeaning:
    """The part that an expression has of a column of labels. Columns of one `place` are of the same row of FROM."""

    part: Part
    of: LabelColumn
    place: tuple[object, ...] = ()

    @property
    def is_bound(self) -> bool:
        """Whether it is one end of a label."""
        return self.part in (Part.LOW, Part.HIGH)


def is_call(node: object, names: Collection[str]) -> bool:
    """Whether it is a call of one of these functions."""
    return isinstance(node, exp.Anonymous) and folded(node.name) in names


def results(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of an expression whose value may be its own."""
    if isinstance(node, exp.Case):
        yield from node.args["ifs"]
        if node.args.get("default"):
            yield node.args["default"]
    elif isinstance(node, exp.If):
        yield node.args["true"]
    elif isinstance(node, exp.Coalesce):
        yield from (node.this, *node.expressions)
    elif is_call(node, _KEEPING) and isinstance(node, exp.Anonymous):
        yield from node.expressions if folded(node.name) in _ALL_ARGUMENTS else node.expressions[:1]
    elif isinstance(node, exp.Distinct) and len(node.expressions) == 1:
        yield node.expressions[0]
    elif isinstance(
        node,
        (exp.Alias, exp.Paren, exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls, exp.Subquery, exp.Order),
    ) and isinstance(node.this, exp.Expr):
        yield node.this


@dataclass(slots=True)
class LabelSources:
    """A copy of a statement in which each column has its table, and what its columns mean."""

    tree: exp.Expr
    scopes: Mapping[int, Scope]
    tables: Mapping[str, Mapping[str, LabelMeaning | None]]
    of_release: Mapping[str, ReleaseTable]
    estimated: Mapping[str, Mapping[str, LabelColumn]]
    named: Mapping[str, LabelMeaning]
    known: dict[int, LabelMeaning | None] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: exp.Expr, read: Mapping[int, ReleaseTable], look: Look) -> LabelSources | None:
        """Reads a statement; None if none of its tables has labels, and it takes no cyclic part of estimates."""
        tables: dict[str, dict[str, LabelMeaning | None]] = {}
        columns = {number: look.columns(table) for number, table in read.items()}
        is_cyclic = any(cyclic(node) is not None for node in tree.walk())
        estimates = {number: look.estimates(table) if is_cyclic else {} for number, table in read.items()}
        if not any(of for table in columns.values() for of in table.values()) and not any(estimates.values()):
            return None
        of_release: dict[str, ReleaseTable] = {}
        estimated: dict[str, Mapping[str, LabelColumn]] = {}
        for node in list(tree.find_all(exp.Table)):
            if id(node) in read:
                name = f"{_RELEASED}_{len(tables)}"
                tables[name] = {
                    folded(column): LabelMeaning(*of) if of is not None else None
                    for column, of in columns[id(node)].items()
                }
                of_release[name] = read[id(node)]
                estimated[name] = {folded(column): of for column, of in estimates[id(node)].items()}
                node.meta[_RELEASED] = name
        copy = tree.copy()
        for identifier in list(copy.find_all(exp.Identifier)):
            identifier.set("this", folded(identifier.name))
        for node in list(copy.find_all(exp.Table)):
            if _RELEASED in node.meta:
                alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
                for part, value in (("alias", alias), ("db", None), ("catalog", None)):
                    node.set(part, value)
                node.set("this", exp.to_identifier(node.meta[_RELEASED]))
        for group in list(copy.find_all(exp.Group)):
            # sqlglot would write the items of SELECT for their numbers, and double nested ones with each level.
            for number in [part for part in group.expressions if isinstance(part, exp.Literal)]:
                number.replace(exp.Var(this=number.name))
        copy = _without_pivots(copy)
        schema = MappingSchema({name: dict.fromkeys(of, "TEXT") for name, of in tables.items()}, normalize=False)
        try:
            copy = qualify_columns(qualify_tables(copy, dialect="duckdb"), schema, expand_alias_refs=False)
            scopes = {id(scope.expression): scope for scope in traverse_scope(copy)}
        except SqlglotError as error:
            reason = str(error).splitlines()[0][:200]
            raise refused(f"names that cannot be followed: {reason}", "names of columns and tables") from None
        named = {name: of for table in tables.values() for name, of in table.items() if of is not None}
        return cls(copy, scopes, tables, of_release, estimated, named)

    def released(self, table: exp.Table) -> ReleaseTable | None:
        """The table of a release that a node stands for."""
        return self.of_release.get(table.name)

    def scope_of(self, node: exp.Expr) -> Scope | None:
        """The scope in which a part of the statement stands."""
        around: exp.Expr | None = node
        while around is not None:
            if (scope := self.scopes.get(id(around))) is not None and around is not node:
                return scope
            around = around.parent
        return None

    def meaning(self, node: exp.Expr) -> LabelMeaning | None:
        """The meaning of an expression, if it is of labels: a label rather than a column beside it."""
        if id(node) not in self.known:
            self.known[id(node)] = None
            self.known[id(node)] = self._looked_at(node)
        return self.known[id(node)]

    def _looked_at(self, node: exp.Expr) -> LabelMeaning | None:
        if isinstance(node, exp.Column):
            return self._of_column(node)
        if is_call(node, {COLUMNS}):
            return _strongest(self._stood_for(node))
        if is_call(node, ANSWERS):
            answered = self.meaning(node.expressions[0]) if node.expressions else None
            return LabelMeaning(Part.ANSWER, answered.of) if answered is not None else None
        if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
            return _strongest(self.meaning(item) for item in items(node, 0))
        return _strongest(self.meaning(part) for part in results(node))

    def _of_column(self, column: exp.Column) -> LabelMeaning | None:
        found = self.found(column)
        if found is None:
            return self.named.get(column.name)
        place, source = found
        if isinstance(source, exp.Table):
            of = self.tables.get(source.name, {}).get(column.name)
            return LabelMeaning(of.part, of.of, place) if of is not None else None
        inner = _strongest(self.meaning(item) for item in source)
        return LabelMeaning(inner.part, inner.of, (*place, *inner.place)) if inner is not None else None

    def found(self, column: exp.Column) -> tuple[tuple[object, ...], exp.Table | Sequence[exp.Expr]] | None:
        """The place of a column in FROM, and its table, or the expressions whose value it has."""
        found = self._found(column, column.table)
        # sqlglot takes a column that a subquery has from the query around it for one of its own tables.
        is_guess = column.table and "start" not in column.args["table"].meta
        return self._found(column, "") if found is None and is_guess else found

    def _found(
        self, column: exp.Column, table: str
    ) -> tuple[tuple[object, ...], exp.Table | Sequence[exp.Expr]] | None:
        scope = self.scope_of(column)
        while scope is not None:
            sources = scope.sources if table else {name: of for name, (_, of) in scope.selected_sources.items()}
            for name, source in sources.items():
                if table in ("", name) and column.name in self._columns(source):
                    given = self._columns(source)[column.name]
                    return (id(scope), name), source if isinstance(source, exp.Table) else given
            if not table and isinstance(scope.expression, exp.Query):
                aliased = _of_query(scope.expression).get(column.name, ())
                if aliased and not any(column is part for item in aliased for part in item.find_all(exp.Column)):
                    return (id(scope),), aliased
            scope = scope.parent
        return None

    def _columns(self, source: exp.Table | Scope) -> Mapping[str, Sequence[exp.Expr]]:
        """The known columns of a place in FROM, and their expressions if it is a query."""
        if isinstance(source, exp.Table):
            return dict.fromkeys(self.tables.get(source.name) or _renamed(source), ())
        node = source.expression
        inner = node.this if isinstance(node, exp.Lateral) else node
        names = [*(_renamed(node) or source.outer_columns)]
        if isinstance(inner, exp.Unnest):
            return dict(zip(names, ([part] for part in inner.expressions), strict=False))
        if isinstance(inner.unnest(), exp.Values):
            return {name: list(items(inner.unnest(), place)) for place, name in enumerate(names)}
        of_query = _of_query(inner)
        return dict(zip([*names, *list(of_query)[len(names) :]], of_query.values(), strict=False))

    def estimates(self, node: exp.Expr, seen: frozenset[int] = frozenset()) -> Iterator[LabelColumn]:
        """The labels of the estimated numbers and times that an expression is made of."""
        for column in node.find_all(exp.Column):
            found = self.found(column)
            if found is None or id(column) in seen:
                continue
            if not isinstance(found[1], exp.Table):
                for item in found[1]:
                    yield from self.estimates(item, seen | {id(column)})
            elif (of := self.estimated.get(found[1].name, {}).get(column.name)) is not None:
                yield of

    def beside(self, column: exp.Column, part: Part) -> str | None:
        """The name of the column that has another part of the same labels, in the same place of FROM."""
        meaning, found, scope = self.meaning(column), self.found(column), self.scope_of(column)
        if meaning is None or found is None or scope is None or len(found[0]) < 2:
            return None
        table = str(found[0][1])
        for name in self._columns(scope.sources[table]) if table in scope.sources else ():
            of = self._of_column(_standing(exp.column(name, table), column))
            if of is not None and (of.part, of.of, of.place) == (part, meaning.of, meaning.place):
                return name
        return None

    def _stood_for(self, call: exp.Expr) -> Iterator[LabelMeaning | None]:
        """The meanings of the columns that COLUMNS stands for; of all if a pattern may mean more to DuckDB."""
        named, scope = call.expressions[0], self.scope_of(call)
        for alias, (_, source) in scope.selected_sources.items() if scope is not None else ():
            for name in self._columns(source):
                try:
                    takes = (
                        name not in {folded(column.name) for column in named.args.get("except_") or []}
                        if isinstance(named, exp.Star)
                        else name in {folded(one.name) for one in named.expressions}
                        if isinstance(named, exp.Array)
                        else re.search(named.name, name, re.IGNORECASE) is not None
                    )
                except re.error:
                    takes = True
                if takes:
                    yield self._of_column(_standing(exp.column(name, alias), call))


def _strongest(meanings: Iterator[LabelMeaning | None]) -> LabelMeaning | None:
    order = list(Part)
    return min((of for of in meanings if of is not None), key=lambda of: order.index(of.part), default=None)


def items(query: exp.Expr, position: int) -> Iterator[exp.Expr]:
    """The expressions at a position of a query's rows, one of each query that it is a union of."""
    if isinstance(query, exp.SetOperation):
        yield from items(query.this, position)
        yield from items(query.expression, position)
    elif isinstance(query, (exp.Subquery, exp.Paren)):
        yield from items(query.this, position)
    elif isinstance(query, exp.Select) and position < len(query.selects):
        yield query.selects[position]
    elif isinstance(query, exp.Values):
        yield from (row.expressions[position] for row in query.expressions if isinstance(row, exp.Tuple))


def _of_query(query: exp.Expr) -> Mapping[str, Sequence[exp.Expr]]:
    """The columns of a query, and the expressions that it has for each."""
    if isinstance(query, exp.SetOperation) and query.args.get("by_name"):
        left, right = _of_query(query.this), _of_query(query.expression)
        return {name: [*left.get(name, ()), *right.get(name, ())] for name in (*left, *right)}
    names = query.named_selects if isinstance(query, exp.Query) else []
    return {name: list(items(query, place)) for place, name in reversed(list(enumerate(names)))}


def _renamed(node: exp.Expr) -> list[str]:
    alias = node.args.get("alias")
    return [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []


def _standing(column: exp.Column, where: exp.Expr) -> exp.Column:
    column.parent = where.parent
    return column


def _without_pivots(tree: exp.Expr) -> exp.Expr:
    """PIVOT and UNPIVOT as queries with the same uses of columns; those that it makes of values have no names."""
    for pivot in reversed(list(tree.find_all(exp.Pivot))):
        table = pivot.parent if isinstance(pivot.parent, exp.Table) else None
        source = (table or pivot.this).copy()
        source.set("pivots", None)
        query = (_unpivoted if pivot.args.get("unpivot") else _pivoted)(pivot).from_(source, copy=False)
        query.set("with_", pivot.args.get("with_"))
        if table is None and pivot is tree:
            tree = query
        elif table is None:
            pivot.replace(query)
        else:
            name = pivot.alias or table.alias_or_name
            table.replace(exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name))))
    return tree


def _pivoted(pivot: exp.Pivot) -> exp.Select:
    by = [*pivot.expressions, *(pivot.args.get("fields") or ())]
    group = pivot.args.get("group")
    on = [part for part in by if isinstance(part, (exp.In, exp.Column))]
    calls = pivot.args.get("using") or [part for part in by if part not in on]
    used = [column.this.copy() for part in (*on, *calls) for column in part.find_all(exp.Column)]
    kept = group.expressions if isinstance(group, exp.Group) else [exp.Star(except_=used)]
    grouped = [*(part.this if isinstance(part, exp.In) else part for part in on)]
    grouped += group.expressions if isinstance(group, exp.Group) else []
    listed = [part for part in on if isinstance(part, exp.In)]
    query = exp.select(*(part.copy() for part in (*kept, *calls)), copy=False)
    query.set("group", exp.Group(expressions=[part.copy() for part in grouped]))
    return query.where(*(part.copy() for part in listed), copy=False) if listed else query


def _unpivoted(pivot: exp.Pivot) -> exp.Select:
    into = pivot.args.get("into")
    listed = next((part for part in pivot.args.get("fields") or () if isinstance(part, exp.In)), None)
    columns = listed.expressions if listed is not None else pivot.expressions
    names = into.expressions if isinstance(into, exp.UnpivotColumns) else pivot.expressions
    used = [column.this.copy() for part in columns for column in part.find_all(exp.Column)]
    mixed = exp.Coalesce(this=columns[0].copy(), expressions=[part.copy() for part in columns[1:]])
    value = names[0].name if names else "value"
    return exp.select(exp.Star(except_=used), exp.alias_(mixed, value), copy=False)
