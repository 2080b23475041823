"""The rule with only the value itself and `*`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.hierarchy.definition import SuppressionOnly
from tableveil.hierarchy.labelled import LabelledValues, ValueKind


def check(rule: SuppressionOnly, field: str, kind: ValueKind | None) -> list[Fault]:
    """Returns no faults: the rule has no settings, and it fits every column."""
    return []


def label(rule: SuppressionOnly, own: NDArray[np.bool_]) -> LabelledValues:
    """One level, `*`. Only the given values define the domain: |H| is the number of `own` ones."""
    return LabelledValues.of(np.ones(len(own), dtype=np.bool_), (), float(own.sum()))
