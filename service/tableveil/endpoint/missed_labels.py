"""Comparisons with texts that no label of a column is, which silently find nothing, or less than there is.

`age = '42'` finds nobody where people of 42 are under `[40, 49]`, and `zip_code LIKE '021%'` leaves out `0****`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint import misuses
from tableveil.endpoint.cut_labels import EQUALITIES
from tableveil.endpoint.meanings import LabelMeaning, Look, Part, Relation
from tableveil.endpoint.misuses import ANY, Misuse
from tableveil.endpoint.written_columns import literal_text

PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike, exp.SimilarTo)
MOST_LABELS = 10_000
"""The most labels of a column among which a hint chooses."""

_PREDICATES = frozenset(
    {
        *("starts_with", "prefix", "ends_with", "suffix", "contains", "regexp_matches", "regexp_full_match"),
        *("instr", "strpos"),
    }
)
"""Functions that look for a part of a text."""

_TEXTS = frozenset(
    {
        *(
            "left",
            "right",
            "substr",
            "substring",
            "split_part",
            "lower",
            "upper",
            "lcase",
            "ucase",
            "trim",
            "ltrim",
            "rtrim",
        ),
        *("regexp_extract", "regexp_replace", "replace", "reverse", "length", "len", "strlen", "concat"),
    }
)
"""Functions of texts, whose results are compared with parts of values."""


@dataclass(slots=True)
class Misses:
    """The comparisons of one statement with texts that are written down."""

    equal: list[tuple[LabelMeaning, str]] = field(default_factory=list)
    alike: list[tuple[LabelMeaning, str, str | None]] = field(default_factory=list)

    def note(self, node: exp.Expr, meanings: list[LabelMeaning | None]) -> None:
        """Notes a comparison of a column of labels with texts."""
        for meaning in meanings:
            if meaning is None or meaning.part is not Part.LABEL or not meaning.exact or meaning.table is None:
                continue
            if isinstance(node, (*EQUALITIES, exp.Case)):
                parts = (
                    [one.this for one in node.args["ifs"]] if isinstance(node, exp.Case) else node.iter_expressions()
                )
                values = [part for part in parts if isinstance(part, exp.Literal)]
                self.equal += ((meaning, value.name) for value in values if value.name != ANY)
            elif isinstance(node, (*PATTERNS, exp.Anonymous)) and not meaning.bounds:
                name = folded(node.name) if isinstance(node, exp.Anonymous) else node.key.upper()
                if name in _PREDICATES or isinstance(node, PATTERNS):
                    self.alike.append((meaning, name, _prefix(node, name)))

    def note_parts(self, node: exp.Expr, see: Callable[[exp.Expr], LabelMeaning | None]) -> None:
        """Notes a comparison of a part of labels' texts, such as `left(zip_code, 3) = '021'`."""
        parts = list(node.iter_expressions())
        wanted = next((part.name for part in parts if isinstance(part, exp.Literal)), None)
        for call in parts:
            if not isinstance(call, exp.Anonymous) or folded(call.name) not in _TEXTS or not call.expressions:
                continue
            meaning = see(call.expressions[0])
            if meaning is not None and meaning.part is Part.LABEL and not meaning.bounds and meaning.table is not None:
                is_start = folded(call.name) == "left" or [literal_text(one) for one in call.expressions[1:2]] == ["1"]
                prefix = wanted if is_start and isinstance(node, exp.EQ) else None
                self.alike.append((meaning, folded(call.name), prefix))

    def misuses(self, output: Relation, look: Look) -> Iterator[Misuse]:
        """The misuses, where a statement has these columns."""
        for meaning, value in self.equal:
            assert meaning.table is not None
            if look.has(meaning.table, meaning.label, value):
                continue
            if meaning.bounds:
                ends = (look.straddling(meaning.table, meaning.label, operator, value) for operator in (">=", "<="))
                if look.is_value(meaning.table, meaning.label, value) and (records := max(ends)):
                    yield misuses.met(meaning, f"{meaning.label} = '{value}'", value, records)
            elif look.is_general(meaning.table, meaning.label):
                yield misuses.unlisted(meaning, value, look.values(meaning.table, meaning.label, MOST_LABELS))
        shown = {(of.table, of.label) for _, of in output.columns if of is not None}
        for meaning, name, prefix in self.alike:
            assert meaning.table is not None
            if (meaning.table, meaning.label) not in shown and look.is_general(meaning.table, meaning.label):
                yield misuses.alike(meaning, name, prefix, look.values(meaning.table, meaning.label, MOST_LABELS))


def _prefix(node: exp.Expr, name: str) -> str | None:
    """How texts begin that are looked for; None if that is not written down."""
    if isinstance(node, exp.Like):
        pattern = literal_text(node.expression) or ""
        plain = pattern.removesuffix("%")
        return plain if plain != pattern and not {*plain} & {*"%_"} else None
    is_start = name in ("starts_with", "prefix") and isinstance(node, exp.Anonymous) and len(node.expressions) == 2
    return literal_text(node.expressions[1]) if is_start else None
