"""The rule that knows only the value itself and `*`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tableveil.errors import Fault
from tableveil.hierarchy.definition import SuppressionOnly
from tableveil.hierarchy.labelled import LabelledValues, ValueKind


def check(rule: SuppressionOnly, field: str, kind: ValueKind | None) -> list[Fault]:
    """No faults: there is nothing to get wrong, and it fits every column."""
    return []


def label(rule: SuppressionOnly, kind: ValueKind, values: Sequence[object], texts: Sequence[str]) -> LabelledValues:
    """One level, `*`. The domain has no other source than the values given: |H| is their number."""
    return LabelledValues.of(np.ones(len(values), dtype=np.bool_), (), float(len(values)))
