"""The columns of a statement by sqlglot's scopes: which of them are labels of a release, or stand beside labels.

It also finds cyclic parts of estimated values: weekdays, months of the year, hours, remainders. No assumption about
what lies under a label tells them where the label holds several of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from tableveil.backend import folded
from tableveil.endpoint.grammar import AGGREGATES, ANSWERS, COLUMNS, is_call, refused
from tableveil.endpoint.labels import Label, LabelColumn, LookInFiles, Part, ReleaseTable

_ALL_ARGUMENTS = frozenset({"coalesce", "ifnull"})
_FIRST_ARGUMENT = """
any_value arg_max arg_min array_agg first first_value group_concat histogram lag last last_value lead list listagg max
max_by min min_by mode nth_value nullif string_agg
"""
"""Functions whose results are labels, or lists of them, if their arguments are."""

OF_MANY = AGGREGATES | {"list_aggregate", "list_avg", "list_sum"}
"""Functions of several rows."""

_WRAPPERS = (exp.Alias, exp.Paren, exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls, exp.Subquery, exp.Order)


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


Found = tuple[tuple[object, ...], exp.Table | Sequence[exp.Expr]]
"""The place of a column in FROM, and its table, or the expressions whose value it has."""


def results(node: exp.Expr) -> Sequence[exp.Expr]:
    """The parts of an expression whose value may be its own."""
    if isinstance(node, exp.Case):
        return [*node.args["ifs"], *filter(None, [node.args.get("default")])]
    if isinstance(node, exp.If):
        return [node.args["true"]]
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    if is_call(node, _ALL_ARGUMENTS) or (isinstance(node, exp.Distinct) and len(node.expressions) == 1):
        return node.expressions
    if is_call(node, _FIRST_ARGUMENT.split()):
        return node.expressions[:1]
    return [node.this] if isinstance(node, _WRAPPERS) and isinstance(node.this, exp.Expr) else []


def computes(node: exp.Expr) -> bool:
    """Whether it makes one more value, or a list, of the values of a row: of a rank, what is a rank no less."""
    is_other = isinstance(node, (exp.Predicate, exp.Connector, exp.Not, exp.Case, exp.If, exp.Window))
    is_other = is_other or is_call(node, OF_MANY.union(_FIRST_ARGUMENT.split()))
    return isinstance(node, exp.Condition) and not is_other


@dataclass(slots=True)
class LabelSources:
    """A statement in which each column has its table, and what its columns mean.

    `tables` are the columns of tables of releases, by the names that the statement has for these.
    """

    tree: exp.Expr
    look: LookInFiles
    scopes: Mapping[int, Scope]
    tables: Mapping[str, Mapping[str, LabelMeaning | None]]
    of_release: Mapping[str, ReleaseTable]
    pivoted: Sequence[exp.Expr]
    known: dict[int, LabelMeaning | None] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: exp.Expr, read: Mapping[int, ReleaseTable], look: LookInFiles) -> LabelSources | None:
        """Qualifies a statement; None if none of its tables has labels, and it takes no cyclic part of estimates."""
        is_cyclic = any(cyclic(node) is not None or _rounds(node) for node in tree.walk())
        names = {number: f"released_{place}" for place, number in enumerate(read)}
        of_release = {names[number]: table for number, table in read.items()}
        tables = {
            name: {folded(column): of and LabelMeaning(*of) for column, of in look.columns(table).items()}
            for name, table in of_release.items()
        }
        has_labels = any(of for table in tables.values() for of in table.values())
        if not has_labels and not (is_cyclic and any(map(look.estimates, read.values()))):
            return None
        for identifier in list(tree.find_all(exp.Identifier)):
            identifier.set("this", folded(identifier.name))
        for node in list(tree.find_all(exp.Table)):
            if id(node) in names:
                alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
                name = exp.to_identifier(names[id(node)])
                for part, value in (("this", name), ("alias", alias), ("db", None), ("catalog", None)):
                    node.set(part, value)
            if node.alias_column_names and isinstance(node.this, exp.Identifier):
                around = {part: of for part, of in node.args.items() if part != "this"}
                node.replace(exp.Subquery(this=exp.select("*").from_(exp.Table(this=node.this)), **around))
        for group in list(tree.find_all(exp.Group)):
            # sqlglot would write the items of SELECT for their numbers, and double nested ones with each level.
            for number in [part for part in group.expressions if isinstance(part, exp.Literal)]:
                number.replace(exp.Var(this=number.name))
        for item in [one for select in tree.find_all(exp.Select) for one in select.expressions]:
            if isinstance(item, exp.Subquery):
                # sqlglot finds no number of ORDER BY for it.
                item.replace(exp.alias_(exp.Paren(this=item.copy()), item.alias or "subquery"))
        tree = _without_pivots(tree)
        schema = MappingSchema({name: dict.fromkeys(of, "TEXT") for name, of in tables.items()}, normalize=False)
        try:
            tree = qualify_columns(qualify_tables(tree, dialect="duckdb"), schema, expand_alias_refs=False)
            for join in tree.find_all(exp.Join):
                last = on.expression if isinstance(on := join.args.get("on"), exp.And) else on
                if str(join.args.get("method")).upper() == "ASOF" and isinstance(last, exp.EQ):
                    # USING compares the last column by >=.
                    last.replace(exp.GTE(this=last.this, expression=last.expression))
            scopes = {id(scope.expression): scope for scope in traverse_scope(tree)}
            pivots = [one for one in tree.find_all(exp.Select) if one.meta.get("pivot") and one.parent is not None]
            pivoted = [item for one in pivots for item in one.selects if not isinstance(item.unalias(), exp.Column)]
        except SqlglotError as error:
            reason = str(error).splitlines()[0][:200]
            raise refused(f"names that cannot be followed: {reason}", "names of columns and tables") from None
        return cls(tree, look, scopes, tables, of_release, pivoted)

    def released(self, table: object) -> ReleaseTable | None:
        """The table of a release that a node stands for."""
        return self.of_release.get(table.name) if isinstance(table, exp.Table) else None

    def scope_of(self, node: exp.Expr) -> Scope | None:
        """The scope in which a part of the statement stands."""
        around = node.parent
        while around is not None and id(around) not in self.scopes:
            around = around.parent
        return self.scopes[id(around)] if around is not None else None

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
            return _strongest(map(self._of_column, self._stood_for(node)))
        if is_call(node, ANSWERS):
            answered = self.meaning(node.expressions[0]) if node.expressions else None
            return LabelMeaning(Part.ANSWER, answered.of) if answered is not None else None
        is_rows = isinstance(node, exp.Query) and not isinstance(node, exp.Subquery)
        found = _strongest(map(self.meaning, items(node, 0) if is_rows else results(node)))
        if found is None and computes(node):
            of = _strongest(map(self.meaning, node.iter_expressions()))
            return of if of is not None and of.part is Part.RANK else None
        return found

    def _of_column(self, column: exp.Column) -> LabelMeaning | None:
        found = self.found(column)
        if found is None:
            return _strongest([of.get(column.name) for of in self.tables.values()] + [*map(self.meaning, self.pivoted)])
        place, source = found
        if isinstance(source, exp.Table):
            of = self.tables.get(source.name, {}).get(column.name)
            return LabelMeaning(of.part, of.of, place) if of is not None else None
        inner = _strongest(map(self.meaning, source))
        return LabelMeaning(inner.part, inner.of, (*place, *inner.place)) if inner is not None else None

    def found(self, column: exp.Column) -> Found | None:
        """Where a column is found, in the table that sqlglot gives it, or else by its name alone."""
        return self._found(column, column.table) or self._found(column, "")

    def _found(self, column: exp.Column, table: str) -> Found | None:
        scope = self.scope_of(column)
        while scope is not None:
            sources = scope.sources if table else {name: of for name, (_, of) in scope.selected_sources.items()}
            found: list[Found] = []
            for name, source in sources.items():
                if table in ("", name) and (given := self._columns(source).get(column.name)) is not None:
                    found.append(((id(scope), name), source if isinstance(source, exp.Table) else given))
            is_written = table and "start" in column.args["table"].meta
            aliased = () if is_written else _of_query(scope.expression).get(column.name, ())
            if aliased and not any(column is part for item in aliased for part in item.find_all(exp.Column)):
                # A column to order by is that of SELECT first, any other one that of a table.
                keys: Any = scope.expression.args.get("order") or exp.Order()
                is_first = any(key.this.unnest() is column for key in keys.expressions)
                found.insert(0 if is_first else len(found), ((id(scope),), aliased))
            if found:
                return found[0]
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

    def traced(self, node: exp.Expr, seen: set[int]) -> Iterator[exp.Expr]:
        """The parts of an expression, and those of the expressions whose values its columns have."""
        for part in node.walk():
            yield part
            stood_for = list(self._stood_for(part)) if is_call(part, {COLUMNS}) else []
            yield from stood_for
            for column in [part, *stood_for]:
                source = (self.found(column) or ((), self.pivoted))[1] if isinstance(column, exp.Column) else ()
                for item in () if isinstance(source, exp.Table) else source:
                    if id(item) not in seen:
                        seen.add(id(item))
                        yield from self.traced(item, seen)

    def estimates(self, parts: Iterable[exp.Expr]) -> Iterator[LabelColumn]:
        """The labels of the estimated numbers and times among the parts of an expression."""
        for column in parts:
            found = self.found(column) if isinstance(column, exp.Column) else None
            if found is not None and (released := self.released(found[1])) is not None:
                yield from filter(None, [self.look.estimates(released).get(column.name)])

    def beside(self, column: exp.Column, part: Part) -> str | None:
        """The name of the column that has another part of the same labels, in the same place of FROM."""
        meaning, found, scope = self.meaning(column), self.found(column), self.scope_of(column)
        table = str(found[0][-1]) if found is not None else ""
        if meaning is None or scope is None or table not in scope.sources:
            return None
        wanted = LabelMeaning(part, meaning.of, meaning.place)
        names = self._columns(scope.sources[table])
        return next((name for name in names if self._of_column(_standing(name, table, column)) == wanted), None)

    def _stood_for(self, call: exp.Expr) -> Iterator[exp.Column]:
        """The columns that COLUMNS stands for."""
        scope = self.scope_of(call)
        for alias, (_, source) in scope.selected_sources.items() if scope is not None else ():
            for name in self._columns(source):
                if _takes(call.expressions[0], name):
                    yield _standing(name, alias, call)


def _standing(name: str, table: str, where: exp.Expr) -> exp.Column:
    """A column as if it stood in some place."""
    column = exp.column(name, table)
    column.parent = where.parent
    return column


def _takes(named: exp.Expr, name: str) -> bool:
    """Whether COLUMNS takes a column; all if a pattern may mean more to DuckDB."""
    if isinstance(named, exp.Star):
        return name not in {folded(column.name) for column in named.args.get("except_") or []}
    if isinstance(named, exp.Array):
        return name in {folded(one.name) for one in named.expressions}
    try:
        return re.search(named.name, name, re.IGNORECASE) is not None
    except re.error:
        return True


def _strongest(meanings: Iterable[LabelMeaning | None]) -> LabelMeaning | None:
    order = list(Part)
    return min((of for of in meanings if of is not None), key=lambda of: order.index(of.part), default=None)


def items(query: exp.Expr, position: int) -> Iterator[exp.Expr]:
    """The expressions at a position of a query's rows, one of each query that it is a union of."""
    if isinstance(query, exp.SetOperation):
        yield from items(query.this, position)
        yield from items(query.expression, position)
    elif isinstance(query, (exp.Subquery, exp.Paren)):
        yield from items(query.this, position)
    elif isinstance(query, exp.Select):
        yield from query.selects[position : position + 1]
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


def _without_pivots(tree: exp.Expr) -> exp.Expr:
    """PIVOT and UNPIVOT as queries with the same uses of columns; those that it makes of values have no names."""
    for pivot in reversed(list(tree.find_all(exp.Pivot))):
        table = pivot.parent if pivot.arg_key == "pivots" else None
        source = (table or pivot.this).copy()
        source.set("pivots", None)
        query = (_unpivoted if pivot.args.get("unpivot") else _pivoted)(pivot).from_(source, copy=False)
        query.set("with_", pivot.args.get("with_"))
        if table is not None:
            name = pivot.alias or table.alias_or_name
            table.replace(exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name))))
        elif pivot is tree:
            tree = query
        else:
            pivot.replace(query)
    return tree


def _pivoted(pivot: exp.Pivot) -> exp.Select:
    by = [*pivot.expressions, *(pivot.args.get("fields") or ())]
    group = pivot.args.get("group")
    on = [part for part in by if isinstance(part, (exp.In, exp.Column))]
    calls = pivot.args.get("using") or [part for part in by if part not in on]
    kept = group.expressions if isinstance(group, exp.Group) else [_all_but([*on, *calls])]
    grouped = [part.this if isinstance(part, exp.In) else part for part in on]
    grouped += group.expressions if isinstance(group, exp.Group) else []
    query = exp.select(*(part.copy() for part in (*kept, *calls)), copy=False)
    query.meta["pivot"] = True
    query.set("group", exp.Group(expressions=[part.copy() for part in grouped]))
    return query.where(*(part.copy() for part in on if isinstance(part, exp.In)), copy=False)


def _unpivoted(pivot: exp.Pivot) -> exp.Select:
    into = pivot.args.get("into")
    listed = next((part for part in pivot.args.get("fields") or () if isinstance(part, exp.In)), None)
    columns = listed.expressions if listed is not None else pivot.expressions
    names = into.expressions if isinstance(into, exp.UnpivotColumns) else pivot.expressions
    mixed = exp.Coalesce(this=columns[0].copy(), expressions=[part.copy() for part in columns[1:]])
    return exp.select(_all_but(columns), exp.alias_(mixed, names[0].name if names else "value"), copy=False)


def _all_but(parts: Iterable[exp.Expr]) -> exp.Star:
    return exp.Star(except_=[column.this.copy() for part in parts for column in part.find_all(exp.Column)])


_Cycle = Callable[[Any], object]

_CYCLES: dict[str, _Cycle] = {
    **dict.fromkeys(("month", "months", "mon", "mons", "monthname"), lambda time: (time.year, time.month)),
    **dict.fromkeys(("quarter", "quarters"), lambda time: (time.year, (time.month - 1) // 3)),
    **dict.fromkeys(("week", "weeks", "w", "weekofyear"), lambda time: time.isocalendar()[:2]),
    **dict.fromkeys(("hour", "hours", "h", "hr", "hrs"), lambda time: (time.date(), time.hour)),
}
"""Parts of a time, each with what two times have in common if that is enough to tell the part."""

_CALLS = """
bit_and bit_or bit_xor cos day dayofmonth dayofweek dayofyear dayname gcd isodow lcm microsecond millisecond minute
second sin tan weekday
"""
"""Functions of other parts, which only the time itself tells."""

_LONG = "year years y yr yrs isoyear yearweek decade decades century centuries millennium era epoch julian"
"""Parts that never come back."""

_TRUNCATED = "Y Ym Ymd YmdH YmdHM YmdHMS"
_SAME = str.maketrans("ybB", "Ymm")


def _itself(value: Any) -> object:
    return value


def cyclic(node: exp.Expr) -> tuple[exp.Expr, _Cycle] | None:
    """The value of which a node takes a cyclic part, and what decides upon the part; None if it takes none."""
    if isinstance(node, (exp.Mod, exp.BitwiseAnd, exp.BitwiseOr)) or _taken_apart(node):
        return node, _itself
    if isinstance(node, exp.Extract):
        return _named(node.name, node.expression)
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return (node.this, _itself) if node.to.this is exp.DType.TIME else None
    if not isinstance(node, exp.Anonymous) or not node.expressions:
        return None
    name, first, *others = folded(node.name), *node.expressions
    if name in ("date_part", "datepart") and others:
        return _named(first.name if isinstance(first, exp.Literal) else "", others[0])
    if name == "strftime" and others:
        return _formatted(*((first, others[0]) if isinstance(first, exp.Literal) else (others[0], first)))
    return (first, _CYCLES.get(name, _itself)) if name in _CYCLES or name in ("mod", *_CALLS.split()) else None


_COMPARES = (exp.Binary, exp.Between, exp.In, exp.Case)
_DIFFERENCES = frozenset({"age", "date_diff", "date_sub", "datediff", "datesub", "nullif"})
_ROUNDING = "ceil ceiling date_trunc datetrunc even floor last_day round time_bucket trunc year"


def _rounds(node: exp.Expr) -> bool:
    return isinstance(node, (exp.IntDiv, exp.Cast)) or is_call(node, _ROUNDING.split())


def _left_over(node: exp.Expr, sources: LabelSources) -> bool:
    """Whether it compares a value with a truncation of it: what is left over comes back again and again."""
    compares = isinstance(node, _COMPARES) and not isinstance(node, exp.Connector) and node.this is not None
    sides = list(node.iter_expressions()) if compares else node.expressions[-2:] if is_call(node, _DIFFERENCES) else []
    parts = [list(sources.traced(side, set())) for side in sides]
    estimated = [set(sources.estimates(of)) for of in parts]
    every = list(chain.from_iterable(parts))
    is_of_one = bool(estimated) and any(estimated[0] & of for of in estimated[1:])
    return is_of_one and any(map(_rounds, every)) and not any(is_call(part, AGGREGATES) for part in every)


_PARTS_OF_TEXTS = """
contains ends_with instr regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
regexp_split_to_array replace reverse right split split_part str_split string_split strpos substr substring suffix
"""


def _taken_apart(node: exp.Expr) -> bool:
    """Whether it takes more of a text than its beginning."""
    if isinstance(node, (exp.Like, exp.ILike)):
        text = node.expression.name.rstrip("%") if isinstance(node.expression, exp.Literal) else "%"
        return "%" in text or "_" in text
    if isinstance(node, exp.Bracket):
        # sqlglot counts from 0, but not in slices or after brackets.
        at = node.expressions[0]
        starts = at.this.name == "1" if isinstance(at, exp.Slice) else at.name in ("0", "1")
        return not starts and not any(is_call(part, AGGREGATES) for part in node.walk())
    is_start = is_call(node, {"substr", "substring"}) and len(node.expressions) > 1 and node.expressions[1].name == "1"
    is_part = isinstance(node, (exp.RegexpLike, exp.SimilarTo)) or is_call(node, _PARTS_OF_TEXTS.split())
    return is_part and not is_start


def too_wide(node: exp.Expr, sources: LabelSources) -> tuple[LabelColumn, str] | None:
    """The column of labels that hold several values of a cyclic part that a node takes, and one of them."""
    found = cyclic(node) or ((node, _itself) if _left_over(node, sources) else None)
    for column in sources.estimates(sources.traced(found[0], set())) if found is not None else ():
        cycle = found[1] if found is not None and column.of_time else _itself
        for label in sources.look.labels(column).by_text.values():
            if cycle(label.low[0]) != cycle(_last(label)):
                return column, label.text
    return None


def _named(part: str, value: exp.Expr) -> tuple[exp.Expr, _Cycle] | None:
    return None if folded(part) in _LONG.split() else (value, _CYCLES.get(folded(part), _itself))


def _formatted(written: exp.Expr, value: exp.Expr) -> tuple[exp.Expr, _Cycle] | None:
    """A format is a truncation if it has a part with all longer ones."""
    text = written.name if isinstance(written, exp.Literal) else "%?"
    parts = {text[i + 1 : i + 2].translate(_SAME) for i, sign in enumerate(text) if sign == "%"}
    if any(parts == set(truncated) for truncated in _TRUNCATED.split()):
        return None
    return value, _CYCLES["month"] if parts == {"m"} else _itself


def _last(label: Label) -> Any:
    """The greatest value under a label."""
    value, excluded = label.high
    return value - timedelta(microseconds=1) if excluded and hasattr(value, "year") else value
