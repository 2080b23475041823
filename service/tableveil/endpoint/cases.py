"""CASE on the bounds of labels: whether its result for a label is that of all values under it, and how it would be.

`CASE WHEN age_to < 65 THEN 'young' ELSE 'old' END` calls `[60, 69]` old. Put both bounds to one value, and the
conditions say which result each value has. A CASE is exact if a label has another result than ELSE's only where all
values under it have that result, and if no value has ELSE's: then ELSE gets the labels on both sides, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import groupby

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tableveil.backend import folded
from tableveil.endpoint.grammar import AnalystSql
from tableveil.endpoint.meanings import LabelMeaning, Part
from tableveil.endpoint.written_columns import literal_text, place_of

_MOST_VALUES = 20
"""Values in one CASE: the work grows with the cube of their number."""

_UNKNOWN = "'unknown'"

_COMPARED: dict[type[exp.Expr], Callable[[int, int], bool]] = {
    exp.GT: lambda one, other: one > other,
    exp.GTE: lambda one, other: one >= other,
    exp.LT: lambda one, other: one < other,
    exp.LTE: lambda one, other: one <= other,
}

_Ends = tuple[int | None, int | None]


class _UnreadError(Exception):
    """A condition is of other kinds than these."""


@dataclass(frozen=True, slots=True)
class BoundsCase:
    """A CASE whose conditions compare the bounds of one column of labels with values that are written down.

    `low` and `high` are the bounds as the statement may name them. `texts` are the values in ascending order. `places`
    are those of possible values: the odd ones are the values themselves, the even ones lie between or beyond.
    """

    node: exp.Case
    low: str
    high: str
    texts: tuple[str, ...]
    places: tuple[int, ...]
    results: tuple[tuple[int, int], ...]
    is_exact: bool

    @property
    def has_else(self) -> bool:
        """Whether ELSE gives something."""
        return not isinstance(self.node.args.get("default"), exp.Null | None)

    def place(self, written: str) -> tuple[int, int] | None:
        """The first character of it in the text, and the one after its last."""
        column = next(filter(None, map(place_of, self.node.find_all(exp.Column))), None)
        begun: list[int] = []
        for token in AnalystSql().tokenize(written):
            if token.token_type is TokenType.CASE:
                begun.append(token.start)
            elif token.token_type is TokenType.END and begun:
                start = begun.pop()
                if column is not None and start < column[0] < token.end:
                    return start, token.end + 1
        return None

    def exact(self) -> str:
        """The CASE that gives each label the result of its values, and one of its own to labels on both sides."""
        branches = self.node.args["ifs"]
        given = [branch.args["true"].sql(dialect="duckdb") for branch in branches]
        default = self.node.args.get("default")
        is_text = all(result.startswith("'") for result in given)
        if self.has_else and default is not None:
            given.append(default.sql(dialect="duckdb"))
            is_text = is_text and given[-1].startswith("'")
        elif is_text:
            given.append("NULL")
        conditions: list[list[str]] = [[] for _ in given]
        for result, run in groupby(self.results, key=lambda of: of[1]):
            reached = [place for place, _ in run]
            if result < len(given):
                conditions[result].append(self._within(reached[0], reached[-1]))
        whens = [
            f"WHEN {' OR '.join(either)} THEN {result}"
            for either, result in zip(conditions, given, strict=True)
            if either
        ]
        return f"CASE {' '.join(whens)}{f' ELSE {_UNKNOWN}' if is_text else ''} END"

    def _within(self, first: int, last: int) -> str:
        """The condition that all values of a label lie between two places."""
        ends = []
        if first > 0:
            ends.append(f"{self.low} {'>=' if first % 2 else '>'} {self.texts[(first - 1) // 2]}")
        if last < 2 * len(self.texts):
            ends.append(f"{self.high} {'<=' if last % 2 else '<'} {self.texts[last // 2]}")
        return " AND ".join(ends) or "TRUE"


def read_case(
    node: exp.Case, meaning_of: Callable[[exp.Expr], LabelMeaning | None], type_: str, names: tuple[str, str]
) -> BoundsCase | None:
    """Reads a CASE; None if it is of another kind. `names` are those of the bounds, which have that type."""
    if node.this is not None or type_ not in ("BIGINT", "DATE"):
        return None
    written: dict[Decimal, str] = {}
    try:
        for condition in node.args["ifs"]:
            for literal in _literals(condition.this):
                written.setdefault(_number(literal, type_), _as_value(literal, type_))
        values = sorted(written)
        if not values or len(values) > _MOST_VALUES:
            return None
        places = tuple(_possible(values))

        def result(ends: _Ends) -> int:
            for i, branch in enumerate(node.args["ifs"]):
                if _holds(branch.this, ends, lambda of: 2 * values.index(_number(of, type_)) + 1, meaning_of):
                    return i
            return len(node.args["ifs"])

        results = tuple((place, result((place, place))) for place in places)
        is_exact = _is_exact(results, result, len(node.args["ifs"]))
    except _UnreadError:
        return None
    return BoundsCase(node, *names, tuple(written[value] for value in values), places, results, is_exact)


def _is_exact(results: tuple[tuple[int, int], ...], result: Callable[[_Ends], int], otherwise: int) -> bool:
    if any(of == otherwise for _, of in results):
        return False
    for i in range(-1, len(results)):
        for j in range(max(i, 0), len(results) + 1):
            # Before the first and after the last one, a label is open.
            ends = (results[i][0] if i >= 0 else None, results[j][0] if j < len(results) else None)
            given = result(ends)
            if given != otherwise and any(of != given for _, of in results[max(i, 0) : j + 1]):
                return False
    return True


def _possible(values: list[Decimal]) -> Iterator[int]:
    """The places that have whole numbers."""
    yield 0
    for i, value in enumerate(values):
        if value == int(value):
            yield 2 * i + 1
        if i + 1 == len(values) or value // 1 + 1 < values[i + 1]:
            yield 2 * i + 2


def _literals(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The values with which bounds are compared."""
    for comparison in condition.find_all(*_COMPARED, exp.Between):
        yield from (part for part in comparison.iter_expressions() if not isinstance(part, exp.Column))


def _number(node: exp.Expr, type_: str) -> Decimal:
    text = literal_text(node)
    try:
        if text is not None:
            return Decimal(date.fromisoformat(text).toordinal()) if type_ == "DATE" else Decimal(text)
    except (ValueError, InvalidOperation):
        pass
    raise _UnreadError


def _as_value(node: exp.Expr, type_: str) -> str:
    text = literal_text(node) or ""
    return f"DATE '{text}'" if type_ == "DATE" else text


def _holds(
    node: exp.Expr,
    ends: _Ends,
    place: Callable[[exp.Expr], int],
    meaning_of: Callable[[exp.Expr], LabelMeaning | None],
) -> bool | None:
    """Whether a condition holds of a label with these ends, in the logic of three values."""

    def holds(part: exp.Expr) -> bool | None:
        return _holds(part, ends, place, meaning_of)

    def end(part: exp.Expr) -> int | None:
        if not isinstance(part, exp.Column):
            return place(part)
        meaning = meaning_of(part)
        if meaning is None or not meaning.is_bound:
            raise _UnreadError
        return ends[0 if meaning.part is Part.LOW else 1]

    if isinstance(node, exp.Paren):
        return holds(node.this)
    if isinstance(node, exp.Not):
        inner = holds(node.this)
        return None if inner is None else not inner
    if isinstance(node, (exp.And, exp.Or)):
        decisive = isinstance(node, exp.Or)
        both = (holds(node.this), holds(node.expression))
        return decisive if decisive in both else None if None in both else not decisive
    if isinstance(node, exp.Between):
        value, low, high = (end(part) for part in (node.this, node.args["low"], node.args["high"]))
        above = None if value is None or low is None else value >= low
        below = None if value is None or high is None else value <= high
        return False if False in (above, below) else None if None in (above, below) else True
    if type(node) in _COMPARED:
        one, other = end(node.this), end(node.expression)
        return None if one is None or other is None else _COMPARED[type(node)](one, other)
    if isinstance(node, exp.Anonymous) and folded(node.name) == "coalesce" and len(node.expressions) == 2:
        inner, otherwise = holds(node.expressions[0]), node.expressions[1]
        if isinstance(otherwise, exp.Boolean):
            return bool(otherwise.this) if inner is None else inner
    raise _UnreadError
