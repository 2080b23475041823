"""Chooses columns of random tables, and compares the set with the best one of its size, found by brute force."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.drafting import ColumnChoice, choosing
from tableveil.hierarchy import ValueKind

Table = dict[str, NDArray[np.float64]]
ROWS = 200
"""The rows of each table."""
CHOSEN, K = 8, 5


def worst_choice(tables: int) -> float:
    """The greatest share by which a chosen set of columns loses more than the best one, over so many tables."""
    return max(map(more_than_best, range(tables)))


def more_than_best(seed: int) -> float:
    """The share by which the set that is chosen of a table's columns loses more than the best one of its size."""
    columns, kinds = random_table(seed)
    levels = {name: choosing._levels(values, kinds[name]) for name, values in columns.items()}

    def loss(names: tuple[str, ...]) -> float:
        return choosing._recode([levels[name] for name in names], K).loss

    choice = _chosen(columns, kinds)
    repeats = {one.column for one in choice.left if one.reason != choosing.TOO_MANY}
    able = [name for name in columns if name not in repeats]
    return choice.loss / min(map(loss, combinations(able, len(choice.chosen)))) - 1


def _chosen(columns: Table, kinds: dict[str, ValueKind | None]) -> ColumnChoice:
    most = choosing.MOST_CHOSEN
    choosing.MOST_CHOSEN = CHOSEN
    try:
        return choosing.choose_columns(columns, kinds, (), (), K)
    finally:
        choosing.MOST_CHOSEN = most


def random_table(seed: int, columns: int = 12) -> tuple[Table, dict[str, ValueKind | None]]:
    """Yes or no, texts, numbers, and columns that tell much of each other."""
    chance = np.random.default_rng(seed)
    common = chance.integers(0, 4, ROWS)
    made: list[Any] = [
        lambda: chance.random(ROWS) < chance.uniform(0.05, 0.5),
        lambda: chance.integers(0, chance.integers(3, 9), ROWS),
        lambda: np.round(chance.normal(50, chance.uniform(3, 15), ROWS)),
        lambda: (common + (chance.random(ROWS) < 0.2) * chance.integers(0, 4, ROWS)) % 4,
    ]
    drawn = chance.integers(0, len(made), columns)
    kinds = {f"c{j}": ValueKind.INTEGER if kind == 2 else ValueKind.TEXT for j, kind in enumerate(drawn)}
    return {f"c{j}": made[kind]().astype(np.float64) for j, kind in enumerate(drawn)}, dict(kinds)
