"""The one rule of labels: they are compared, grouped and counted, and nothing else.

An expression of labels is followed outwards to what uses it. Whatever is no allowed use of it is a misuse. Columns
beside labels have their rule, too: a bound is no value, a rank only sorts, an answer of a function of labels has parts.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, compress
from typing import cast

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tableveil.answers import MACROS
from tableveil.backend import folded
from tableveil.endpoint import grammar
from tableveil.endpoint import label_words as words
from tableveil.endpoint.grammar import AGGREGATES, ANSWERS, COLUMNS, Edit, end_of, is_call, quoted, refused
from tableveil.endpoint.label_sources import OF_MANY, LabelMeaning, LabelSources, computes, items, results, too_wide
from tableveil.endpoint.label_words import misread
from tableveil.endpoint.labels import ANY, Part, UnknownTextError
from tableveil.errors import InvalidError, shortened

_COMPARISONS: dict[type[exp.Expr], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_SWAPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_EQUALITIES = (exp.EQ, exp.NEQ, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Case)
_LIMITS = (*_COMPARISONS, *_EQUALITIES, exp.Between)
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike, exp.SimilarTo)
_GROUPS = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
_SHARES = frozenset({"histogram", "mode"})
_COUNTS = frozenset({"count", "grouping", "grouping_id"})
_EXTREMES = frozenset({"min", "max"})
_BY_SECOND = frozenset({"arg_max", "arg_min", "max_by", "min_by"})
_DIVIDING = frozenset({"ntile", "percent_rank", "cume_dist"})
_AVERAGES = frozenset(
    ("avg", "mean", "favg", "sum", "fsum", "sumkahan", "median", "quantile", "quantile_cont", "quantile_disc")
)
_NOT_OF_RANKS = OF_MANY - {"corr"}
_DECIDES = frozenset({"coalesce", "ifnull"})
_NULLIF = frozenset({"nullif"})
_MOST_VALUES = 10_000


@dataclass(slots=True)
class LabelRule:
    """Finds misuses of labels in a statement, and hints where its labels overlap."""

    sources: LabelSources
    misuses: list[InvalidError] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    def read(self) -> tuple[str, ...]:
        """Reads the statement; its columns that have no order."""
        tree = self.sources.tree
        has_estimates = any(map(self.sources.look.estimates, self.sources.of_release.values()))
        for node in tree.walk():
            self._judge(node)
            if has_estimates and (wide := too_wide(node, self.sources)) is not None:
                self.misuses.append(words.cyclic_of_wide(node.sql(dialect="duckdb"), *wide))
        names = tree.named_selects if isinstance(tree, exp.Query) else []
        of = [filter(None, map(self.sources.meaning, items(tree, place))) for place in range(len(names))]
        return tuple(compress(names, (any(one.part not in (Part.RANK, Part.TEXT) for one in all_) for all_ in of)))

    def _judge(self, node: exp.Expr) -> None:
        """Judges the use of an expression of labels; of a group, and of set operations, the use of all their parts."""
        if isinstance(node, exp.Group):
            self._grouped(node)
        elif isinstance(node, (exp.Intersect, exp.Except)):
            for place in range(len(node.named_selects)):
                left, right = list(items(node.this, place)), list(items(node.expression, place))
                if (meaning := next(filter(None, map(self.sources.meaning, [*left, *right])), None)) is not None:
                    self._equal(meaning, [[*left, *right]])
        elif isinstance(node, exp.Ordered) and node.this.name.upper() == "ALL" and not self.sources.meaning(node.this):
            select = node.find_ancestor(exp.Query)
            for item in select.selects if select is not None else []:
                if (of := self.sources.meaning(item)) is not None:
                    self._sorted(node, of)
        elif isinstance(node, exp.Ordered) and node.this.is_star:
            self.misuses.append(misread("ORDER BY * of labels", "names of columns", "Write the names of columns."))
        elif isinstance(node, exp.Join) and str(node.args.get("method")).upper() == "NATURAL":
            self.misuses.append(misread("NATURAL JOIN of labels", "names of columns", "Write JOIN … USING (columns)."))
        is_value = isinstance(node, exp.Subquery) and not isinstance(node.parent, (exp.From, exp.Join, exp.Lateral))
        if not (isinstance(node, exp.Column) or is_value or is_call(node, {COLUMNS} | ANSWERS)):
            return
        places = scope.sources if (scope := self.sources.scope_of(node)) is not None else {}
        is_row = node.name in places and isinstance(node, exp.Column) and node.table not in places
        if is_row and self.sources.found(cast(exp.Column, node)) is None:
            what = f"{node.name}, a row with labels as one value"
            self.misuses.append(misread(what, "columns by their names", "Select its columns."))
        elif (meaning := self.sources.meaning(node)) is not None:
            self._used(node, meaning)

    def _used(self, node: exp.Expr, meaning: LabelMeaning) -> None:
        """Follows an expression outwards to what uses it, and judges that."""
        child, parent, in_tuple = node, node.parent, False
        while parent is not None and not (is_call(parent, _EXTREMES) and not isinstance(child, exp.Order)):
            is_part = isinstance(parent, _GROUPS) or any(part is child for part in results(parent))
            if is_call(parent, _NULLIF) and is_part:
                self._compared(parent, child, meaning)
            if meaning.part is Part.RANK and computes(parent):
                self._of_others(parent, meaning)
            elif not is_part or (meaning.is_bound and is_call(parent, _SHARES)):
                break
            in_tuple = in_tuple or isinstance(parent, exp.Tuple)
            child, parent = parent, parent.parent
        if meaning.part is Part.TEXT:
            if isinstance(parent, _PATTERNS) and child is parent.this:
                self._alike(parent, child, meaning)
            elif isinstance(parent, (exp.EQ, exp.NEQ, exp.In)) and not isinstance(parent.this, exp.Tuple):
                written = [part for part in parent.iter_expressions() if part.find(exp.Column, exp.Query) is None]
                with suppress(UnknownTextError):
                    self._asked(meaning, [text for part in written for text in self._texts(part) or ()])
            return
        if isinstance(parent, exp.Distinct) and child.arg_key == "on":
            self._apart([meaning])
        if parent is None or isinstance(parent, (exp.Group, exp.Distinct)):
            return
        if isinstance(parent, exp.Window) and child.arg_key == "partition_by":
            self._apart([meaning])
        elif in_tuple:
            self._refused(meaning, "a tuple")
        elif not isinstance(parent, (exp.Query, exp.Is, exp.Exists)) and not (
            is_call(parent, ANSWERS) and meaning.part is not Part.ANSWER
        ):
            self._decided(child, parent, meaning)

    def _decided(self, child: exp.Expr, parent: exp.Expr, meaning: LabelMeaning) -> None:
        part, name = meaning.part, folded(parent.name) if isinstance(parent, exp.Anonymous) else parent.key.upper()
        is_label, is_answer = part is Part.LABEL, part is Part.ANSWER
        is_ordered = part is Part.RANK or (is_label and self.sources.look.labels(meaning.of).is_ordered)
        if is_answer and isinstance(parent, exp.Dot):
            return
        if not is_answer and name in _COUNTS:
            distinct = child.unnest() if isinstance(child, exp.Distinct) else None
            if distinct is not None and part is not Part.RANK and not isinstance(distinct.expressions[0], exp.Tuple):
                self._refused(meaning, "count(DISTINCT …)")
        elif isinstance(parent, exp.Ordered):
            self._sorted(parent, meaning)
        elif is_ordered and name in _EXTREMES | _BY_SECOND:
            return
        elif part is Part.RANK and name not in _NOT_OF_RANKS:
            self._of_others(parent, meaning)
        elif is_label and (isinstance(parent, _EQUALITIES) or name in _NULLIF):
            self._compared(parent, child, meaning)
        elif is_label and isinstance(parent, _PATTERNS) and child is parent.this:
            self._alike(parent, child, meaning)
        elif not (meaning.is_bound and self._is_limited(parent, child, meaning)):
            self._refused(meaning, "a comparison" if isinstance(parent, _LIMITS) else name)

    def _of_others(self, node: exp.Expr, rank: LabelMeaning) -> None:
        others = filter(None, map(self.sources.meaning, node.iter_expressions()))
        if any(of.of.table != rank.of.table for of in others):
            found = f"the rank of labels in {rank.of.name}, compared with that of another table"
            self.misuses.append(misread(found, "labels, since each table has ranks of its own", "Compare the labels."))

    def _compared(self, node: exp.Expr, child: exp.Expr, meaning: LabelMeaning) -> None:
        """Judges an equality of labels: with which labels, or texts, and with how many of them at once."""
        if isinstance(node, exp.Case):
            others = [[branch.this] for branch in node.args["ifs"]] if child is node.this else []
        elif isinstance(node, exp.In):
            query = node.args.get("query") or node.args.get("unnest") or node.args.get("field")
            asked = [query] if query is not None else node.expressions
            others = [asked if child is node.this else [node.this]]
        else:
            sides = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.expression]
            others = [[side] for side in sides if side is not child]
        self._equal(meaning, others)

    def _equal(self, meaning: LabelMeaning, others: Sequence[Sequence[exp.Expr]]) -> None:
        if meaning.part is not Part.LABEL:
            return
        for together in others:
            of = [self.sources.meaning(other) for other in together]
            for labels in filter(None, of):
                self._apart([meaning, labels])
                if labels.of.table == meaning.of.table and labels.of.name != meaning.of.name:
                    self._refused(meaning, f"a comparison with those in {shortened(labels.of.name)}")
            try:
                texts = [self._texts(other) for other, labels in zip(together, of, strict=True) if labels is None]
            except UnknownTextError:
                self.misuses.append(words.unknown(meaning.of))
                continue
            if texts and None not in texts:
                self._asked(meaning, list(dict.fromkeys(text for given in texts for text in given or ())))

    def _texts(self, node: exp.Expr) -> Sequence[str] | None:
        """The texts that an expression may be; None if parameters are not bound yet."""
        inside = node.find(exp.Column, exp.Query, exp.Star)
        if isinstance(node, (exp.Alias, exp.Any)) or (isinstance(node, (exp.Paren, exp.Subquery, exp.Cast)) and inside):
            return self._texts(node.this)
        if inside is None:
            return self.sources.look.texts(node)
        parts = list(items(node, 0) if isinstance(node, exp.Query) else results(node))
        if isinstance(node, exp.Column) and (found := self.sources.found(node)) is not None:
            if (table := self.sources.released(found[1])) is not None:
                return self.sources.look.values(table, node.name, _MOST_VALUES)
            parts = list(found[1]) if not isinstance(found[1], exp.Table) else []
        if not parts:
            raise UnknownTextError
        given = [self._texts(part) for part in parts]
        return None if None in given else [text for texts in given for text in texts or ()]

    def _asked(self, meaning: LabelMeaning, texts: Sequence[str]) -> None:
        """Judges a comparison of labels with texts, all of which are asked for."""
        column, labels = meaning.of, self.sources.look.labels(meaning.of)
        for text in texts:
            if text not in labels.by_text and text != ANY:
                holding = labels.holding(text)
                if holding is None or holding or meaning.part is Part.TEXT:
                    self.misuses.append(words.unlisted(column, text, holding or list(labels.by_text), bool(holding)))
                    return
        if left_out := labels.left_out(texts) if meaning.part is Part.LABEL else ():
            known = [labels.by_text[text].rank for text in texts if text in labels.by_text]
            self.misuses.append(words.asked(column, texts, left_out, known[0] if len(known) == 1 else None))
        elif labels.is_untold and len(texts) > 1:
            self._apart([meaning])

    def _alike(self, node: exp.Expr, child: exp.Expr, meaning: LabelMeaning) -> None:
        """Judges a pattern by the labels that meet it."""
        labels, condition = self.sources.look.labels(meaning.of), node.copy()
        condition.set("this", exp.column("label"))
        condition.set("negate", None)
        try:
            if not isinstance(child, exp.Column) or len(list(condition.find_all(exp.Column, exp.Query))) > 1:
                raise UnknownTextError
            met = self.sources.look.matching(condition, labels.by_text)
        except UnknownTextError:
            self.misuses += [words.unknown(meaning.of)] if meaning.part is Part.LABEL else []
            return
        if met:
            self._asked(meaning, met)
        elif met is not None and (meaning.part is Part.TEXT or not labels.are_values):
            self.misuses.append(words.unlisted(meaning.of, node.expression.name, list(labels.by_text), False))

    def _is_limited(self, node: exp.Expr, child: exp.Expr, meaning: LabelMeaning) -> bool:
        """Whether a comparison of a bound says what it wants of labels on both sides, or none is there."""
        around = node.parent
        while isinstance(around, exp.Paren):
            around = around.parent
        if isinstance(node, _LIMITS) and (isinstance(around, exp.Is) or is_call(around, _DECIDES)):
            return True
        if type(node) not in _COMPARISONS or not isinstance(child.unnest(), exp.Column):
            return False
        is_left = child is node.this
        value = _written(node.expression if is_left else node.this)
        if value is None:
            return False
        operator = _COMPARISONS[type(node)] if is_left else _SWAPPED[_COMPARISONS[type(node)]]
        if on_both_sides := self.sources.look.labels(meaning.of).on_both_sides(operator, value):
            how = f"a comparison by {operator} with {value}, and {on_both_sides:,} labels on both sides of it"
            self._refused(meaning, how)
        return True

    def _grouped(self, group: exp.Group) -> None:
        shown = group.parent.selects if isinstance(group.parent, exp.Select) else []
        by_place = {str(place): item for place, item in enumerate(shown, 1)}
        sets = [part for part in group.iter_expressions() if isinstance(part, _GROUPS)]
        parts = [by_place.get(part.name, part) for part in group.expressions if not isinstance(part, _GROUPS)]
        parts += [column for part in sets for column in part.find_all(exp.Column)]
        if group.args.get("all"):
            parts += [item for item in shown if not any(is_call(of, AGGREGATES | ANSWERS) for of in item.walk())]
        self._apart([of for part in parts if (of := self.sources.meaning(part)) is not None])

    def _apart(self, meanings: Sequence[LabelMeaning]) -> None:
        """Looks at labels by which records are grouped or joined: they may overlap, and a bound alone is no group."""
        whole = {(of.of, of.place) for of in meanings if of.part in (Part.LABEL, Part.RANK)}
        for of in meanings:
            ends = {other.part for other in meanings if other.is_bound and (other.of, other.place) == (of.of, of.place)}
            if of.is_bound and (of.of, of.place) not in whole and len(ends) < 2:
                self._refused(of, "groups of labels of different width")
            elif of.part is Part.LABEL and not self.sources.look.labels(of.of).are_apart:
                self.hints.append(words.overlapping(of.of))

    def _sorted(self, ordered: exp.Ordered, meaning: LabelMeaning) -> None:
        call = ordered.find_ancestor(exp.Window, exp.WithinGroup)
        if isinstance(call, exp.WithinGroup):
            self._refused(meaning, "quantile", "tv_quantile")
        elif isinstance(call, exp.Window) and is_call(call.this, _DIVIDING):
            self._refused(meaning, folded(call.this.name))
        elif meaning.part is Part.ANSWER or (
            meaning.part is Part.LABEL and not self.sources.look.labels(meaning.of).is_ordered
        ):
            order = ordered.parent
            before = order.expressions[: ordered.index or 0] if isinstance(order, exp.Order) else []
            ranks = [self.sources.meaning(one.this) for one in before]
            if not any(of is not None and of.part is Part.RANK and of.of == meaning.of for of in ranks):
                self._refused(meaning, "ORDER BY")

    def _refused(self, meaning: LabelMeaning, how: str, answer: str = "") -> None:
        known = f"tv_{how.partition('_')[0]}"
        answer = answer or (known if known in ANSWERS else "tv_mean" if how in _AVERAGES else "")
        self.misuses.append(words.used(meaning, how, answer))


def _written(value: exp.Expr) -> str | None:
    """The text of a value that is written down; None if it is none, or a number that is cast to another one."""
    is_cast = False
    while isinstance(value, (exp.Paren, exp.Cast)):
        is_cast = is_cast or isinstance(value, exp.Cast)
        value = value.this
    literal = value.this if isinstance(value, exp.Neg) else value
    if not isinstance(literal, exp.Literal) or (is_cast and not literal.is_string):
        return None
    return f"-{literal.name}" if isinstance(value, exp.Neg) else literal.name


_KNOWN = "(VALUES ('a label', 0::BIGINT, 17::BIGINT)) AS known (label, least, most)"

_FUNCTIONS = {macro.name: macro for macro in MACROS}


def completions(tree: exp.Expr, sources: LabelSources | None, written: str) -> Iterator[Edit]:
    """Gives calls of functions of labels the bounds after their label, and the condition of FILTER as the last."""
    for call in tree.find_all(exp.Anonymous):
        if is_call(call, ANSWERS) and (edit := _completed(call, sources)):
            yield edit
        if is_call(call, ANSWERS) and isinstance(call.parent, exp.Filter) and call.parent.this is call:
            yield from _filtered(call, call.parent, written)


def _filtered(call: exp.Anonymous, filter_: exp.Filter, written: str) -> Iterator[Edit]:
    name = folded(call.name)
    if any(isinstance(part, exp.Query) or is_call(part, {"random"}) for part in filter_.expression.walk()):
        # DuckDB writes the condition for each use of the label.
        found, hint = f"{name} with FILTER of a subquery, or of chance", "Let a subquery in FROM select it as a column."
        raise refused(found, "a condition that columns tell", hint)
    tokens = [token for token in grammar.AnalystSql().tokenize(written) if token.start > call.meta["end"]]
    signs = ((token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN) for token in tokens)
    end = list(accumulate(signs)).index(0)
    # DuckDB lets FILTER be without WHERE.
    last = tokens[end + 3] if tokens[end + 3].token_type is TokenType.WHERE else tokens[end + 2]
    yield call.meta["start"], call.meta["end"] + 1, grammar.FILTERED[name].name
    yield tokens[end].start, last.end + 1, ", "


def _completed(node: exp.Anonymous, sources: LabelSources | None) -> Edit | None:
    """Writes the bounds after the label, unless they are there already, as in a file."""
    macro = _FUNCTIONS[folded(node.name)]
    given = len(node.expressions)
    call = node.parent if isinstance(node.parent, exp.Filter) else node
    if isinstance(call.parent, exp.Window) and call.parent.this is call:
        hint = "Write OVER after a plain aggregate of estimated values."
        raise refused(f"{macro.name} with OVER", "a function of labels by itself", hint)
    if not macro.of_label or given == len(macro.parameters):
        return None
    expected = f"{macro.name}({', '.join(('column', *macro.parameters[3:]))})"
    if given != len(macro.parameters) - 2:
        raise refused(f"{macro.name} with {given} arguments", expected)
    column = node.expressions[0]
    meaning = sources.meaning(column) if sources is not None else None
    is_label = meaning is not None and meaning.part is Part.LABEL and isinstance(column, exp.Column)
    if sources is None or meaning is None or not is_label or not meaning.of.bounds:
        hint = ""
        if is_label and meaning is not None:
            parts = ", ".join((meaning.of.name, "least", "most", *macro.parameters[3:]))
            hint = f"Its labels tell no bounds. If you know them, join {_KNOWN} ON label = {meaning.of.name}, "
            hint += f"and write {macro.name}({parts})."
        raise refused(f"{macro.name} of something else than a column of labels with bounds", expected, hint)
    names = [sources.beside(column, part) for part in (Part.LOW, Part.HIGH)]
    end = end_of(column)
    if None in names or end is None:
        hint = f"Let the subquery select {meaning.of.name}_from and {meaning.of.name}_to as well."
        raise refused(f"{macro.name} of a column without its bounds", expected, hint)
    table = column.args.get("table")
    prefix = f"{quoted(table.name)}." if isinstance(table, exp.Identifier) and "start" in table.meta else ""
    return end, end, "".join(f", {prefix}{quoted(str(name))}" for name in names)
