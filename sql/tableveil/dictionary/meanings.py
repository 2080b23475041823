"""Whether labels that look alike have one meaning, where a column has labels of several levels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels

Signature = tuple[int, int, float]
"""A group's first code, its number of codes, and its leaves: since hierarchies nest, no two groups share it."""


def ambiguous_levels(levels: AttributeLevels, texts: Sequence[str | None], among: range) -> tuple[int, int] | None:
    """Two levels with a common label that stands for different values; `texts` are the codes' own, for level 0."""
    meanings: dict[str, tuple[Signature, int]] = {}
    for level in among:
        labels = levels.labels[level - 1] if level else texts
        for label, signature in zip(labels, _signatures(levels, level), strict=True):
            # NULL is no text; below the top it stands for itself alone.
            if label is None:
                continue
            earlier, at = meanings.setdefault(label, (signature, level))
            if earlier != signature:
                return at, level
    return None


def _signatures(levels: AttributeLevels, level: int) -> list[Signature]:
    """Per group of the level."""
    groups: NDArray[np.int32] = levels.groups[level]
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    return list(zip(first.tolist(), counts.tolist(), levels.leaves[level].tolist(), strict=True))
