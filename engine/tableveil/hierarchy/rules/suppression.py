"""The rule with only the value itself and `*`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.rules.traits import RuleTraits


@dataclass(frozen=True, slots=True)
class SuppressionOnly:
    """The value itself, or `*`."""

    def __str__(self) -> str:
        return "the value or *"


def label(
    rule: SuppressionOnly, kind: ValueKind, values: Sequence[object], texts: Sequence[str], own: NDArray[np.bool_]
) -> LabelledValues:
    """One level, `*`. Only the given values define the domain: |H| is the number of `own` ones."""
    return LabelledValues.of(np.ones(len(own), dtype=np.bool_), (), float(own.sum()))


SUPPRESSION_ONLY = RuleTraits(field="suppression_only", kind=SuppressionOnly, label=label)
