"""Chooses columns of random tables, and compares the set with the best one of its size, found by brute force."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.drafting import choosing
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
    with _few_chosen(), _counted_once() as loss:
        choice = choosing.choose_columns(columns, kinds, (), (), K)
        repeats = {one.column for one in choice.left if one.reason != choosing.TOO_MANY}
        able = {name: choosing._levels(columns[name], kinds[name]) for name in columns if name not in repeats}
        return choice.loss / min(map(loss, combinations(able.values(), len(choice.chosen)))) - 1


@contextmanager
def _few_chosen() -> Iterator[None]:
    most = choosing.MOST_CHOSEN
    choosing.MOST_CHOSEN = CHOSEN
    try:
        yield
    finally:
        choosing.MOST_CHOSEN = most


@contextmanager
def _counted_once() -> Iterator[Callable[[tuple[choosing._Levels, ...]], float]]:
    """The loss of columns, which the choice and brute force share: a set of columns is recoded once."""
    levels_of, recode = choosing._levels, choosing._recode
    levels: dict[int, choosing._Levels] = {}
    recoded: dict[tuple[choosing._Levels, ...], choosing._Recoded] = {}

    def kept_levels(values: NDArray[np.float64], kind: ValueKind | None) -> choosing._Levels:
        # The table has its arrays until the end.
        return levels.get(id(values)) or levels.setdefault(id(values), levels_of(values, kind))

    def kept(columns: Sequence[choosing._Levels], k: int) -> choosing._Recoded:
        names = tuple(columns)
        return recoded.get(names) or recoded.setdefault(names, recode(columns, k))

    choosing._levels, choosing._recode = kept_levels, kept
    try:
        yield lambda columns: kept(columns, K).loss
    finally:
        choosing._levels, choosing._recode = levels_of, recode


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
