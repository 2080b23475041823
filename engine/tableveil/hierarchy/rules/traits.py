"""The entry of a rule: its field in a policy, its faults, its labels, values that represent these, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.notation import Notation

MOST_REPRESENTATIVES = 1_000_000


@dataclass(frozen=True, slots=True)
class Representatives:
    """Distinct values in their order, of a kind that the rule takes; also as text."""

    kind: ValueKind
    values: Sequence[object]
    texts: Sequence[str]

    @classmethod
    def of_texts(cls, texts: Sequence[str], kind: ValueKind = ValueKind.TEXT) -> Representatives:
        """Values that are their own texts."""
        return cls(kind, texts, texts)


Rule = TypeVar("Rule")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTraits(Generic[Rule]):
    """All that a rule does; arguments are those of `check_rule`, `label_values` and `representatives`.

    Attributes:
        field: The field below a policy's `hierarchy` that holds the rule.
        kind: The class of the rule.
        label: The labels of a column's values at every level. Values with one label share those of all higher levels.
        check: The faults of the rule and, if the kind of a column is known, of using it on such a column.
        representatives: Values that have every label; None if the rule knows none without a table, or too many.
        bounds: The kind of the bounds of its labels, by the kind of the column; None if they have none.
        places: Per label without bounds its place in the order that the rule declares; empty if it declares none.
            `sql/tableveil/verification/labels.py` computes it anew.
        natural: Whether other labels without bounds are ordered by the numbers in them, and not as texts; this is
            computed anew there, too.
    """

    field: str
    kind: type[Rule]
    label: Callable[[Rule, ValueKind, Sequence[object], Sequence[str], NDArray[np.bool_]], LabelledValues]
    check: Callable[[Rule, str, ValueKind | None], list[Fault]] = lambda rule, field, kind: []
    representatives: Callable[[Rule], Representatives | None] = lambda rule: None
    bounds: Callable[[ValueKind], ValueKind | None] = lambda kind: None
    places: Callable[[Rule], Mapping[str, tuple[int, int]]] = lambda rule: {}
    natural: bool = True


@dataclass(frozen=True, slots=True)
class LossRange:
    """The part of a declared range whose values loss counts, with bounds as the policy wrote them."""

    minimum: str
    maximum: str


def loss_range_faults(
    part: LossRange | None, field: str, notation: Notation, bounds: Mapping[str, str], ends: Mapping[str, Fraction]
) -> Iterator[Fault]:
    """Faults of a rule's loss range; `bounds` has the rule's minimum and maximum, `ends` those that can be read."""
    if part is None:
        return
    path = f"{field}.loss_range"
    low, high = (notation.read(text) for text in (part.minimum, part.maximum))
    for name, text, number in (("minimum", part.minimum, low), ("maximum", part.maximum, high)):
        if number is None:
            yield Fault(f"{path}.{name}", shortened(text), notation.value)
        elif ("minimum" in ends and number < ends["minimum"]) or ("maximum" in ends and number > ends["maximum"]):
            yield Fault(f"{path}.{name}", shortened(text), f"a value from {bounds['minimum']} to {bounds['maximum']}")
    if low is not None and high is not None and low >= high:
        yield Fault(f"{path}.maximum", shortened(part.maximum), "a bound above the minimum")
