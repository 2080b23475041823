"""The entry of a rule: its field in a policy, its faults, its labels, values that represent these, and their order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.represented import Representatives

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
