"""Values that represent all labels of a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tableveil.hierarchy.labelled import ValueKind

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
