"""The entry of a rule: its field in a policy, its faults, the labels that it gives, and values that represent these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        label: The labels of a column's values at every level.
        check: The faults of the rule and, if the kind of a column is known, of using it on such a column.
        representatives: Values that have every label; None if the rule knows none without a table, or too many.
    """

    field: str
    kind: type[Rule]
    label: Callable[[Rule, ValueKind, Sequence[object], Sequence[str], NDArray[np.bool_]], LabelledValues]
    check: Callable[[Rule, str, ValueKind | None], list[Fault]] = lambda rule, field, kind: []
    representatives: Callable[[Rule], Representatives | None] = lambda rule: None
