"""Reads how a statement uses labels: which calls get the bounds beside a label, and where labels are taken for values.

It knows no more of a statement than what it needs for that. DuckDB answers the uses that it does not see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tableveil.answers import MACROS
from tableveil.backend import folded
from tableveil.endpoint import misuses
from tableveil.endpoint.label_functions import (
    AGGREGATES,
    AVERAGES,
    BY_SECOND,
    EXTREMES,
    HARMLESS,
    IN_ROWS,
    SAME,
    TRUNCATING,
)
from tableveil.endpoint.meanings import Look, Meaning, Part, Relation, ReleaseTable, Scope, of_table
from tableveil.endpoint.misuses import Edit, Misuse
from tableveil.endpoint.written_columns import column_names, name_of, ordinal, place_of, quoted, value_of
from tableveil.errors import InvalidError

_ANSWERS = {macro.name: macro for macro in MACROS}

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Between: "BETWEEN",
}
_SWAPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike, exp.SimilarTo)
_SUMS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Pow)
_SETS = (exp.Union, exp.Intersect, exp.Except)

_BANDS = Relation((("band_from", None), ("band_to", None), ("weight", None)))
_PERIODS = Relation((("period_from", None), ("period_to", None), ("weight", None)))


@dataclass(slots=True)
class LabelsRead:
    """The reader of one statement. `tables` are the tables of releases by the identities of their nodes."""

    written: str
    tables: Mapping[int, ReleaseTable]
    look: Look
    edits: list[Edit] = field(default_factory=list)
    misuses: list[Misuse] = field(default_factory=list)
    known: dict[int, Meaning | None] = field(default_factory=dict)

    def read(self, tree: exp.Query) -> None:
        """Finds the edits that complete calls, and the misuses."""
        self._query(tree, {}, None)

    # --- queries ----------------------------------------------------------------------------------------------------

    def _query(self, node: exp.Expr, common: Mapping[str, Relation], parent: Scope | None) -> Relation:
        common = self._common(node, common, parent)
        if isinstance(node, (exp.Subquery, exp.Paren)):
            found = self._query(node.this, common, parent)
            self._order(node, Scope(parent, [("", found)]), found, common)
            return found
        if isinstance(node, _SETS):
            left, right = (self._query(side, common, parent) for side in (node.this, node.expression))
            found = Relation(tuple((name, _either(of, _at(right, i))) for i, (name, of) in enumerate(left.columns)))
            self._order(node, Scope(parent, [("", found)]), found, common)
            return found
        if isinstance(node, exp.Select):
            return self._select(node, common, parent)
        if isinstance(node, exp.Table):
            return self._source(node, common, Scope(parent))[1]
        for child in node.iter_expressions():
            self._meaning(child, Scope(parent), common)
        return Relation()

    def _common(self, node: exp.Expr, common: Mapping[str, Relation], parent: Scope | None) -> Mapping[str, Relation]:
        with_ = node.args.get("with_")
        if not isinstance(with_, exp.With):
            return common
        for one in with_.expressions:
            name = folded(one.alias)
            inside = {**common, name: Relation()} if with_.recursive else common
            found = self._query(one.this, inside, parent)
            common = {**common, name: found.renamed(column_names(one))}
        return common

    def _select(self, node: exp.Select, common: Mapping[str, Relation], parent: Scope | None) -> Relation:
        scope = Scope(parent)
        from_ = node.args.get("from_")
        for place in [*([from_] if from_ else []), *(node.args.get("joins") or [])]:
            self._from(place, common, scope)
        scope.grouped = self._grouped(node, common, scope)
        scope.aggregates = bool(node.args.get("group")) or any(map(_aggregates, node.expressions))
        columns: list[tuple[str, Meaning | None]] = []
        for item in node.expressions:
            columns += self._item(item, common, scope)
        scope.aliases = {folded(name): meaning for name, meaning in columns}
        for part in ("where", "having", "qualify"):
            if node.args.get(part):
                self._meaning(node.args[part].this, scope, common)
        found = Relation(tuple(columns))
        self._order(node, scope, found, common)
        return found

    def _item(self, item: exp.Expr, common: Mapping[str, Relation], scope: Scope) -> list[tuple[str, Meaning | None]]:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            star = item if isinstance(item, exp.Star) else item.this
            of = folded(item.table) if isinstance(item, exp.Column) and item.table else None
            left_out = {folded(column.name) for column in star.args.get("except_") or []}
            replaced = {folded(one.alias): self._meaning(one, scope, common) for one in star.args.get("replace") or []}
            return [
                (name, replaced.get(folded(name), meaning))
                for alias, relation in scope.sources
                if of in (None, alias)
                for name, meaning in relation.columns
                if folded(name) not in left_out
            ]
        return [(item.alias_or_name, self._meaning(item, scope, common))]

    def _from(self, node: exp.Expr, common: Mapping[str, Relation], scope: Scope) -> None:
        """Adds the sources of FROM or of a join; those on the right see those on the left."""
        joined = node.this
        if isinstance(joined, exp.Expr):
            scope.sources.append(self._source(joined, common, scope))
            for join in joined.args.get("joins") or []:
                self._from(join, common, scope)
        if node.args.get("on"):
            self._meaning(node.args["on"], scope, common)

    def _source(self, node: exp.Expr, common: Mapping[str, Relation], scope: Scope) -> tuple[str, Relation]:
        alias = folded(node.alias_or_name)
        if isinstance(node, exp.Table):
            table = self.tables.get(id(node))
            if isinstance(node.this, exp.Anonymous):
                self._meaning(node.this, scope, common)
                alias = folded(node.alias or node.this.name)
                found = _PERIODS if folded(node.this.name) == "tv_period" else _BANDS
            elif table is not None:
                found = of_table(table, self.look.columns(table))
            else:
                found = common.get(folded(node.name), Relation())
        elif isinstance(node, exp.Lateral):
            found = self._query(node.this, common, scope)
        elif isinstance(node, exp.Values):
            found = Relation(tuple((name, None) for name in column_names(node)))
        else:
            found = self._query(node, common, scope)
        return alias, found.renamed(column_names(node)).within(id(node))

    def _grouped(self, node: exp.Select, common: Mapping[str, Relation], scope: Scope) -> frozenset[tuple[object, ...]]:
        """The labels by which a query groups; a bound alone is no group of labels."""
        group = node.args.get("group")
        if not isinstance(group, exp.Group):
            return frozenset()
        items = list(group.expressions)
        for part in ("rollup", "cube", "grouping_sets"):
            for sets in group.args.get(part) or []:
                items += sets.find_all(exp.Column)
        if group.args.get("all"):
            items = [
                i for i in node.expressions if not any(folded(c.name) in AGGREGATES for c in i.find_all(exp.Anonymous))
            ]
        named = {folded(item.alias): item.this for item in node.expressions if isinstance(item, exp.Alias)}
        found = []
        for item in items:
            of = ordinal(item, node.expressions)
            if isinstance(of, exp.Column) and not of.table and not scope.resolve(folded(of.name), None)[0]:
                of = named.get(folded(of.name), of)
            found.append(self._meaning(of, scope, common))
        keys: dict[tuple[object, ...], set[Part]] = {}
        for meaning in found:
            if meaning is not None and meaning.exact:
                keys.setdefault(meaning.key, set()).add(meaning.part)
        whole = {key for key, of in keys.items() if of & {Part.LABEL, Part.RANK} or of >= {Part.LOW, Part.HIGH}}
        for meaning in found:
            if meaning is not None and meaning.is_bound and meaning.key not in whole:
                self._misused(misuses.grouped_by_bound(meaning))
        return frozenset(whole)

    def _order(self, node: exp.Expr, scope: Scope, output: Relation, common: Mapping[str, Relation]) -> None:
        order = node.args.get("order")
        if isinstance(order, exp.Order):
            self._ordered(order, scope, common, output, bool(node.args.get("distinct")) or isinstance(node, _SETS))

    def _ordered(
        self,
        order: exp.Order,
        scope: Scope,
        common: Mapping[str, Relation],
        output: Relation | None = None,
        fixed: bool = False,
    ) -> None:
        """Looks for labels that are sorted; the output's columns come first, and are all there is if it is fixed."""
        ranked: set[tuple[object, ...]] = set()
        for item in order.expressions:
            by = item.this if isinstance(item, exp.Ordered) else item
            meanings: list[Meaning | None] = []
            if output is not None and isinstance(by, exp.Var) and by.name.upper() == "ALL":
                meanings = [meaning for _, meaning in output.columns]
            elif output is not None and isinstance(by, exp.Literal) and not by.is_string and by.name.isdecimal():
                meanings = [_at(output, int(by.name) - 1)]
            elif output is not None and isinstance(by, exp.Column) and not by.table and output.find(folded(by.name))[0]:
                meanings = [output.find(folded(by.name))[1]]
            else:
                meanings = [self._meaning(by, scope, common)]
            for meaning in meanings:
                if meaning is None:
                    continue
                if meaning.part is Part.RANK:
                    ranked.add(meaning.key)
                elif meaning.part is Part.LABEL and meaning.key not in ranked and self._ordered_values(meaning):
                    self._misused(self._sorted_by(meaning, by, scope, fixed))
                    break

    def _sorted_by(self, meaning: Meaning, by: exp.Expr, scope: Scope, fixed: bool) -> Misuse:
        beside = next(
            (
                (alias, name)
                for around in scope.outwards()
                for alias, relation in around.sources
                if (name := relation.beside(meaning, Part.RANK)) is not None
            ),
            None,
        )
        if beside is None or fixed:
            return misuses.sorted_by(meaning, "", ())
        alone = len(scope.sources) == 1
        rank = name_of(beside[1]) if alone else f"{name_of(beside[0])}.{name_of(beside[1])}"
        # A rank that the query groups by is its own minimum.
        if scope.aggregates:
            rank = f"min({rank})"
        place = self._place_in_order(by) if meaning.exact else None
        return misuses.sorted_by(meaning, rank, ((*place, rank),) if place else ())

    def _place_in_order(self, by: exp.Expr) -> tuple[int, int] | None:
        if isinstance(by, exp.Literal):
            found = list(re.finditer(rf"ORDER\s+BY\s+({re.escape(by.name)})\b", self.written, re.IGNORECASE))
            return found[0].span(1) if len(found) == 1 else None
        return place_of(by)

    # --- expressions ------------------------------------------------------------------------------------------------

    def _meaning(self, node: exp.Expr, scope: Scope, common: Mapping[str, Relation]) -> Meaning | None:
        """The meaning of an expression, all of whose parts are looked at once."""
        if id(node) not in self.known:
            self.known[id(node)] = self._looked_at(node, scope, common)
        return self.known[id(node)]

    def _looked_at(self, node: exp.Expr, scope: Scope, common: Mapping[str, Relation]) -> Meaning | None:
        see: Callable[[exp.Expr], Meaning | None] = lambda part: self._meaning(part, scope, common)  # noqa: E731
        if isinstance(node, exp.Column):
            return scope.resolve(folded(node.name), folded(node.table) if node.table else None)[0]
        if isinstance(node, (exp.Paren, exp.Alias, exp.IgnoreNulls, exp.RespectNulls)):
            return see(node.this)
        if isinstance(node, (exp.Query, exp.Exists)):
            query = node.this if isinstance(node, exp.Exists) else node
            found = self._query(query, common, scope)
            return _derived(_at(found, 0)) if not isinstance(node, exp.Exists) else None
        if isinstance(node, exp.Anonymous):
            return self._call(node, scope, common)
        if isinstance(node, exp.Window):
            return self._window(node, scope, common)
        if isinstance(node, exp.Order):
            inner = see(node.this) if node.this is not None else None
            self._ordered(node, scope, common)
            return inner
        parts = list(node.iter_expressions())
        meanings = [see(part) for part in parts]
        if type(node) in _COMPARISONS:
            self._compared(node, parts, meanings, scope)
        elif isinstance(node, _PATTERNS):
            self._each(meanings, misuses.as_text, node.key.upper())
        elif isinstance(node, (*_SUMS, exp.IntDiv, exp.Mod)):
            return self._computed(node, meanings)
        elif isinstance(node, (exp.Cast, exp.TryCast)):
            return self._cast(node, meanings[0])
        elif isinstance(node, exp.Extract):
            self._each_bound(meanings, "extract", str(node.this.name).lower())
        elif isinstance(node, (exp.Bracket, exp.Slice)):
            self._each(meanings, misuses.as_text, "[]")
        elif isinstance(node, (exp.Case, exp.If, exp.Coalesce, exp.Tuple)):
            conditions = () if isinstance(node, (exp.Coalesce, exp.Tuple)) else (node.this,)
            results = [
                of for part, of in zip(parts, meanings, strict=True) if of is not None and part not in conditions
            ]
            return _derived(next(iter(sorted(results, key=lambda of: of.part is not Part.LABEL)), None))
        elif isinstance(node, (exp.Filter, exp.Distinct)):
            return meanings[0]
        return None

    def _call(self, node: exp.Anonymous, scope: Scope, common: Mapping[str, Relation]) -> Meaning | None:
        name = folded(node.name)
        meanings = [self._meaning(argument, scope, common) for argument in node.expressions]
        if name in _ANSWERS:
            self._completed(node, meanings, scope)
            return None
        first = next((meaning for meaning in meanings if meaning is not None), None)
        if first is None:
            return None
        if name in BY_SECOND:
            by = meanings[1] if len(meanings) > 1 else None
            if by is not None and by.part is Part.LABEL and self._ordered_values(by):
                self._misused(misuses.extreme(by, name, by.label, ()))
            return _derived(meanings[0])
        for meaning in meanings:
            if meaning is None or meaning.part is Part.RANK:
                continue
            if name in EXTREMES or name in AVERAGES:
                in_row = name in IN_ROWS
                wrong = self._ordered_values(meaning) if meaning.part is Part.LABEL else not in_row
                if wrong and (in_row or meaning.key not in scope.grouped):
                    self._misused(self._extreme(node, name, meaning, scope))
                    return None
            elif meaning.part is Part.LABEL and meaning.bounds and name not in SAME | HARMLESS:
                self._misused(misuses.as_text(meaning, name))
                return None
            elif meaning.is_bound and name in TRUNCATING:
                literal = next((part for part in node.expressions if isinstance(part, exp.Literal)), None)
                unit = literal.name if literal is not None and meaning.of_time else name
                self._each_bound([meaning], name, unit)
                return None
        return first.derived() if name in SAME or (first.is_bound and name not in HARMLESS) else None

    def _extreme(self, node: exp.Anonymous, name: str, meaning: Meaning, scope: Scope) -> Misuse:
        argument = name_of(meaning.label)
        edits: tuple[Edit, ...] = ()
        answer = misuses.ANSWERED_BY.get(name)
        alone = node.expressions[0] if len(node.expressions) == 1 else None
        place = place_of(alone) if isinstance(alone, exp.Column) else None
        if (
            answer
            and place
            and meaning.exact
            and meaning.part is Part.LABEL
            and not isinstance(node.parent, exp.Window)
        ):
            called = re.search(r"(\w+)\s*\(\s*\Z", self.written[: place[0]])
            if called and folded(called[1]) == name:
                edits = ((called.start(1), called.end(1), answer),)
        return misuses.extreme(meaning, name, argument, edits)

    def _window(self, node: exp.Window, scope: Scope, common: Mapping[str, Relation]) -> Meaning | None:
        found = self._meaning(node.this, scope, common)
        for part in node.args.get("partition_by") or []:
            self._meaning(part, scope, common)
        order = node.args.get("order")
        if isinstance(order, exp.Order):
            self._ordered(order, scope, common)
        return found

    def _compared(self, node: exp.Expr, parts: list[exp.Expr], meanings: list[Meaning | None], scope: Scope) -> None:
        operator = _COMPARISONS[type(node)]
        for i, (part, meaning) in enumerate(zip(parts, meanings, strict=True)):
            if meaning is None or meaning.part is not Part.LABEL or not self._ordered_values(meaning):
                continue
            relation = scope.resolve(folded(part.name), None)[1] if isinstance(part, exp.Column) else Relation()
            low, high = (relation.beside(meaning, of) for of in (Part.LOW, Part.HIGH))
            bounds = (name_of(low), name_of(high)) if low and high else None
            value = parts[1 - i] if len(parts) == 2 else None
            told = value_of(value, meaning) if isinstance(value, exp.Literal) else ""
            self._misused(misuses.compared(meaning, _SWAPPED.get(operator, operator) if i else operator, bounds, told))
            return

    def _computed(self, node: exp.Expr, meanings: list[Meaning | None]) -> Meaning | None:
        known = [meaning for meaning in meanings if meaning is not None]
        self._each(known, misuses.as_text, node.key.upper())
        bounds = [meaning for meaning in known if meaning.is_bound]
        if not bounds:
            return None
        if isinstance(node, (exp.IntDiv, exp.Mod)):
            width = node.expression
            unit = width.name if isinstance(width, exp.Literal) else ""
            self._each_bound(bounds, "//" if isinstance(node, exp.IntDiv) else "%", unit)
            return None
        # The width of a label is no bound of it.
        if isinstance(node, exp.Sub) and len(bounds) == 2 and bounds[0].key == bounds[1].key:
            return None
        return bounds[0].derived()

    def _cast(self, node: exp.Expr, meaning: Meaning | None) -> Meaning | None:
        if meaning is None:
            return None
        kind = node.args["to"].this
        if meaning.part is Part.LABEL and meaning.bounds and kind not in exp.DataType.TEXT_TYPES:
            self._misused(misuses.as_text(meaning, "CAST"))
            return None
        if meaning.is_bound and not meaning.exact and kind in exp.DataType.INTEGER_TYPES:
            self._each_bound([meaning], "CAST", "")
            return None
        return meaning.derived()

    # --- calls of functions of labels -------------------------------------------------------------------------------

    def _completed(self, node: exp.Anonymous, meanings: list[Meaning | None], scope: Scope) -> None:
        """Writes the bounds after the label, unless they are there already, as in a file."""
        macro = _ANSWERS[folded(node.name)]
        given = len(node.expressions)
        if not macro.of_label or given == len(macro.parameters):
            return
        wanted = ", ".join(("column", *macro.parameters[3:]))
        expected = f"{macro.name}({wanted})"
        if given != len(macro.parameters) - 2:
            raise _unfit(f"{macro.name} with {given} arguments", expected)
        column, meaning = node.expressions[0], meanings[0]
        if (
            meaning is None
            or meaning.part is not Part.LABEL
            or not meaning.bounds
            or not isinstance(column, exp.Column)
        ):
            raise _unfit(f"{macro.name} of something else than a column of labels with bounds", expected)
        relation = scope.resolve(folded(column.name), folded(column.table) if column.table else None)[1]
        names = [relation.beside(meaning, part) for part in (Part.LOW, Part.HIGH)]
        place = place_of(column)
        if None in names or place is None:
            beside = f"{meaning.label}_from and {meaning.label}_to"
            raise _unfit(
                f"{macro.name} of a column without its bounds", expected, f"Let the subquery select {beside} as well."
            )
        prefix = f"{quoted(column.table)}." if column.table else ""
        self.edits.append((place[1], place[1], "".join(f", {prefix}{quoted(str(name))}" for name in names)))

    # --- misuses ----------------------------------------------------------------------------------------------------

    def _ordered_values(self, meaning: Meaning) -> bool:
        """Whether the labels stand for values with an order that their texts do not have."""
        if meaning.bounds:
            return True
        return meaning.table is not None and self.look.is_disordered(meaning.table, meaning.label)

    def _each(self, meanings: list[Meaning | None] | list[Meaning], tell: Callable[..., Misuse], what: str) -> None:
        for meaning in meanings:
            if meaning is not None and meaning.part is Part.LABEL and meaning.bounds:
                self._misused(tell(meaning, what))

    def _each_bound(self, meanings: list[Meaning | None] | list[Meaning], function: str, unit: str) -> None:
        for meaning in meanings:
            if meaning is not None and meaning.is_bound:
                known = unit in ("day", "week", "month", "quarter", "year", "decade")
                of = unit if meaning.of_time == known and (known or unit.isdecimal()) else ""
                self._misused(misuses.truncated(meaning, function, of))

    def _misused(self, misuse: Misuse) -> None:
        if misuse not in self.misuses:
            self.misuses.append(misuse)


def _either(one: Meaning | None, other: Meaning | None) -> Meaning | None:
    """The meaning of a column of two queries together."""
    if one is not None and other is not None and one.part is other.part:
        return one.derived()
    return _derived(one if one is not None and one.part is Part.LABEL else other)


def _derived(meaning: Meaning | None) -> Meaning | None:
    return meaning.derived() if meaning is not None else None


def _aggregates(item: exp.Expr) -> bool:
    """Whether an item of SELECT is of groups, not of rows."""
    calls = (call for call in item.find_all(exp.Anonymous) if not isinstance(call.parent, exp.Window))
    return any(folded(call.name) in AGGREGATES for call in calls)


def _at(relation: Relation, position: int) -> Meaning | None:
    return relation.columns[position][1] if 0 <= position < len(relation.columns) else None


def _unfit(found: str, expected: str, hint: str = "") -> InvalidError:
    return InvalidError.of("STATEMENT_INVALID", "statement", found, expected, hint)
