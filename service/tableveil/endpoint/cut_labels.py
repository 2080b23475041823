"""Comparisons of bounds of labels, which silently count a label that lies on both sides on one of them.

`WHERE age_from >= 65` leaves out all people under `[60, 69]`. It counts those who certainly are so old, and not all
people of 65 and more; so does `age_from >= 18 AND age_to < 65`. A statement whose rows show the labels, or that says
by `coalesce(…, FALSE)` what a label on both sides counts for, is taken at its word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint import misuses
from tableveil.endpoint.cases import BoundsCase
from tableveil.endpoint.label_functions import AGGREGATES
from tableveil.endpoint.meanings import LabelMeaning, Look, Part, Relation
from tableveil.endpoint.misuses import Limit, Misuse
from tableveil.endpoint.written_columns import literal_text, place_of

_DECIDES = frozenset({"coalesce", "ifnull"})
COMPARISONS: dict[type[exp.Expr], str] = {
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Between: "BETWEEN",
}
EQUALITIES = (exp.EQ, exp.NEQ, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ)
SWAPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "=": "="}


@dataclass(frozen=True, slots=True)
class Cut:
    """A comparison of a bound with a value, which is None if the text does not say it."""

    meaning: LabelMeaning
    operator: str
    value: str | None
    column: exp.Expr
    node: exp.Expr

    @property
    def is_lower(self) -> bool:
        """Whether values above are meant."""
        return self.operator.startswith(">")


@dataclass(slots=True)
class Cuts:
    """The comparisons of one statement, and those of its CASEs that can be read."""

    cuts: list[Cut] = field(default_factory=list)
    equal: set[tuple[tuple[object, ...], Part]] = field(default_factory=set)
    joined: list[LabelMeaning] = field(default_factory=list)
    cases: dict[int, BoundsCase] = field(default_factory=dict)

    def note(self, node: exp.Expr, parts: list[exp.Expr], meanings: list[LabelMeaning | None], operator: str) -> None:
        """Notes a comparison, if one side of it is a bound."""
        bounds = [meaning for meaning in meanings if meaning is not None and meaning.is_bound]
        if operator == "=" and len({meaning.key for meaning in bounds}) > 1:
            self.joined += bounds
        for place, (part, meaning) in enumerate(zip(parts, meanings, strict=True)):
            if meaning is None or not meaning.is_bound or meaning.table is None:
                continue
            limits: list[tuple[str, exp.Expr]] = []
            if operator == "=":
                self.equal.add((meaning.key, meaning.part))
                limits = [(operator, value) for value in parts if isinstance(value, exp.Literal)]
            elif operator == "BETWEEN":
                limits = (
                    [(("<=", ">=")[place - 1], parts[0])] if place else list(zip((">=", "<="), parts[1:], strict=True))
                )
            else:
                limits = [(SWAPPED[operator] if place else operator, parts[1 - place])]
            # A value that is compared with an expression of a bound is none of its labels.
            plain = isinstance(part.unnest(), exp.Column)
            for one, limit in limits:
                of = literal_text(limit) if plain else None
                self.cuts.append(Cut(meaning, _OPPOSITE[one] if _is_denied(node) else one, of, part, node))

    def case_around(self, node: exp.Expr) -> BoundsCase | None:
        """The CASE that can be read and has a node in a condition."""
        inner, around = node, node.parent
        while around is not None and not isinstance(around, exp.Query):
            if isinstance(around, exp.If) and around.this is inner:
                return self.cases.get(id(around.parent))
            inner, around = around, around.parent
        return None

    def misuses(self, output: Relation, look: Look, written: str) -> Iterator[Misuse]:
        """The misuses, where a statement has these columns."""
        shown = [of.key for _, of in output.columns if of is not None]

        def is_shown(meaning: LabelMeaning) -> bool:
            return any(key[-len(meaning.key) :] == meaning.key for key in shown)

        for meaning in self.joined:
            other = Part.HIGH if meaning.part is Part.LOW else Part.LOW
            if (meaning.key, other) not in self.equal and not is_shown(meaning):
                yield misuses.grouped_by_bound(meaning)
        for cut in self.cuts:
            if not is_shown(cut.meaning):
                yield from self._misuse(cut, look, written)

    def _misuse(self, cut: Cut, look: Look, written: str) -> Iterator[Misuse]:
        assert cut.meaning.table is not None
        labels = (cut.meaning.table, cut.meaning.label)
        place = place_of(cut.column)
        name = written[place[0] : place[1]] if place else cut.meaning.label
        if cut.operator == "=":
            ends = (look.straddling(*labels, operator, cut.value) for operator in (">=", "<="))
            both = {(cut.meaning.key, part) for part in (Part.LOW, Part.HIGH)} <= self.equal
            if cut.value is not None and not both and (records := max(ends)):
                yield misuses.met(cut.meaning, f"{name} = {cut.value}", cut.value, records)
            return
        records = look.straddling(*labels, cut.operator, cut.value)
        case = self.case_around(cut.node)
        of_rows = case is not None and not _is_aggregated(case.node)
        if not records or (case is not None and of_rows and case.is_exact):
            return
        if case is not None and of_rows and (case.has_else or not _is_decided(cut.node)):
            at = case.place(written)
            yield misuses.in_case(cut.meaning, records, case.exact(), ((*at, case.exact()),) if at else ())
        elif not _is_decided(cut.node):
            type_ = dict(look.columns(cut.meaning.table)).get(f"{cut.meaning.label}_from", "")
            limits = [_limit(one, type_) for one in (cut, *self._together_with(cut))]
            yield misuses.cut(cut.meaning, name, limits, records)

    def _together_with(self, cut: Cut) -> Iterator[Cut]:
        """The comparison that limits the same values from the other side."""
        others = (
            other
            for other in self.cuts
            if other.meaning.key == cut.meaning.key
            and other.operator != "="
            and other.is_lower != cut.is_lower
            and _whole_condition(other.node) is _whole_condition(cut.node)
        )
        if (other := next(others, None)) is not None:
            yield other


def _limit(cut: Cut, type_: str) -> Limit:
    """The comparison with the value at which what is asked for begins or ends, as functions of labels take it."""
    step, included = {">": 1, "<": -1}.get(cut.operator, 0), cut.value
    try:
        if cut.value is not None and step and type_ == "BIGINT":
            included = str(int(cut.value) + step)
        elif cut.value is not None and step and type_ == "DATE":
            included = str(date.fromisoformat(cut.value) + timedelta(step))
    except (ValueError, OverflowError):
        pass
    return Limit(cut.operator, cut.value, included)


def _is_denied(node: exp.Expr) -> bool:
    denied, around = False, node.parent
    while isinstance(around, (exp.Paren, exp.And, exp.Or, exp.Not)):
        denied ^= isinstance(around, exp.Not)
        around = around.parent
    return denied


def _whole_condition(node: exp.Expr) -> exp.Expr:
    """The conjunction that it is a part of."""
    while isinstance(node.parent, (exp.Paren, exp.And)):
        node = node.parent
    return node


def _is_aggregated(case: exp.Case) -> bool:
    """Whether its results are added up, so that nobody sees which of them are unknown."""
    return any(
        folded(call.name) in AGGREGATES and not isinstance(call.parent, exp.Window)
        for call in _around(case)
        if isinstance(call, exp.Anonymous)
    )


def _around(node: exp.Expr) -> Iterator[exp.Expr]:
    around = node.parent
    while around is not None and not isinstance(around, exp.Query):
        yield around
        around = around.parent


def _is_decided(node: exp.Expr) -> bool:
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return isinstance(around, exp.Is) or (isinstance(around, exp.Anonymous) and folded(around.name) in _DECIDES)
