"""Comparisons of one bound of labels, which silently count a label that lies on both sides in one of them.

`WHERE age_from >= 65` leaves out all people under `[60, 69]`. It counts those who certainly are so old, and not all
people of 65 and more. A statement whose rows show the labels, or that compares both bounds, or that says
by `coalesce(…, FALSE)` what an unknown end counts for, is taken at its word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
            if operator == "BETWEEN":
                limits = list(zip((">=", "<="), parts[1:], strict=True)) if place == 0 else []
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
            if records := look.straddling(cut.meaning.table, cut.meaning.label, cut.operator, cut.value):
                place = place_of(cut.column)
                name = written[place[0] : place[1]] if place else cut.meaning.label
                yield misuses.cut(cut.meaning, name, cut.operator, cut.value, records)


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
