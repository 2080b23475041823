"""Reads how a statement uses labels: which calls get the bounds beside a label, and where labels are taken for values.

It knows no more of a statement than what it needs for that. DuckDB answers the uses that it does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint import misuses
from tableveil.endpoint.cases import read_case
from tableveil.endpoint.completed_calls import FUNCTIONS_OF_LABELS, answered, completed
from tableveil.endpoint.cut_labels import COMPARISONS, EQUALITIES, SWAPPED, Cuts
from tableveil.endpoint.grammar import COLUMNS
from tableveil.endpoint.label_functions import (
    AGGREGATES,
    AVERAGES,
    BY_SECOND,
    CORRELATIONS,
    DIVIDING,
    EXTREMES,
    HARMLESS,
    IN_ROWS,
    SAME,
    SHARES,
    TRUNCATING,
    aggregates,
)
from tableveil.endpoint.meanings import (
    ROWS_OF_PARTS,
    LabelMeaning,
    Look,
    NamedColumns,
    Part,
    Relation,
    ReleaseTable,
    at,
    derived,
    either,
    named_by,
    of_table,
    stood_for,
)
from tableveil.endpoint.missed_labels import PATTERNS, Misses
from tableveil.endpoint.misuses import Edit, Misuse
from tableveil.endpoint.written_columns import (
    PERIODS,
    column_names,
    name_of,
    ordinal,
    place_in_order,
    unit_of,
    value_of,
)

_SUMS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Pow)
_SETS = (exp.Union, exp.Intersect, exp.Except)


@dataclass(slots=True)
class LabelsRead:
    """The reader of one statement. `tables` are the tables of releases by the identities of their nodes."""

    written: str
    tables: Mapping[int, ReleaseTable]
    look: Look
    edits: list[Edit] = field(default_factory=list)
    misuses: list[Misuse] = field(default_factory=list)
    known: dict[int, LabelMeaning | None] = field(default_factory=dict)
    cuts: Cuts = field(default_factory=Cuts)
    misses: Misses = field(default_factory=Misses)

    def read(self, tree: exp.Expr) -> Relation:
        """Finds the edits that complete calls, and the misuses; the columns of the statement."""
        output = self._query(tree, {}, None)
        for misuse in (*self.cuts.misuses(output, self.look, self.written), *self.misses.misuses(output, self.look)):
            self._misused(misuse)
        return output

    # --- queries ----------------------------------------------------------------------------------------------------

    def _query(self, node: exp.Expr, common: Mapping[str, Relation], parent: NamedColumns | None) -> Relation:
        common = self._common(node, common, parent)
        if isinstance(node, (exp.Subquery, exp.Paren)):
            relation = self._query(node.this, common, parent)
            self._order(node, NamedColumns(parent, [("", relation)]), relation, common)
            return relation
        if isinstance(node, _SETS):
            left, right = (self._query(side, common, parent) for side in (node.this, node.expression))
            relation = Relation(tuple((name, either(of, at(right, i))) for i, (name, of) in enumerate(left.columns)))
            self._order(node, NamedColumns(parent, [("", relation)]), relation, common)
            return relation
        if isinstance(node, exp.Select):
            return self._select(node, common, parent)
        if isinstance(node, exp.Table):
            return self._source(node, common, NamedColumns(parent))[1]
        if isinstance(node, exp.Pivot):
            return self._pivoted(node, self._source(node.this, common, NamedColumns(parent))[1], common, parent)
        for child in node.iter_expressions():
            self._meaning(child, NamedColumns(parent), common)
        return Relation()

    def _common(
        self, node: exp.Expr, common: Mapping[str, Relation], parent: NamedColumns | None
    ) -> Mapping[str, Relation]:
        with_ = node.args.get("with_")
        if not isinstance(with_, exp.With):
            return common
        for one in with_.expressions:
            name = folded(one.alias)
            inside = {**common, name: Relation()} if with_.recursive else common
            relation = self._query(one.this, inside, parent)
            common = {**common, name: relation.renamed(column_names(one))}
        return common

    def _select(self, node: exp.Select, common: Mapping[str, Relation], parent: NamedColumns | None) -> Relation:
        scope = NamedColumns(parent)
        from_ = node.args.get("from_")
        for place in [*([from_] if from_ else []), *(node.args.get("joins") or [])]:
            self._from(place, common, scope)
        scope.grouped = self._grouped(node, common, scope)
        scope.aggregates = bool(node.args.get("group")) or any(map(aggregates, node.expressions))
        columns: list[tuple[str, LabelMeaning | None]] = []
        for item in node.expressions:
            columns += self._item(item, common, scope)
        scope.aliases = {folded(name): meaning for name, meaning in columns}
        for part in ("where", "having", "qualify"):
            if node.args.get(part):
                self._meaning(node.args[part].this, scope, common)
        relation = Relation(tuple(columns))
        self._order(node, scope, relation, common)
        return relation

    def _pivoted(
        self, node: exp.Pivot, source: Relation, common: Mapping[str, Relation], parent: NamedColumns | None
    ) -> Relation:
        """The columns of PIVOT and UNPIVOT that are labels or beside them; each new one of PIVOT is of one group."""
        scope = NamedColumns(parent, [("", source)], aggregates=True)
        if node.args.get("unpivot"):
            columns = [column for part in node.find_all(exp.Column) if (column := source.find(folded(part.name))[1])]
            names = [*node.expressions, *(into.expressions[0] for into in node.find_all(exp.UnpivotColumns))]
            values = {name.name for name in names if isinstance(name, exp.Expr)}
            mixed = derived(next((of for of in columns if of.part is Part.LABEL), None))
            return Relation((*source.columns, *((name, mixed) for name in values if not source.find(folded(name))[0])))
        group = node.args.get("group")
        items = [
            item
            for item in (*node.expressions, *(node.args.get("fields") or ()))
            if isinstance(item, (exp.In, exp.Column))
        ]
        grouped = [*(group.expressions if isinstance(group, exp.Group) else ())]
        grouped += [item.this if isinstance(item, exp.In) else item for item in items]
        scope.grouped = self._whole([self._meaning(item, scope, common) for item in grouped])
        for part in node.args.get("using") or node.expressions:
            if part not in items:
                self._meaning(part, scope, common)
        kept = {folded(item.name) for item in group.expressions} if isinstance(group, exp.Group) else None
        used = {
            folded(column.name)
            for part in [*node.expressions, *(node.args.get("using") or [])]
            for column in part.find_all(exp.Column)
        }
        return Relation(
            tuple(
                (name, of)
                for name, of in source.columns
                if (folded(name) in kept if kept is not None else folded(name) not in used)
            )
        )

    def _item(
        self, item: exp.Expr, common: Mapping[str, Relation], scope: NamedColumns
    ) -> list[tuple[str, LabelMeaning | None]]:
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
        if isinstance(item, exp.Anonymous) and folded(item.name) == COLUMNS:
            return named_by(item, scope)
        return [(item.alias_or_name, self._meaning(item, scope, common))]

    def _from(self, node: exp.Expr, common: Mapping[str, Relation], scope: NamedColumns) -> None:
        """Adds the sources of FROM or of a join; those on the right see those on the left."""
        joined = node.this
        if isinstance(joined, exp.Expr):
            scope.sources.append(self._source(joined, common, scope))
            for join in joined.args.get("joins") or []:
                self._from(join, common, scope)
        if node.args.get("on"):
            self._meaning(node.args["on"], scope, common)
        self._whole(
            [meaning for name in node.args.get("using") or [] if (meaning := scope.resolve(folded(name.name), None)[0])]
        )

    def _source(self, node: exp.Expr, common: Mapping[str, Relation], scope: NamedColumns) -> tuple[str, Relation]:
        alias = folded(node.alias_or_name)
        if isinstance(node, exp.Table):
            table = self.tables.get(id(node))
            if isinstance(node.this, exp.Anonymous):
                self._meaning(node.this, scope, common)
                alias = folded(node.alias or node.this.name)
                relation = ROWS_OF_PARTS.get(folded(node.this.name), Relation())
            elif table is not None:
                relation = of_table(table, self.look.columns(table))
            else:
                relation = common.get(folded(node.name), Relation())
            for pivot in node.args.get("pivots") or []:
                relation = self._pivoted(pivot, relation, common, scope.parent)
        elif isinstance(node, exp.Unnest):
            for part in node.expressions:
                self._meaning(part, scope, common)
            relation = Relation(tuple((name, None) for name in column_names(node)))
        elif isinstance(node, exp.Lateral):
            return (
                self._source(node.this, common, scope)
                if isinstance(node.this, exp.Unnest)
                else (alias, self._query(node.this, common, scope).renamed(column_names(node)).within(id(node)))
            )
        elif isinstance(node, exp.Values):
            relation = Relation(tuple((name, None) for name in column_names(node)))
        else:
            relation = self._query(node, common, scope)
        return alias, relation.renamed(column_names(node)).within(id(node))

    def _grouped(
        self, node: exp.Select, common: Mapping[str, Relation], scope: NamedColumns
    ) -> frozenset[tuple[object, ...]]:
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
        labels, cut = list[LabelMeaning | None](), list[LabelMeaning | None]()
        for item in items:
            of = ordinal(item, node.expressions)
            if isinstance(of, exp.Column) and not of.table and not scope.resolve(folded(of.name), None)[0]:
                of = named.get(folded(of.name), of)
            labels.append(self._meaning(of, scope, common))
            if not isinstance(of, exp.Column):
                # A CASE is judged as a whole.
                apart = [column for column in of.find_all(exp.Column) if self.cuts.case_around(column) is None]
                cut += [self._meaning(column, scope, common) for column in apart]
        whole = self._whole(labels)
        bounds = [meaning for meaning in cut if meaning is not None and meaning.is_bound]
        for meaning in bounds:
            # With both bounds, labels that lie on both sides can have a group of their own.
            if meaning.key not in whole and len({other.part for other in bounds if other.key == meaning.key}) == 1:
                self._misused(misuses.grouped_by_bound(meaning))
        return whole

    def _whole(self, found: list[LabelMeaning | None]) -> frozenset[tuple[object, ...]]:
        keys: dict[tuple[object, ...], set[Part]] = {}
        for meaning in found:
            if meaning is not None and meaning.exact:
                keys.setdefault(meaning.key, set()).add(meaning.part)
        whole = {key for key, of in keys.items() if of & {Part.LABEL, Part.RANK} or of >= {Part.LOW, Part.HIGH}}
        for meaning in found:
            if meaning is not None and meaning.is_bound and meaning.key not in whole:
                self._misused(misuses.grouped_by_bound(meaning))
        return frozenset(whole)

    def _order(self, node: exp.Expr, scope: NamedColumns, output: Relation, common: Mapping[str, Relation]) -> None:
        order = node.args.get("order")
        if isinstance(order, exp.Order):
            self._ordered(order, scope, common, output, bool(node.args.get("distinct")) or isinstance(node, _SETS))

    def _ordered(
        self,
        order: exp.Order,
        scope: NamedColumns,
        common: Mapping[str, Relation],
        output: Relation | None = None,
        fixed: bool = False,
    ) -> None:
        """Looks for labels that are sorted; the output's columns come first, and are all there is if it is fixed."""
        ranked: set[tuple[object, ...]] = set()
        for item in order.expressions:
            by = item.this if isinstance(item, exp.Ordered) else item
            meanings: list[LabelMeaning | None] = []
            if output is not None and isinstance(by, exp.Var) and by.name.upper() == "ALL":
                meanings = [meaning for _, meaning in output.columns]
            elif output is not None and isinstance(by, exp.Literal) and not by.is_string and by.name.isdecimal():
                meanings = [at(output, int(by.name) - 1)]
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

    def _sorted_by(self, meaning: LabelMeaning, by: exp.Expr, scope: NamedColumns, fixed: bool) -> Misuse:
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
        place = place_in_order(by, self.written) if meaning.exact else None
        return misuses.sorted_by(meaning, rank, ((*place, rank),) if place else ())

    # --- expressions ------------------------------------------------------------------------------------------------

    def _meaning(self, node: exp.Expr, scope: NamedColumns, common: Mapping[str, Relation]) -> LabelMeaning | None:
        """The meaning of an expression, all of whose parts are looked at once."""
        if id(node) not in self.known:
            self.known[id(node)] = self._looked_at(node, scope, common)
        return self.known[id(node)]

    def _looked_at(self, node: exp.Expr, scope: NamedColumns, common: Mapping[str, Relation]) -> LabelMeaning | None:
        see: Callable[[exp.Expr], LabelMeaning | None] = lambda part: self._meaning(part, scope, common)  # noqa: E731
        if isinstance(node, exp.Column):
            return scope.resolve(folded(node.name), folded(node.table) if node.table else None)[0]
        if isinstance(node, (exp.Paren, exp.Alias, exp.IgnoreNulls, exp.RespectNulls)):
            return see(node.this)
        if isinstance(node, (exp.Query, exp.Exists)):
            query = node.this if isinstance(node, exp.Exists) else node
            relation = self._query(query, common, scope)
            return derived(at(relation, 0)) if not isinstance(node, exp.Exists) else None
        if isinstance(node, exp.Anonymous):
            return self._call(node, scope, common)
        if isinstance(node, exp.Window):
            return self._window(node, scope, common)
        if isinstance(node, exp.Order):
            inner = see(node.this) if node.this is not None else None
            self._ordered(node, scope, common)
            return inner
        return self._operation(node, [see(part) for part in node.iter_expressions()], scope, see)

    def _operation(
        self,
        node: exp.Expr,
        meanings: list[LabelMeaning | None],
        scope: NamedColumns,
        see: Callable[[exp.Expr], LabelMeaning | None],
    ) -> LabelMeaning | None:
        """The meaning of what an operator makes of the meanings of its parts."""
        parts = list(node.iter_expressions())
        if type(node) in COMPARISONS:
            self._compared(node, parts, meanings, scope)
        elif isinstance(node, EQUALITIES):
            self.cuts.note(node, parts, meanings, "=")
            self.misses.note(node, meanings)
            self.misses.note_parts(node, see)
        elif isinstance(node, PATTERNS):
            self.misses.note(node, meanings)
            self.misses.note_parts(node, see)
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
            self.misses.note(node, meanings[:1])
            if isinstance(node, exp.Case):
                self._case(node, scope, see)
            return _of_results(node, parts, meanings)
        elif isinstance(node, (exp.Filter, exp.Distinct)):
            return meanings[0]
        return None

    def _call(self, node: exp.Anonymous, scope: NamedColumns, common: Mapping[str, Relation]) -> LabelMeaning | None:
        name = folded(node.name)
        if name == COLUMNS:
            return stood_for(node, scope)
        meanings = [self._meaning(argument, scope, common) for argument in node.expressions]
        if name in FUNCTIONS_OF_LABELS:
            if edit := completed(node, meanings, scope):
                self.edits.append(edit)
            return None
        first = next((meaning for meaning in meanings if meaning is not None), None)
        if first is None:
            return None
        self.misses.note(node, meanings)
        if name == "count" and isinstance(node.expressions[0], exp.Distinct) and self._stands_for_several(first):
            self._misused(misuses.counted_apart(first))
        if name in BY_SECOND:
            by = meanings[1] if len(meanings) > 1 else None
            wrong = by is not None and by.part is Part.LABEL and self._ordered_values(by)
            if by is not None and (wrong or (by.is_bound and by.key not in scope.grouped)):
                self._misused(misuses.extreme(by, name, by.label, ()))
            return derived(meanings[0])
        if any(meaning is not None and self._misread(node, name, meaning, scope) for meaning in meanings):
            return None
        return first.derived() if name in SAME or (first.is_bound and name not in HARMLESS) else None

    def _misread(self, node: exp.Anonymous, name: str, meaning: LabelMeaning, scope: NamedColumns) -> bool:
        """Whether a function takes an argument for what it is not, which is noted."""
        if meaning.part is Part.RANK and name not in AVERAGES:
            return False
        if name in CORRELATIONS and meaning.part is not Part.RANK:
            self._misused(misuses.related(meaning, name))
        elif name in EXTREMES or name in AVERAGES:
            in_row = name in IN_ROWS
            wrong = self._ordered_values(meaning) if meaning.part is Part.LABEL else not in_row
            if not wrong or not (in_row or meaning.key not in scope.grouped):
                return False
            self._misused(self._extreme(node, name, meaning, scope))
        elif meaning.part is Part.LABEL and meaning.of_time and name in TRUNCATING:
            self._misused(misuses.truncated(meaning, name, unit_of(node, name)))
        elif meaning.part is Part.LABEL and meaning.bounds and name not in SAME | HARMLESS:
            self._misused(misuses.as_text(meaning, name))
        elif meaning.is_bound and name in SHARES and meaning.key not in scope.grouped:
            self._misused(misuses.grouped_by_bound(meaning))
        elif meaning.is_bound and name in TRUNCATING:
            self._each_bound([meaning], name, unit_of(node, name) if meaning.of_time else name)
        else:
            return False
        return True

    def _extreme(self, node: exp.Anonymous, name: str, meaning: LabelMeaning, scope: NamedColumns) -> Misuse:
        return misuses.extreme(meaning, name, name_of(meaning.label), answered(node, name, meaning, self.written))

    def _window(self, node: exp.Window, scope: NamedColumns, common: Mapping[str, Relation]) -> LabelMeaning | None:
        meaning = self._meaning(node.this, scope, common)
        for part in node.args.get("partition_by") or []:
            self._meaning(part, scope, common)
        order = node.args.get("order")
        if isinstance(order, exp.Order):
            self._ordered(order, scope, common)
            call = node.this
            by = [self._meaning(one.this, scope, common) for one in order.expressions if isinstance(one, exp.Ordered)]
            labels = next((of for of in by if of is not None and of.key not in scope.grouped), None)
            if isinstance(call, exp.Anonymous) and folded(call.name) in DIVIDING and labels is not None:
                self._misused(misuses.divided(labels, folded(call.name)))
        return meaning

    def _compared(
        self, node: exp.Expr, parts: list[exp.Expr], meanings: list[LabelMeaning | None], scope: NamedColumns
    ) -> None:
        operator = COMPARISONS[type(node)]
        self.cuts.note(node, parts, meanings, operator)
        for i, (part, meaning) in enumerate(zip(parts, meanings, strict=True)):
            if meaning is None or meaning.part is not Part.LABEL or not self._ordered_values(meaning):
                continue
            relation = scope.resolve(folded(part.name), None)[1] if isinstance(part, exp.Column) else Relation()
            low, high = (relation.beside(meaning, of) for of in (Part.LOW, Part.HIGH))
            bounds = (name_of(low), name_of(high)) if low and high else None
            values = [
                value_of(other, meaning) for other in parts if other is not part and isinstance(other, exp.Literal)
            ]
            read_value = ", ".join(value or "…" for value in values)
            self._misused(
                misuses.compared(meaning, SWAPPED.get(operator, operator) if i else operator, bounds, read_value)
            )
            return

    def _case(self, node: exp.Case, scope: NamedColumns, see: Callable[[exp.Expr], LabelMeaning | None]) -> None:
        """Notes a CASE on bounds, if it can be read."""
        if node.this is not None:
            labels = [branch.this for branch in node.args["ifs"]]
            self.cuts.note(node, [node.this, *labels], [see(node.this), *(None for _ in labels)], "=")
            return
        columns = [column for branch in node.args["ifs"] for column in branch.this.find_all(exp.Column)]
        meanings = [see(column) for column in columns]
        one = next(iter(meanings), None)
        if one is None or one.table is None or any(of is None or not of.exact or of.key != one.key for of in meanings):
            return
        first = columns[0]
        relation = scope.resolve(folded(first.name), folded(first.table) if first.table else None)[1]
        low, high = (relation.beside(one, part) for part in (Part.LOW, Part.HIGH))
        prefix = f"{name_of(first.table)}." if first.table else ""
        type_ = dict(self.look.columns(one.table)).get(f"{one.label}_from", "")
        if low and high and (case := read_case(node, see, type_, (prefix + name_of(low), prefix + name_of(high)))):
            self.cuts.cases[id(node)] = case

    def _computed(self, node: exp.Expr, meanings: list[LabelMeaning | None]) -> LabelMeaning | None:
        of_labels = [meaning for meaning in meanings if meaning is not None]
        self._each(of_labels, misuses.as_text, node.key.upper())
        bounds = [meaning for meaning in of_labels if meaning.is_bound]
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

    def _cast(self, node: exp.Expr, meaning: LabelMeaning | None) -> LabelMeaning | None:
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

    # --- misuses ----------------------------------------------------------------------------------------------------

    def _ordered_values(self, meaning: LabelMeaning) -> bool:
        """Whether the labels stand for values with an order that their texts do not have."""
        if meaning.bounds:
            return True
        return meaning.table is not None and self.look.is_disordered(meaning.table, meaning.label)

    def _stands_for_several(self, meaning: LabelMeaning) -> bool:
        """Whether it is a column of labels, some of which stand for more than one value."""
        if meaning.part is not Part.LABEL or not meaning.exact or meaning.table is None:
            return False
        if meaning.bounds:
            return self.look.straddling(meaning.table, meaning.label, ">=", None) > 0
        return self.look.is_general(meaning.table, meaning.label)

    def _each(
        self, meanings: list[LabelMeaning | None] | list[LabelMeaning], tell: Callable[..., Misuse], what: str
    ) -> None:
        for meaning in meanings:
            if meaning is not None and meaning.part is Part.LABEL and meaning.bounds:
                self._misused(tell(meaning, what))

    def _each_bound(self, meanings: list[LabelMeaning | None] | list[LabelMeaning], function: str, unit: str) -> None:
        for meaning in meanings:
            if meaning is not None and meaning.is_bound:
                is_period = unit in PERIODS
                of = unit if meaning.of_time == is_period and (is_period or unit.isdecimal()) else ""
                self._misused(misuses.truncated(meaning, function, of))

    def _misused(self, misuse: Misuse) -> None:
        if misuse not in self.misuses:
            self.misuses.append(misuse)


def _of_results(node: exp.Expr, parts: list[exp.Expr], meanings: list[LabelMeaning | None]) -> LabelMeaning | None:
    """The meaning of the parts of which one is the result: a label's rather than one of its bounds."""
    conditions = () if isinstance(node, (exp.Coalesce, exp.Tuple)) else (node.this,)
    results = [of for part, of in zip(parts, meanings, strict=True) if of is not None and part not in conditions]
    return derived(next(iter(sorted(results, key=lambda of: of.part is not Part.LABEL)), None))
