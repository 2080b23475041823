"""The evidence that people have other keys than in an earlier release: their rows recur, and their keys do not.

The rows of keys that are gone are compared with those of new keys, in the columns that stay the same for people whom
both tables know. By chance, such rows agree as often as those of different people do: as rows within either table, as
rows of people who stayed with rows of others, or as columns that have nothing to do with each other.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tableveil.disclosure.accident import tail_bits
from tableveil.drafting import Meaning, meaning_of
from tableveil.errors import listed, shortened
from tableveil.state.sketches import RowsOfKeys

ENOUGH_BITS = 14
"""An event less likely than one in 2^14 = 16,384 is no accident."""

FEWEST = 3
"""So many rows must recur."""

ODDS = 1.5
"""So many times the odds by chance they must have: what tables tell of chance is not exact."""

KNOWN = 20
"""So many people whom both tables know say which columns stay the same."""

STABLE = 0.8
"""The share of these people who have the same value of such a column."""

_MOST_LEFT_OUT = 2
_FEW_COLUMNS = 8

_UNSEEN = 1
"""So many more pairs of a table may agree than were seen."""

_ONE_EACH = 0.8
"""The share of different values from which a column is nearly unique."""

_EXPECTED = 8
"""Where so many pairs of rows agree by chance, hardly ever fewer than half do."""

_MOST_NAMED = 3

ALIKE = 0.3
"""Columns of other names may be the same if they have so much in common."""

Cells = NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class NewKeys:
    """So many `rows` of `new` keys recur among those of keys that are `gone`, about `by_chance` of them by accident.

    They agree in the `columns`. All are counted in samples if it is `sampled`.
    """

    rows: int
    new: int
    gone: int
    by_chance: float
    columns: tuple[str, ...]
    sampled: bool

    def told(self, release: str) -> str:
        """The evidence, with the name of the release."""
        sampled = " sampled" * self.sampled
        return (
            f"{self.rows:,} of {self.new:,}{sampled} people whom {release} does not know have the same {self.same} as "
            f"one of {self.gone:,} there whose key is gone, and by chance {self.chance} would"
        )

    @property
    def same(self) -> str:
        """The columns, in words."""
        return listed([shortened(name) for name in self.columns], _MOST_NAMED)

    @property
    def chance(self) -> str:
        """How many rows recur by chance, in words."""
        return "fewer than 1" if self.by_chance < 1 else f"about {self.by_chance:,.0f}"


def new_keys(theirs: RowsOfKeys, mine: RowsOfKeys) -> NewKeys | None:
    """The evidence in the rows of an earlier table and of a new one; None if there is none beyond chance."""
    scale = max(theirs.scale, mine.scale)
    theirs, mine = theirs.at(scale), mine.at(scale)
    _, here, there = np.intersect1d(theirs.values, mine.values, assume_unique=True, return_indices=True)
    return _likeliest(theirs, mine, _columns(theirs, mine), (here, there))


def no_old_keys(theirs: RowsOfKeys, mine: RowsOfKeys) -> NewKeys | None:
    """The evidence where no key tells: as if all of the new table's were new. Equal numbers may be of different people.

    Columns of nearly unique values may number rows of both, or be their dates: they are left out. Births number nobody.
    """
    scale = max(theirs.scale, mine.scale)
    theirs, mine = theirs.at(scale), mine.at(scale)
    pairs = [
        (i, j)
        for i, j in _columns(theirs, mine)
        if Meaning.BIRTH in (meaning_of(theirs.columns[i]), meaning_of(mine.columns[j]))
        or not (_nearly_unique(theirs.cells[:, i]) or _nearly_unique(mine.cells[:, j]))
    ]
    nobody = np.empty(0, np.intp)
    return _likeliest(theirs, mine, pairs, (nobody, nobody)) if len(pairs) > 1 else None


def _likeliest(
    theirs: RowsOfKeys,
    mine: RowsOfKeys,
    pairs: Sequence[tuple[int, int]],
    known: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> NewKeys | None:
    """The evidence in those of the pairs of columns that agree most beyond chance; people at the places are `known`."""
    here, there = known
    gone = np.delete(np.arange(len(theirs.values)), here)
    new = np.delete(np.arange(len(mine.values)), there)
    if min(len(gone), len(new)) < FEWEST or not pairs:
        return None
    rows_theirs, rows_mine = theirs.cells[:, [i for i, _ in pairs]], mine.cells[:, [j for _, j in pairs]]
    tried = [*_tried(rows_theirs[here], rows_mine[there])]
    best: tuple[float, NewKeys] | None = None
    for some in tried:
        before, now = rows_theirs[:, some], rows_mine[:, some]
        if not len(here) and (_by_design(before) or _by_design(now)):
            continue
        found, by_chance, smaller = _recurring(before, now, here, there, gone, new)
        bits = tail_bits(found, smaller, by_chance) - np.log2(len(tried))
        beyond = found * (1 - by_chance) >= ODDS * by_chance * (smaller - found)
        beyond = beyond and found >= FEWEST and bits >= ENOUGH_BITS
        if beyond and (best is None or bits > best[0]):
            names = tuple(mine.columns[pairs[place][1]] for place in some)
            best = bits, NewKeys(found, len(new), len(gone), by_chance * smaller, names, mine.scale > 0)
    return None if best is None else best[1]


def _nearly_unique(cells: NDArray[np.uint16]) -> bool:
    return len(np.unique(cells)) >= _ONE_EACH * len(cells)


def _columns(theirs: RowsOfKeys, mine: RowsOfKeys) -> list[tuple[int, int]]:
    """The positions of columns of one name, which have values in most rows of both tables.

    Where most columns have other names, those of nearly the same values are taken for the same as well.
    """
    here, there = (
        {
            rows.columns[i].casefold(): i
            for i in range(rows.cells.shape[1])
            if 2 * rows.cells[:, i].astype(bool).sum() > len(rows.cells)
        }
        for rows in (mine, theirs)
    )
    pairs = [(there[name], j) for name, j in here.items() if name in there]
    if 2 * len(pairs) < min(len(here), len(there)):
        new, old = (
            [i for name, i in columns.items() if not (name in here and name in there)] for columns in (here, there)
        )
        alike = _alike(theirs.cells[:, old], mine.cells[:, new])
        while alike.size and alike.max() >= ALIKE:
            i, j = np.unravel_index(alike.argmax(), alike.shape)
            pairs.append((old[i], new[j]))
            alike[i], alike[:, j] = 0, 0
    return pairs


def _alike(theirs: Cells, mine: Cells) -> NDArray[np.float64]:
    """The part of each column that each other one has as well, by values and how often they are there."""
    values, codes = np.unique(np.concatenate([theirs.ravel(), mine.ravel()]), return_inverse=True)
    before, now = codes[: theirs.size].reshape(theirs.shape), codes[theirs.size :].reshape(mine.shape)
    shares = [
        np.array([np.bincount(column, minlength=len(values)) / len(cells) for column in cells.T]) * (values > 0)
        for cells in (before, now)
    ]
    return np.array([np.minimum(one, shares[1]).sum(1) for one in shares[0]])


def _tried(before: Cells, now: Cells) -> Iterator[Sequence[int]]:
    """The columns that stay the same, where enough people are known; else all, and most of them."""
    columns = range(before.shape[1])
    if len(before) >= KNOWN:
        same = np.mean((before == now) | (before == 0) | (now == 0), axis=0)
        if stable := [column for column in columns if same[column] >= STABLE]:
            yield stable
        return
    least = len(columns) // 2 + 1 if len(columns) <= _FEW_COLUMNS else len(columns) - _MOST_LEFT_OUT
    for size in range(least, len(columns) + 1):
        yield from combinations(columns, size)


def _recurring(
    before: Cells,
    now: Cells,
    here: NDArray[np.intp],
    there: NDArray[np.intp],
    gone: NDArray[np.intp],
    new: NDArray[np.intp],
) -> tuple[int, float, int]:
    """How many rows of new keys are rows of keys that are gone, how probable it is of one, and of how many."""
    whole_before, whole_now = (before > 0).all(axis=1), (now > 0).all(axis=1)
    _, codes = np.unique(np.concatenate([before, now]), axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    width = int(codes.max(initial=0)) + 1

    def counted(rows: NDArray[np.intp], *, of_now: bool) -> NDArray[np.float64]:
        kept = rows[(whole_now if of_now else whole_before)[rows]]
        return np.bincount(codes[kept + len(before) * of_now], minlength=width).astype(float)

    leavers, newcomers = counted(gone, of_now=False), counted(new, of_now=True)
    stay, stayed = counted(there, of_now=True), counted(here, of_now=False)
    sizes = leavers.sum(), newcomers.sum()
    smaller, larger = sorted(sizes)
    if smaller < FEWEST:
        return 0, 1.0, int(smaller)
    by_chance = max(
        # There are other people in either table, and all are different ones.
        *(_again(rows, larger, _UNSEEN) for rows in (leavers + stayed, newcomers + stay)),
        *(_again(rows, larger, 0) for rows in (leavers, newcomers)),
        *(_among(rows, others, larger) for rows, others in ((leavers, stay), (newcomers, stayed))),
    )
    old, fresh = before[gone[whole_before[gone]]], now[new[whole_now[new]]]
    alike = larger * _independent(old, fresh)
    if alike > by_chance:
        # Where each combination is there once, as by design, a row of it is in any other such table.
        regular = any(
            _twins(rows) < _independent(cells, cells) / 2
            for rows, cells in ((leavers + stayed, before[whole_before]), (newcomers + stay, now[whole_now]))
        )
        by_chance = max(by_chance, alike if regular else max(_met(old, fresh, larger), _met(fresh, old, larger)))
    return int(np.minimum(leavers, newcomers).sum()), min(1.0, by_chance), int(smaller)


def _by_design(cells: Cells) -> bool:
    """Whether far fewer rows agree than by chance: they follow a plan, such as months in turn, that others have too."""
    cells = cells[(cells > 0).all(axis=1)]
    _, counts = np.unique(cells, axis=0, return_counts=True)
    by_chance = math.prod(_twins(np.bincount(column).astype(float)) for column in cells.T)
    return by_chance * len(cells) ** 2 / 2 >= _EXPECTED and _twins(counts.astype(float)) < by_chance / 2


def _twins(rows: NDArray[np.float64]) -> float:
    """How probable it is that two rows agree."""
    number = float(rows.sum())
    return float((rows * (rows - 1)).sum()) / max(1.0, number * (number - 1))


def _again(rows: NDArray[np.float64], others: float, unseen: int) -> float:
    """How probable it is that one of these rows is among so many others: as among as many of the rest of them.

    It is Good's estimate of coverage (1953), of a part of a sample. More others than there are have it oftener.
    """
    number = float(rows.sum())
    if number < 2:
        return 0.0
    part = min(1.0, others / (number - 1))
    alone = (1 - part) ** np.maximum(rows - 1, 0)
    covered = float((rows * (1 - alone)).sum()) / number
    return covered * max(1.0, others / (number - 1)) + others * unseen * 2 / (number * (number - 1))


def _among(rows: NDArray[np.float64], others: NDArray[np.float64], larger: float) -> float:
    """How probable it is that one of these rows is among so many like the others."""
    if not rows.sum() or not others.sum():
        return 0.0
    return float((rows * (1 - (1 - others / others.sum()) ** larger)).sum() / rows.sum())


def _met(rows: Cells, others: Cells, larger: float) -> float:
    """How probable it is that one of these rows is among so many others, if their columns have nothing to do."""
    shares = [np.bincount(others[:, i], minlength=2**16)[rows[:, i]] / len(others) for i in range(rows.shape[1])]
    return float(np.mean(1 - np.exp(-larger * np.prod(shares, axis=0))))


def _independent(before: Cells, now: Cells) -> float:
    """How probable it is that two rows agree if columns have nothing to do with each other."""
    alike = 1.0
    for i in range(before.shape[1]):
        values, counts = np.unique(before[:, i], return_counts=True)
        others, other_counts = np.unique(now[:, i], return_counts=True)
        _, here, there = np.intersect1d(values, others, assume_unique=True, return_indices=True)
        alike *= float((counts[here].astype(float) * other_counts[there]).sum()) / (len(before) * len(now))
    return alike
