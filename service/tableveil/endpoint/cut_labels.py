"""Comparisons of one bound of labels, which silently count a label that lies on both sides in one of them.

`WHERE age_from >= 65` leaves out all people under `[60, 69]`. It counts those who certainly are so old, and not all
people of 65 and more. A statement whose rows show the labels, or that compares both bounds, or that says
by `coalesce(…, FALSE)` what an unknown end counts for, is taken at its word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint import misuses
from tableveil.endpoint.meanings import LabelMeaning, Look, Part, Relation, ReleaseTable
from tableveil.endpoint.misuses import Misuse
from tableveil.endpoint.written_columns import place_of

_DECIDES = frozenset({"coalesce", "ifnull"})
COMPARISONS: dict[type[exp.Expr], str] = {
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Between: "BETWEEN",
}
SWAPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}

_Labels = tuple[ReleaseTable, str]


@dataclass(frozen=True, slots=True)
class Cut:
    """A comparison of a bound with a value, which is None if the text does not say it."""

    meaning: LabelMeaning
    operator: str
    value: str | None
    column: exp.Expr


@dataclass(slots=True)
class Cuts:
    """The comparisons of one statement."""

    cuts: list[Cut] = field(default_factory=list)
    compared: set[tuple[_Labels, Part]] = field(default_factory=set)
    decided: set[_Labels] = field(default_factory=set)

    def note(self, node: exp.Expr, parts: list[exp.Expr], meanings: list[LabelMeaning | None], operator: str) -> None:
        """Notes a comparison, if one side of it is a bound."""
        for place, (part, meaning) in enumerate(zip(parts, meanings, strict=True)):
            if meaning is None or not meaning.is_bound or meaning.table is None:
                continue
            labels = (meaning.table, meaning.label)
            self.compared.add((labels, meaning.part))
            if _is_decided(node):
                self.decided.add(labels)
            limits: list[tuple[str, exp.Expr]] = []
            if operator == "=":
                values = [part for part in parts if isinstance(part, exp.Literal)]
                limits = [(operator, value) for value in values]
            elif operator == "BETWEEN":
                limits = list(zip((">=", "<="), parts[1:], strict=True))[: 0 if place else 2]
            else:
                limits = [(SWAPPED[operator] if place else operator, parts[1 - place])]
            for one, limit in limits:
                self.cuts.append(Cut(meaning, one, _value(limit, meaning), part))

    def misuses(self, output: Relation, look: Look, written: str) -> Iterator[Misuse]:
        """The misuses, where a statement has these columns."""
        shown = {(of.table, of.label) for _, of in output.columns if of is not None}
        for cut in self.cuts:
            assert cut.meaning.table is not None
            labels = (cut.meaning.table, cut.meaning.label)
            both = {(labels, Part.LOW), (labels, Part.HIGH)} <= self.compared
            if labels in shown or labels in self.decided or both:
                continue
            place = place_of(cut.column)
            name = written[place[0] : place[1]] if place else cut.meaning.label
            if cut.operator == "=":
                ends = (look.straddling(*labels, operator, cut.value) for operator in (">=", "<="))
                if cut.value is not None and (records := max(ends)):
                    yield misuses.met(cut.meaning, f"{name} = {cut.value}", cut.value, records)
            elif records := look.straddling(*labels, cut.operator, cut.value):
                type_ = dict(look.columns(cut.meaning.table)).get(f"{cut.meaning.label}_from", "")
                yield misuses.cut(cut.meaning, name, cut.operator, cut.value, _included(cut, type_), records)


def _included(cut: Cut, type_: str) -> str | None:
    """The value at which what is asked for begins or ends, as functions of labels take it."""
    step = {">": 1, "<": -1}.get(cut.operator, 0)
    if cut.value is None or not step:
        return cut.value
    try:
        if type_ == "BIGINT":
            return str(int(cut.value) + step)
        if type_ == "DATE":
            return str(date.fromisoformat(cut.value) + timedelta(step))
    except (ValueError, OverflowError):
        pass
    return cut.value


def _is_decided(node: exp.Expr) -> bool:
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return isinstance(around, exp.Is) or (isinstance(around, exp.Anonymous) and folded(around.name) in _DECIDES)


def _value(node: exp.Expr, meaning: LabelMeaning) -> str | None:
    """The text of a value that is written down."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    negative = isinstance(node, exp.Neg)
    literal = node.this if negative else node
    if not isinstance(literal, exp.Literal) or (negative and meaning.of_time):
        return None
    return f"-{literal.name}" if negative else literal.name
