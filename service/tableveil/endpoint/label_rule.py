"""The one rule of labels: they are compared, grouped and counted, and nothing else.

An expression of labels is followed outwards to what uses it. Whatever is no allowed use of it is a misuse. Columns
beside labels have their rule, too: a bound is no value, a rank only sorts, an answer of a function of labels has parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint import label_words as words
from tableveil.endpoint.completed_calls import completed
from tableveil.endpoint.cyclic_parts import too_wide
from tableveil.endpoint.grammar import ANSWERS, COLUMNS
from tableveil.endpoint.label_sources import LabelMeaning, LabelSources, is_call, items, results
from tableveil.endpoint.label_words import Edit, Misuse
from tableveil.endpoint.labels import ANY, Look, Part, ReleaseTable, UnknownTextError
from tableveil.endpoint.written_columns import literal_text

_COMPARISONS: dict[type[exp.Expr], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_SWAPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_EQUALITIES = (exp.EQ, exp.NEQ, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Case)
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike, exp.SimilarTo)
_GROUPS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_SHARES = frozenset({"histogram", "mode"})
_COUNTS = frozenset({"count", "grouping", "grouping_id"})
_EXTREMES = frozenset({"min", "max"})
_BY_SECOND = frozenset({"arg_max", "arg_min", "max_by", "min_by"})
_DIVIDING = frozenset({"ntile", "percent_rank", "cume_dist"})
_AVERAGES = frozenset(
    ["avg", "mean", "favg", "sum", "fsum", "sumkahan", "median", "quantile", "quantile_cont", "quantile_disc"]
)
_ANSWERED_BY = {
    **{name: f"tv_{name}" for name in ("min", "max", "median")},
    **dict.fromkeys(("avg", "mean", "favg"), "tv_mean"),
    **dict.fromkeys(("quantile", "quantile_cont", "quantile_disc"), "tv_quantile"),
}
"""The functions of labels that answer in place of an aggregate."""

_DECIDES = frozenset({"coalesce", "ifnull"})
_MOST_VALUES = 10_000


@dataclass(slots=True)
class LabelRule:
    """The reader of one statement. `tables` are the tables of releases by the identities of their nodes.

    `estimated` names the table that has values in place of labels, beside each table that has one.
    """

    tables: Mapping[int, ReleaseTable]
    look: Look
    estimated: Mapping[ReleaseTable, str]
    edits: list[Edit] = field(default_factory=list)
    misuses: list[Misuse] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    unordered: tuple[str, ...] = ()

    def read(self, tree: exp.Expr) -> None:
        """Finds the edits that complete calls, the misuses, the hints, and the columns that have no order."""
        sources = LabelSources.of(tree, self.tables, self.look)
        for call in (sources.tree if sources is not None else tree).find_all(exp.Anonymous):
            if is_call(call, ANSWERS) and (edit := completed(call, sources)):
                self.edits.append(edit)
        if sources is None:
            return
        judged = _Judged(self, sources)
        for node in sources.tree.walk():
            judged.judge(node)
            if (wide := too_wide(node, sources.estimates, self.look)) is not None:
                self.misuses.append(words.cyclic_of_wide(node.sql(dialect="duckdb"), *wide))
        names = sources.tree.named_selects if isinstance(sources.tree, exp.Query) else []
        of = [_first(sources, sources.tree, place) for place in range(len(names))]
        self.unordered = tuple(
            name for name, one in zip(names, of, strict=True) if one is not None and one.part is not Part.RANK
        )


def _first(sources: LabelSources, query: exp.Expr, place: int) -> LabelMeaning | None:
    return next((of for item in items(query, place) if (of := sources.meaning(item)) is not None), None)


@dataclass(slots=True)
class _Judged:
    rule: LabelRule
    sources: LabelSources

    def judge(self, node: exp.Expr) -> None:
        """Judges the use of an expression of labels; of a group, and of set operations, the use of all their parts."""
        if isinstance(node, exp.Group):
            self._grouped(node)
        elif isinstance(node, (exp.Intersect, exp.Except)):
            for place in range(len(node.named_selects)):
                sides = [*items(node.this, place), *items(node.expression, place)]
                self._equal(node, sides, [sides[len(list(items(node.this, place))) :]])
        elif isinstance(node, exp.Ordered) and isinstance(node.this, (exp.Var, exp.Column)) and self._sorts_all(node):
            select = node.find_ancestor(exp.Query)
            for item in select.selects if isinstance(select, exp.Query) else []:
                if (of := self.sources.meaning(item)) is not None:
                    self._sorted(item, node, of)
        elif isinstance(node, exp.Join) and str(node.args.get("method")).upper() == "NATURAL":
            self._misused(
                Misuse("NATURAL JOIN of labels", "a join that names its columns", "Write JOIN … USING (columns).")
            )
        is_value = isinstance(node, exp.Subquery) and not isinstance(node.parent, (exp.From, exp.Join, exp.Lateral))
        if not (isinstance(node, exp.Column) or is_value or is_call(node, {COLUMNS} | ANSWERS)):
            return
        if isinstance(node, exp.Column) and not node.table and self._is_row(node):
            what = f"{node.name}, a row with labels as one value"
            self._misused(Misuse(what, "columns by their names", "Select its columns."))
        elif (meaning := self.sources.meaning(node)) is not None and isinstance(node.parent, exp.Expr):
            self._used(node, meaning)

    def _sorts_all(self, ordered: exp.Ordered) -> bool:
        return ordered.this.name.upper() == "ALL" and self.sources.meaning(ordered.this) is None

    def _is_row(self, column: exp.Column) -> bool:
        scope = self.sources.scope_of(column)
        return self.sources.found(column) is None and scope is not None and column.name in scope.sources

    def _used(self, node: exp.Expr, meaning: LabelMeaning) -> None:
        """Follows an expression outwards to what uses it, and judges that."""
        child, parent = node, node.parent
        in_tuple = False
        while parent is not None and not (is_call(parent, _EXTREMES) and not isinstance(child, exp.Order)):
            if is_call(parent, {"nullif"}) and child is parent.expressions[0]:
                self._compared(parent, child, meaning)
            elif is_call(parent, _BY_SECOND) and child is not parent.expressions[0]:
                break
            is_part = isinstance(parent, (exp.Tuple, *_GROUPS))
            if not is_part and not any(part is child for part in results(parent)):
                break
            if meaning.is_bound and is_call(parent, _SHARES):
                break
            in_tuple = in_tuple or isinstance(parent, exp.Tuple)
            child, parent = parent, parent.parent
        if parent is None or isinstance(parent, (exp.Group, exp.Distinct)):
            return
        if isinstance(parent, exp.Window) and child.arg_key == "partition_by":
            self._apart([meaning])
        elif in_tuple:
            self._value(meaning, "a tuple")
        elif not isinstance(parent, (exp.Query, exp.Is, exp.Exists)) and not (
            is_call(parent, ANSWERS) and meaning.part is not Part.ANSWER
        ):
            self._decided(child, parent, meaning)

    def _decided(self, child: exp.Expr, parent: exp.Expr, meaning: LabelMeaning) -> None:
        part, name = meaning.part, folded(parent.name) if isinstance(parent, exp.Anonymous) else parent.key.upper()
        if part is Part.ANSWER:
            if not isinstance(parent, exp.Dot):
                self._value(meaning, "ORDER BY" if isinstance(parent, exp.Ordered) else name)
        elif name in _COUNTS:
            distinct = child.unnest() if isinstance(child, exp.Distinct) else None
            if distinct is not None and part is Part.LABEL and not isinstance(distinct.expressions[0], exp.Tuple):
                self._misused(words.counted_apart(meaning.of))
        elif isinstance(parent, exp.Ordered):
            self._sorted(child, parent, meaning)
        elif name in _EXTREMES | _BY_SECOND | _AVERAGES:
            ordered = part is Part.RANK or (part is Part.LABEL and self.rule.look.labels(meaning.of).is_ordered)
            if name in _AVERAGES or not ordered:
                self._misused(words.extreme(meaning, name, _ANSWERED_BY.get(name, "tv_mean"), self._also(meaning)))
        elif part is Part.RANK:
            self._rank(parent, meaning)
        elif isinstance(parent, _EQUALITIES) and part is Part.LABEL:
            self._compared(parent, child, meaning)
        elif isinstance(parent, (*_COMPARISONS, exp.Between, *_EQUALITIES)):
            self._limited(parent, child, meaning)
        elif isinstance(parent, _PATTERNS) and part is Part.LABEL and child is parent.this:
            self._alike(parent, child, meaning)
        else:
            self._value(meaning, name)

    # --- comparisons ------------------------------------------------------------------------------------------------

    def _compared(self, node: exp.Expr, child: exp.Expr, meaning: LabelMeaning) -> None:
        """Judges an equality of labels: with which labels, or texts, and with how many of them at once."""
        if isinstance(node, exp.Case):
            others = [[branch.this] for branch in node.args["ifs"]] if child is node.this else []
        elif isinstance(node, exp.In):
            query = node.args.get("query") or node.args.get("unnest") or node.args.get("field")
            others = [[query] if query is not None else list(node.expressions)]
            others = others if child is node.this else [[node.this]]
        else:
            sides = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.expression]
            others = [[side] for side in sides if side is not child]
        self._equal(node, [child], others, meaning)

    def _equal(
        self,
        node: exp.Expr,
        labelled: Sequence[exp.Expr],
        others: Sequence[Sequence[exp.Expr]],
        meaning: LabelMeaning | None = None,
    ) -> None:
        meaning = meaning or next((of for one in labelled if (of := self.sources.meaning(one)) is not None), None)
        if meaning is None or meaning.part is not Part.LABEL:
            return
        for together in others:
            try:
                texts: list[str] | None = []
                for other in together:
                    of = self.sources.meaning(other)
                    if of is not None:
                        self._apart([meaning, of])
                    elif texts is not None:
                        found = self._texts(other)
                        texts = None if found is None else [*texts, *found]
            except UnknownTextError:
                self._misused(words.unknown(meaning.of))
                continue
            if texts:
                self._asked(meaning, list(dict.fromkeys(texts)))

    def _texts(self, node: exp.Expr) -> Sequence[str] | None:
        """The texts that an expression may be; None if parameters are not bound yet."""
        inside = node.find(exp.Column, exp.Query, exp.Star)
        if isinstance(node, (exp.Alias, exp.Any)) or (isinstance(node, (exp.Paren, exp.Subquery, exp.Cast)) and inside):
            return self._texts(node.this)
        if isinstance(node, exp.Column):
            found = self.sources.found(node)
            table = self.sources.released(found[1]) if found is not None and isinstance(found[1], exp.Table) else None
            if table is not None:
                return self.rule.look.values(table, node.name, _MOST_VALUES)
            parts = list(found[1]) if found is not None and not isinstance(found[1], exp.Table) else []
        elif isinstance(node, exp.Query):
            parts = list(items(node, 0))
        elif inside is None:
            return self.rule.look.texts(node.sql(dialect="duckdb"), _parameters(node))
        else:
            parts = list(results(node))
        if not parts:
            raise UnknownTextError
        given = [self._texts(part) for part in parts]
        return None if None in given else [text for texts in given for text in texts or ()]

    def _asked(self, meaning: LabelMeaning, texts: Sequence[str]) -> None:
        """Judges a comparison of labels with texts, all of which are asked for."""
        column, labels = meaning.of, self.rule.look.labels(meaning.of)
        also = self.rule.estimated.get(column.table, "")
        for text in texts:
            if text not in labels.by_text and text != ANY:
                holding = labels.holding(text)
                if holding is None or holding:
                    self._misused(words.unlisted(column, text, holding or list(labels.by_text), bool(holding), also))
                    return
        if left_out := labels.left_out(texts):
            known = [labels.by_text[text].rank for text in texts if text in labels.by_text]
            self._misused(words.asked(column, texts, left_out, known[0] if len(known) == 1 else None, also))
        elif labels.is_untold and len(texts) > 1:
            self._apart([meaning])

    def _alike(self, node: exp.Expr, child: exp.Expr, meaning: LabelMeaning) -> None:
        """Judges a pattern by the labels that meet it."""
        pattern, labels = node.copy(), self.rule.look.labels(meaning.of)
        pattern.set("this", exp.column("label"))
        rest = [part for part in node.iter_expressions() if part is not child]
        if not isinstance(child, exp.Column) or any(part.find(exp.Column, exp.Query) for part in rest):
            self._misused(words.unknown(meaning.of))
            return
        condition = pattern.sql(dialect="duckdb")
        met = self.rule.look.matching(condition, list(labels.by_text), _parameters(node))
        if met:
            self._asked(meaning, met)
        elif met is not None and not labels.are_values:
            self._value(meaning, node.key.upper())

    def _limited(self, node: exp.Expr, child: exp.Expr, meaning: LabelMeaning) -> None:
        """Judges a comparison with a value: a statement may say what it wants of labels on both sides."""
        column, around = meaning.of, node.parent
        while isinstance(around, exp.Paren):
            around = around.parent
        if meaning.is_bound and (isinstance(around, exp.Is) or is_call(around, _DECIDES)):
            return
        operator = _COMPARISONS.get(type(node), "BETWEEN" if isinstance(node, exp.Between) else "=")
        parts = [part for part in node.iter_expressions() if part is not child]
        if operator in _SWAPPED and child is not node.this:
            operator = _SWAPPED[operator]
        value = literal_text(parts[0]) if len(parts) == 1 else None
        on_both_sides = 0
        if meaning.is_bound and operator in _SWAPPED and value is not None and isinstance(child.unnest(), exp.Column):
            on_both_sides = self.rule.look.labels(column).on_both_sides(operator, value)
            if not on_both_sides:
                return
        if any(self.sources.meaning(part) is not None for part in parts):
            self._value(meaning, "a comparison with other labels")
        else:
            self._misused(words.compared(meaning, operator, value, on_both_sides, self._also(meaning)))

    # --- groups, orders, and all else --------------------------------------------------------------------------------

    def _grouped(self, group: exp.Group) -> None:
        parts: list[exp.Expr] = [part for part in group.expressions if not isinstance(part, (exp.Tuple, *_GROUPS))]
        sets = [part for part in group.iter_expressions() if isinstance(part, (exp.Tuple, *_GROUPS))]
        parts += [column for part in sets for column in part.find_all(exp.Column)]
        items_of = group.parent.selects if isinstance(group.parent, exp.Select) else []
        parts = [
            items_of[int(part.name) - 1] if isinstance(part, exp.Var) and part.name in _places(items_of) else part
            for part in parts
        ]
        if group.args.get("all"):
            calls = ANSWERS | _COUNTS | _EXTREMES | _AVERAGES
            parts += [item for item in items_of if not any(is_call(of, calls) for of in item.walk())]
        self._apart([of for part in parts if (of := self.sources.meaning(part)) is not None])

    def _apart(self, meanings: Sequence[LabelMeaning]) -> None:
        """Looks at labels by which records are grouped or joined: they may overlap, and a bound alone is no group."""
        whole = {(of.of, of.place) for of in meanings if of.part in (Part.LABEL, Part.RANK)}
        for of in meanings:
            ends = {other.part for other in meanings if other.is_bound and (other.of, other.place) == (of.of, of.place)}
            if of.is_bound and (of.of, of.place) not in whole and len(ends) < 2:
                self._misused(words.grouped_by_bound(of))
            elif of.part is Part.LABEL and not self.rule.look.labels(of.of).are_apart:
                hint = words.overlapping(of.of, self._also(of))
                self.rule.hints += [hint] if hint not in self.rule.hints else []

    def _sorted(self, child: exp.Expr, ordered: exp.Ordered, meaning: LabelMeaning) -> None:
        call = ordered.find_ancestor(exp.Window, exp.WithinGroup)
        if isinstance(call, exp.WithinGroup):
            self._misused(words.extreme(meaning, "quantile", "tv_quantile", self._also(meaning)))
        elif isinstance(call, exp.Window) and is_call(call.this, _DIVIDING):
            self._value(meaning, folded(call.this.name))
        elif meaning.part is Part.LABEL and not self.rule.look.labels(meaning.of).is_ordered:
            order, column = ordered.parent, meaning.of
            before = order.expressions[: ordered.index or 0] if isinstance(order, exp.Order) else []
            ranks = [self.sources.meaning(one.this) for one in before]
            if any(of is not None and of.part is Part.RANK and of.of == column for of in ranks):
                return
            select = ordered.find_ancestor(exp.Query, exp.Window)
            grouped = isinstance(select, exp.Select) and bool(select.args.get("group"))
            self._misused(words.sorted_as_text(column, grouped))

    def _rank(self, parent: exp.Expr, meaning: LabelMeaning) -> None:
        others = [self.sources.meaning(part) for part in parent.iter_expressions()]
        if any(of is not None and of.of.table != meaning.of.table for of in others):
            found = f"the rank of labels in {meaning.of.name}, compared with that of another table"
            self._misused(Misuse(found, "labels, since each table has ranks of its own", "Compare the labels."))

    def _value(self, meaning: LabelMeaning, how: str) -> None:
        self._misused(words.used(meaning, how, self._also(meaning)))

    def _also(self, meaning: LabelMeaning) -> str:
        return self.rule.estimated.get(meaning.of.table, "")

    def _misused(self, misuse: Misuse) -> None:
        if misuse not in self.rule.misuses:
            self.rule.misuses.append(misuse)


def _places(of: Sequence[exp.Expr]) -> Sequence[str]:
    return [str(place) for place in range(1, len(of) + 1)]


def _parameters(node: exp.Expr) -> Sequence[str]:
    return [one.name for one in node.find_all(exp.Placeholder)]
