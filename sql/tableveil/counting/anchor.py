"""Chooses the anchor: a transformation so general that its classes fit into memory, and otherwise as fine as it can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import KeyLayout, LevelMaps
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


def choose_anchor(
    levels: Sequence[AttributeLevels], sample: Sequence[NDArray[np.integer[Any]]], rows: int, target: int
) -> Transformation:
    """The anchor for a histogram of `rows` combinations, of which `sample` holds the codes of some, drawn evenly.

    Level by level it raises the attribute that leaves the fewest classes in the sample, until no more than `target` are
    estimated in all. It decides only what is counted where, never what is found.
    """
    maps = LevelMaps(levels)
    at = [0] * len(levels)
    groups = list(sample)
    while _estimated_classes(levels, at, groups, rows) > target:
        best = (math.inf, -1)
        for j in range(len(levels)):
            if at[j] < levels[j].top:
                raised = _raised(maps, groups, at, j)
                keys = _keys(levels, [level + (i == j) for i, level in enumerate(at)], raised)
                best = min(best, (float(len(np.unique(keys))), j))
        j = best[1]
        groups = _raised(maps, groups, at, j)
        at[j] += 1
    return tuple(at)


def _raised(
    maps: LevelMaps, groups: Sequence[NDArray[np.integer[Any]]], at: Sequence[int], j: int
) -> list[NDArray[np.integer[Any]]]:
    return [maps.between(j, at[j], at[j] + 1)[group] if i == j else group for i, group in enumerate(groups)]


def _keys(
    levels: Sequence[AttributeLevels], at: Sequence[int], groups: Sequence[NDArray[np.integer[Any]]]
) -> NDArray[np.int64]:
    layout = KeyLayout.of([len(attribute.leaves[level]) for attribute, level in zip(levels, at, strict=True)])
    key = np.zeros(len(groups[0]), np.int64)
    for word in layout.pack(groups):
        # Distinct enough for an estimate if there is more than one word.
        key = key * np.int64(0x9E3779B97F4A7C15 - 2**64) + word
    return key


def _estimated_classes(
    levels: Sequence[AttributeLevels], at: Sequence[int], groups: Sequence[NDArray[np.integer[Any]]], rows: int
) -> float:
    """Charikar et al. 2000, GEE: classes seen once in the sample stand for sqrt(rows / sample) classes each."""
    _, seen = np.unique(_keys(levels, at, groups), return_counts=True)
    once = int((seen == 1).sum())
    return math.sqrt(max(1.0, rows / max(1, len(groups[0])))) * once + (len(seen) - once)
