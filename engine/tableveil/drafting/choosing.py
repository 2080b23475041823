"""Chooses the columns of a wide table that a release keeps: repeats go first, then those that cost the others most.

With many columns hardly two rows are alike, so that a release of all of them is a table of `*`. The choice is made on
some of the rows, by a quick recoding of them that goes from the top of all hierarchies down.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import ValueKind

MOST_CHOSEN, FEWEST_CHOSEN = 12, 8
"""So many columns are kept at most, and so many at least."""

MOST_COMPARED = 13
"""From so many columns on, the one to go is found by trying each."""

MOST_HIDDEN = 0.75
"""The share of `*` in a column from which another column goes; releases differ a little from the quick recoding."""

_OFTEN_HIDDEN = 0.6
"""The share for a column without intervals: releases keep more of dates than the quick recoding, and less of others."""

_MOST_DAYS = 31
"""A part of a date beyond is its year."""

_NEARLY_ALL = 0.97
"""Where so many rows have one value, a column tells of few people, and singles these out."""

_BINS = (16, 8, 4, 2)
_SUPPRESSED = 0.05
_OFFERED = 3

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Left:
    """A column that is left out, with the reason as the end of a sentence; `of` is the column that it repeats."""

    column: str
    reason: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The chosen columns with their loss by the quick recoding, and those that are left out.

    `offered` are columns to keep beside the chosen ones, with the loss of all of them.
    """

    chosen: tuple[str, ...]
    loss: float = 0.0
    left: tuple[Left, ...] = ()
    offered: tuple[tuple[str, float], ...] = ()


CONSTANT = "all or nearly all rows have one value"
REPEATS = "they repeat another column"
PART_OF_DATE = "they are a part of a date"
TOO_MANY = "with more columns hardly two rows are alike"


def choose_columns(
    columns: Mapping[str, Numbers],
    kinds: Mapping[str, ValueKind | None],
    kept: Collection[str],
    first: Sequence[str],
    k: int,
) -> ColumnChoice:
    """The columns to release, in the order of `columns`, which has the values of some rows as numbers, NaN for NULL.

    Args:
        columns: Numbers and days keep their order and distance; other values have any number of their own.
        kinds: The kinds of the columns' values.
        kept: The columns that stay whatever they cost.
        first: The columns that matter more than all others.
        k: The least rows of a class.
    """
    left = [*_repeats(columns, kinds, kept, first)]
    gone = {one.column for one in left}
    names = [name for name in columns if name not in gone]
    if not names:
        return ColumnChoice((), 0.0, tuple(left))
    dated = [one.column for one in left if one.reason == PART_OF_DATE]
    years = {name: columns[name] for name in dated if np.nanmin(columns[name]) > _MOST_DAYS}
    chosen, loss, offered = _least_loss({name: columns[name] for name in names}, years, kinds, kept, first, k)
    left = [one for one in left if one.column not in chosen]
    left += [Left(name, TOO_MANY) for name in names if name not in chosen]
    return ColumnChoice(tuple(name for name in columns if name in chosen), loss, tuple(left), offered)


def hiding(
    columns: Mapping[str, Numbers], kinds: Mapping[str, ValueKind | None], hidden: str, k: int
) -> tuple[str, float] | None:
    """The column without which least of a hidden one is `*`, and the share of that; None if no column helps.

    The other arguments are as in `choose_columns`.
    """
    levels = {name: _levels(values, kinds[name]) for name, values in columns.items()}
    shares = {}
    for other in columns:
        names = [name for name in columns if name != other]
        if other != hidden:
            shares[other] = _recode([levels[name] for name in names], k).hidden[names.index(hidden)]
    best = min(shares, key=lambda name: shares[name], default=None)
    return None if best is None or shares[best] > MOST_HIDDEN else (best, shares[best])


# --- repeats --------------------------------------------------------------------------------------------------------


def _repeats(
    columns: Mapping[str, Numbers], kinds: Mapping[str, ValueKind | None], kept: Collection[str], first: Sequence[str]
) -> Iterator[Left]:
    """Columns that say nothing, or what another one says."""
    codes = {name: _coded(values) for name, values in columns.items()}
    dates = [name for name in columns if kinds[name] in (ValueKind.DATE, ValueKind.TIMESTAMP)]
    parts = {part: name for name in dates for part in _parts_of(columns, kinds, name)}
    seen: dict[tuple[int, bytes], str] = {}

    def order(name: str) -> tuple[bool, bool, bool]:
        return name not in kept, name not in first, kinds[name] is not ValueKind.TEXT

    # If two say the same, the one that somebody keeps stays, then one that is known to matter, then a label.
    for name in sorted(columns, key=order):
        sizes = np.bincount(codes[name])
        if name in kept:
            pass
        elif sizes.max() > _NEARLY_ALL * len(codes[name]):
            yield Left(name, CONSTANT)
            continue
        elif name in parts:
            yield Left(name, PART_OF_DATE, parts[name])
            continue
        # Columns in which nearly all rows differ are not the same for that.
        key = (len(sizes), codes[name].tobytes())
        if 2 * len(sizes) <= len(codes[name]):
            if name not in kept and key in seen:
                yield Left(name, REPEATS, seen[key])
                continue
            seen.setdefault(key, name)


def _coded(values: Numbers) -> Codes:
    """Numbers of the values by their first rows: two columns that tell the same rows apart have equal ones."""
    _, at, index = np.unique(values, return_index=True, return_inverse=True, equal_nan=True)
    order = np.empty(len(at), np.int64)
    order[np.argsort(at, kind="stable")] = np.arange(len(at))
    codes: Codes = order[index.reshape(-1)]
    return codes


def _parts_of(columns: Mapping[str, Numbers], kinds: Mapping[str, ValueKind | None], name: str) -> Iterator[str]:
    """The columns that are the year, the quarter, the month or the day of a date in all rows that have both."""
    seconds = columns[name]
    filled = np.isfinite(seconds)
    days = np.floor(np.where(filled, seconds, 0) / 86_400).astype("datetime64[D]")
    years, months = days.astype("datetime64[Y]"), days.astype("datetime64[M]")
    month = (months - years.astype("datetime64[M]")).astype(np.int64) + 1
    day = (days - months.astype("datetime64[D]")).astype(np.int64) + 1
    for other, numbers in columns.items():
        both = filled & np.isfinite(numbers)
        if kinds[other] not in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT) or both.sum() < 2:
            continue
        for part in (years.astype(np.int64) + 1970, (month + 2) // 3, month, day):
            if np.array_equal(part[both], numbers[both]) and len(np.unique(part[both])) > 1:
                yield other
                break


# --- the least loss -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """A column's groups at each level from its values to `*`, per row, and how much of the column a label hides."""

    groups: list[Codes]
    costs: list[float]
    sizes: list[int]


@dataclass(slots=True)
class _Recoded:
    """The quick recoding: the loss of each column, and the share of rows in which it is hidden."""

    losses: list[float] = field(default_factory=list)
    hidden: list[float] = field(default_factory=list)

    @property
    def loss(self) -> float:
        """The mean of all columns."""
        return float(np.mean(self.losses))


FEW_COLUMNS = 12
"""The loss alone decides among so few columns: what is left of each gave sets that lose a tenth more than the best."""

MOST_SETS = 500
"""So many sets of columns are compared all: 8 of 12 are 495."""

_Recode = Callable[[Sequence[str]], _Recoded]


def _least_loss(
    columns: Mapping[str, Numbers],
    years: Mapping[str, Numbers],
    kinds: Mapping[str, ValueKind | None],
    kept: Collection[str],
    first: Sequence[str],
    k: int,
) -> tuple[list[str], float, tuple[tuple[str, float], ...]]:
    levels = {name: _levels(values, kinds[name]) for name, values in {**columns, **years}.items()}
    names = _fewer(columns, [name for name in columns if name in kept], first)
    removed: list[str] = []

    def recoded(some: Sequence[str]) -> _Recoded:
        return _recode([levels[name] for name in some], k)

    while True:
        result = recoded(names)
        free = [name for name in names if name not in kept]
        hides = max(result.hidden, default=0.0) > MOST_HIDDEN and len(names) > FEWEST_CHOSEN
        if not free or not (hides or len(names) > MOST_CHOSEN):
            break
        # Columns that are known to matter stay while others can go.
        others = [name for name in free if name not in first] or free
        if len(names) > MOST_COMPARED:
            gone = max(others, key=lambda name: result.losses[names.index(name)])
        else:
            gone = min(others, key=lambda name: recoded([one for one in names if one != name]).loss)
        names.remove(gone)
        removed.append(gone)
    exchanged = _exchanged(columns, names, [name for name in removed if name not in first], kept, first, recoded)
    if len(columns) > FEW_COLUMNS:
        # A year costs little beside its date, and tells more than a column that is `*`.
        most = {name: MOST_HIDDEN if len(one.groups) > 2 else _OFTEN_HIDDEN for name, one in levels.items()}
        most |= dict.fromkeys(kept, 1.0)
        exchanged = _shown([*columns, *years], exchanged, [*removed, *years], most, recoded)
    return exchanged, recoded(exchanged).loss, _offers(exchanged, removed, recoded)


def _exchanged(
    columns: Collection[str],
    names: list[str],
    removed: Sequence[str],
    kept: Collection[str],
    first: Sequence[str],
    recoded: _Recode,
) -> list[str]:
    """The set that loses least, or where there are many, one that no exchange of one or two columns makes better."""
    free = [name for name in names if name not in kept and name not in first]
    if comb(len(free) + len(removed), len(free)) <= MOST_SETS:
        fixed = {name for name in names if name not in free}
        # The quick recoding depends on the order of the columns, so all sets have that of the table.
        pool = [name for name in columns if name in names or name in removed]
        sets = ([*some] for some in combinations(pool, len(names)) if fixed <= {*some})
        return min(sets, key=lambda some: recoded(some).loss)
    best = recoded(names).loss
    while True:
        free = [name for name in names if name not in kept and name not in first]
        others = [name for name in removed if name not in names]
        for number in (1, 2):
            pairs = product(combinations(free, number), combinations(others, number))
            swaps = [[*(name for name in names if name not in gone), *came] for gone, came in pairs]
            losses = [recoded(swapped).loss for swapped in swaps]
            if min(losses, default=best) < best - 1e-9:
                best = min(losses)
                names = swaps[losses.index(best)]
                break
        else:
            return names


def _shown(
    columns: Collection[str], names: list[str], removed: Sequence[str], most: Mapping[str, float], recoded: _Recode
) -> list[str]:
    """The set in which columns that are `*` in too many rows have given way to others, also those that matter."""

    def hidden_of(some: Sequence[str], result: _Recoded) -> dict[str, float]:
        return {name: share for name, share in zip(some, result.hidden, strict=True) if share > most[name]}

    def rank(some: Sequence[str]) -> tuple[int, float]:
        result = recoded(some)
        return len(hidden_of(some, result)), result.loss

    while hidden := hidden_of(names, recoded(names)):
        stay = {*names} - {max(hidden, key=lambda name: hidden[name])}
        sets = [[name for name in columns if name in {*stay, other}] for other in removed if other not in names]
        better = min(sets, key=rank, default=names)
        if rank(better) >= rank(names):
            break
        names = better
    return names


def _offers(names: Sequence[str], removed: Sequence[str], recoded: _Recode) -> tuple[tuple[str, float], ...]:
    """The columns that were removed last, each with the loss of the chosen ones beside it."""
    others = [name for name in reversed(removed) if name not in names][: 2 * _OFFERED]
    losses = {name: recoded([*names, name]).loss for name in others}
    return tuple(sorted(losses.items(), key=lambda offer: offer[1])[:_OFFERED])


def _fewer(columns: Mapping[str, Numbers], kept: Sequence[str], first: Sequence[str]) -> list[str]:
    """The kept columns, the first ones, and others that add least to the different rows, up to a few too many."""
    names = [*kept, *(name for name in first if name in columns and name not in kept)]
    codes = {name: _coded(values) for name, values in columns.items()}
    together = np.zeros(len(next(iter(codes.values()), ())), np.int64)
    for name in names:
        together = _joined(together, codes[name])
    others = [name for name in columns if name not in names]
    # Joint counts take long: those that differ least by themselves come first.
    others = sorted(others, key=lambda name: _entropy(codes[name]))[: 4 * MOST_CHOSEN]
    while others and len(names) < MOST_CHOSEN + 4:
        least = min(others, key=lambda name: _entropy(_joined(together, codes[name])))
        together = _joined(together, codes[least])
        names.append(least)
        others.remove(least)
    return names


def _joined(one: Codes, other: Codes) -> Codes:
    joined: Codes = np.unique(one * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1].reshape(-1)
    return joined


def _entropy(codes: Codes) -> float:
    sizes = np.bincount(codes)
    shares = sizes[sizes > 0] / max(len(codes), 1)
    return float(-(shares * np.log2(shares)).sum())


def _levels(values: Numbers, kind: ValueKind | None) -> _Levels:
    """Values, intervals of equal widths for numbers and days, and `*`; NULL is a value of its own."""
    codes = _coded(values)
    groups, costs = [codes], [0.0]
    filled = np.isfinite(values)
    if kind is not ValueKind.TEXT and kind is not ValueKind.BOOLEAN and len(np.unique(codes)) > _BINS[0]:
        least, span = values[filled].min(), float(np.ptp(values[filled])) or 1.0
        for bins in _BINS:
            number = np.minimum((np.where(filled, values - least, 0) / span * bins).astype(np.int64), bins - 1)
            groups.append(np.where(filled, number, bins))
            costs.append(1 / bins)
    groups.append(np.zeros(len(codes), np.int64))
    costs.append(1.0)
    return _Levels(groups, costs, [int(one.max(initial=0)) + 1 for one in groups])


def _recode(columns: Sequence[_Levels], k: int) -> _Recoded:
    """Splits the rows by one column a level finer, as long as classes of k stay: the split that shows most comes first.

    Rows of groups that are too small stay behind with that column's label, or are suppressed, up to some.
    """
    rows = len(columns[0].groups[0]) if columns else 0
    room = int(_SUPPRESSED * rows)
    losses, hidden = np.zeros(len(columns)), np.zeros(len(columns))
    open_ = [(np.arange(rows), [len(one.groups) - 1 for one in columns], [True] * len(columns))]
    while open_:
        inside, at, splits = open_.pop()
        best, most = None, 0.0
        for j, one in enumerate(columns):
            if at[j] == 0 or not splits[j] or len(inside) < k:
                continue
            counts = np.bincount(one.groups[at[j] - 1][inside], minlength=one.sizes[at[j] - 1])
            small, large = int(counts[counts < k].sum()), counts[counts >= k]
            if not len(large):
                splits[j] = False
                continue
            stay = 0 if small <= min(room, 1 + len(inside) // 20) else small
            if 0 < stay < k:
                if len(large) < 2:
                    splits[j] = False
                    continue
                stay += int(large.min())
            gain = (len(inside) - stay - small * (not stay)) * (one.costs[at[j]] - one.costs[at[j] - 1])
            gain /= np.log2(1 + len(large) + (stay > 0))
            if gain > most:
                best, most = j, gain
        if best is None:
            for j, one in enumerate(columns):
                losses[j] += len(inside) * one.costs[at[j]]
                hidden[j] += len(inside) * (at[j] == len(one.groups) - 1)
            continue
        one = columns[best]
        group = one.groups[at[best] - 1][inside]
        counts = np.bincount(group, minlength=one.sizes[at[best] - 1])
        stays = (counts > 0) & (counts < k)
        small = int(counts[stays].sum())
        if 0 < small <= min(room, 1 + len(inside) // 20):
            room -= small
            losses += small
        elif small:
            if small < k:
                stays[np.argmin(np.where(counts >= k, counts, rows + 1))] = True
            open_.append((inside[stays[group]], at, [split and j != best for j, split in enumerate(splits)]))
        finer = [level - (j == best) for j, level in enumerate(at)]
        large = np.flatnonzero((counts >= k) & ~stays)
        open_ += [(inside[group == number], finer, list(splits)) for number in large]
    return _Recoded((losses / max(rows, 1)).tolist(), (hidden / max(rows, 1)).tolist())
