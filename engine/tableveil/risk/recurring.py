"""Columns whose values recur as those of a column do that numbers people: judged by the rows, whatever its name is.

Rows of one person agree in what does not change: sex, birth, home, insurer. Rows that share a place, a ward or a date
agree in what is a part of it, and differ in the people. So a column numbers people if the rows of its values

1. agree in at least two columns of which neither tells the other, as a city tells its county, and far oftener than rows
   that are paired at random;
2. are no cells of these columns, such as the strata of a survey;
3. agree in sex and birth, where columns are named so, or else in as many columns as they differ in: members of a
   household differ.

Somebody is known by quasi-identifiers: without a sex or birth, one of the columns has to be one. A column named as an
age numbers nobody, though bands and tariffs follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

NEARLY_CONSTANT = 0.9
"""Rows agree in a column from this part of the way on from an agreement by chance to that of equal rows."""

VARYING = 0.5
"""Rows differ in a column below this part of the way."""

FEWEST_VALUES = 10
"""A column of fewer values has groups."""

FEW_VALUES = 100
MOST_ROWS_OF_FEW = 100
"""A column of so few values, with more rows than these for each, has groups, too."""

FEWEST_PAIRS = 5
"""Fewer values may recur by accident."""

MOST_PAIRS = 2**13
"""Pairs of rows that are compared."""

_FINER = 0.97
"""The share of the pairs of a cell that may have one value of a column that distinguishes the people of the cell."""

_CONSTANT_FOR_ALL = 0.95
"""From this agreement of any two rows on, a column says nothing."""

_FEWEST_DIGITS = 6
"""Rows paired at random agree so seldom, as a power of ten: one in a million times, and as often for each choice."""

_CLOSE = 0.25
"""Numbers are nearly the same within this part of their usual distance."""

_NEARLY_UNIQUE = 0.9
_MOST_SEXES = 6


class Hint(Enum):
    """The meaning of a column by its name: sex and birth never change, and an age hardly does."""

    SEX = "sex"
    BIRTH = "birth"
    AGE = "age"


@dataclass(frozen=True, eq=False)
class SampledColumn:
    """A column of some rows, which are in an order that says nothing of them.

    Attributes:
        hashes: A hash of each row's value; 0 for NULL.
        numbers: The values of a column of numbers, NaN for NULL: close ones, such as ages, are nearly the same.
        hint: The meaning that its name suggests, if any.
        decides: Whether rows that differ in it seem to be of different people. Dates do not: things happen again.
    """

    hashes: NDArray[np.uint64]
    numbers: NDArray[np.float64] | None = None
    hint: Hint | None = None
    decides: bool = True

    @cached_property
    def different(self) -> int:
        """The number of different values; NULL is none."""
        return len(self._counts)

    @cached_property
    def _counts(self) -> NDArray[np.intp]:
        """The rows of each value."""
        counts: NDArray[np.intp] = np.unique(self.hashes[self.hashes != 0], return_counts=True)[1]
        return counts

    @cached_property
    def by_chance(self) -> float:
        """The share of the pairs of rows with a value that agree."""
        rows = int(self._counts.sum())
        return float(np.sum(self._counts / rows * ((self._counts - 1) / (rows - 1)))) if rows > 1 else 1.0

    @cached_property
    def usual_distance(self) -> float:
        """The median distance of the numbers of any two rows; larger ones count as this one."""
        first, second = self._any
        if self.numbers is None or not len(first):
            return 0.0
        return float(np.median(np.abs(self.numbers[first] - self.numbers[second])))

    @cached_property
    def says_something(self) -> bool:
        """Whether rows that agree in it are rare, and there are some."""
        return self.by_chance <= _CONSTANT_FOR_ALL and self.different < _NEARLY_UNIQUE * len(self.hashes)

    def constancy(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> float | None:
        """How far pairs of rows agree, from 0 for any rows to 1 for equal ones; None if it does not show."""
        agreement = self.agreement(first, second)
        return None if agreement is None else agreement.constancy

    def agreement(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> PairsAlike | None:
        """How far pairs of rows agree; None if it does not show."""
        if not self.says_something:
            return None
        present = (self.hashes[first] != 0) & (self.hashes[second] != 0)
        pairs = int(np.count_nonzero(present))
        if pairs < FEWEST_PAIRS:
            return None
        first, second = first[present], second[present]
        alike = int(np.count_nonzero(self.hashes[first] == self.hashes[second]))
        equal = PairsAlike(pairs, alike, (alike / pairs - self.by_chance) / (1 - self.by_chance), self.by_chance)
        if self.numbers is None or not self.usual_distance:
            return equal
        near = 1 - self._distance(first, second) / self._distance_by_chance
        if near <= equal.constancy:
            return equal
        return PairsAlike(pairs, self._close(first, second), near, self._close(*self._any) / len(self._any[0]), True)

    def _close(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> int:
        assert self.numbers is not None, "only numbers have distances"
        distances = np.abs(self.numbers[first] - self.numbers[second])
        return int(np.count_nonzero(distances <= _CLOSE * self.usual_distance))

    def _distance(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> float:
        assert self.numbers is not None, "only numbers have distances"
        return float(np.mean(np.minimum(np.abs(self.numbers[first] - self.numbers[second]), self.usual_distance)))

    @cached_property
    def _distance_by_chance(self) -> float:
        return self._distance(*self._any)

    @cached_property
    def _any(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs of any two rows that have values."""
        present = np.flatnonzero(self.hashes)
        second = np.roll(present, len(present) // 2)
        return present[: 4 * MOST_PAIRS], second[: 4 * MOST_PAIRS]


@dataclass(frozen=True, slots=True)
class PairsAlike:
    """How far pairs of rows agree in a column.

    Attributes:
        pairs: The pairs of which both rows have a value.
        alike: The pairs that have the same value; if `nearly`, numbers that are close.
        constancy: How far they agree, from 0 for any rows to 1 for equal ones.
        by_chance: The share of any pairs of rows that are alike.
        nearly: Whether close numbers count.
    """

    pairs: int
    alike: int
    constancy: float
    by_chance: float
    nearly: bool = False

    @property
    def digits(self) -> float:
        """How seldom pairs of rows at random are as often alike, as a power of ten."""
        with np.errstate(divide="ignore"):
            return float(-np.log10(bdtrc(self.alike - 1, self.pairs, min(max(self.by_chance, _TINY), 1.0))))


_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A column that recurs as people do, by its position.

    Attributes:
        position: The column.
        agreeing: The columns in which its rows agree, each with how far they do.
        different: How many different values it has in the sample.
    """

    position: int
    agreeing: tuple[tuple[int, PairsAlike], ...]
    different: int


def recurrences(columns: Sequence[SampledColumn], rows: Sequence[NDArray[np.intp]]) -> Iterator[Recurrence]:
    """The columns that number people of whom some have several rows.

    Args:
        columns: All columns.
        rows: For each column the rows by which it is judged: of some of its values all rows, or of all values some.
    """
    for position, of in enumerate(rows):
        if len(of) and (recurrence := _recurrence(columns, position, of)) is not None:
            yield recurrence


def _recurrence(columns: Sequence[SampledColumn], position: int, rows: NDArray[np.intp]) -> Recurrence | None:
    if columns[position].hint is Hint.AGE:
        return None
    own = columns[position].hashes
    rows = rows[own[rows] != 0]
    rows = rows[np.argsort(own[rows], kind="stable")]
    starts = np.flatnonzero(own[rows] != np.append(np.zeros(1, np.uint64), own[rows[:-1]]))
    repeated = starts[np.diff(starts, append=len(rows)) > 1][:MOST_PAIRS]
    if len(starts) < FEWEST_VALUES or len(repeated) < FEWEST_PAIRS:
        return None
    agreements = {
        j: agreement
        for j, other in enumerate(columns)
        if j != position and (agreement := other.agreement(rows[repeated], rows[repeated + 1])) is not None
    }
    constancies = {j: agreement.constancy for j, agreement in agreements.items()}
    constant = [j for j, constancy in constancies.items() if constancy >= NEARLY_CONSTANT]
    differing = [j for j, constancy in constancies.items() if constancy < VARYING]
    if len(constant) < 2 or _are_of_different_people(columns, differing, constant):
        return None
    # One row of each value: values of many rows must not decide which column tells another.
    people = np.sort(rows[starts])
    crossed = _crossed(columns, constant, people)
    named = any(columns[j].hint in _LASTING for j in constant)
    if not named and not any(columns[j].decides for j in constant):
        return None
    against = 0 if named else sum(columns[j].decides for j in differing)
    if len(crossed) < max(2, against + 1):
        return None
    # Each column was tried, with each of the others.
    if sum(agreements[j].digits for j in crossed) < _FEWEST_DIGITS + 2 * np.log10(len(columns)):
        return None
    lasting = [j for j, constancy in constancies.items() if constancy >= VARYING]
    shared = [j for j in lasting if _is_shared(columns[j], people)]
    if _is_of_cells(columns, position, shared, _crossed(columns, lasting, people), np.sort(rows)):
        return None
    return Recurrence(position, tuple((j, agreements[j]) for j in constant), len(starts))


_LASTING = (Hint.SEX, Hint.BIRTH)


def _are_of_different_people(
    columns: Sequence[SampledColumn], differing: Sequence[int], constant: Sequence[int]
) -> bool:
    """Whether columns say so that are named after what does not change."""

    def lasts(column: SampledColumn) -> bool:
        # A genre may be of films.
        return column.hint is Hint.BIRTH or (column.hint is Hint.SEX and column.different <= _MOST_SEXES)

    if any(lasts(columns[j]) for j in differing):
        return True
    # Over many years, an age changes.
    return any(columns[j].hint is Hint.AGE for j in differing) and not any(lasts(columns[j]) for j in constant)


def _crossed(columns: Sequence[SampledColumn], constant: Sequence[int], people: NDArray[np.intp]) -> list[int]:
    """Columns of which none tells another, those of fewest values first."""
    crossed: list[int] = []
    for j in sorted(constant, key=lambda j: -columns[j].by_chance):
        if not any(_tells(columns, *pair, people) for other in crossed for pair in ((j, other), (other, j))):
            crossed.append(j)
    return crossed


def _tells(columns: Sequence[SampledColumn], by: int, of: int, rows: NDArray[np.intp]) -> bool:
    """Whether a column tells another, or too few of its values recur to say that it does not."""
    rows = rows[columns[by].hashes[rows] != 0]
    constancy = columns[of].constancy(*_pairs(columns[by].hashes[rows], rows))
    return constancy is None or constancy >= VARYING


def _is_shared(column: SampledColumn, people: NDArray[np.intp]) -> bool:
    """Whether most of the people share their value with another one: if not, the column numbers people, too."""
    _, counts = np.unique(column.hashes[people], return_counts=True)
    return bool(counts[counts > 1].sum() * 2 >= len(people))


def _is_of_cells(
    columns: Sequence[SampledColumn],
    position: int,
    shared: Sequence[int],
    crossed: Sequence[int],
    rows: NDArray[np.intp],
) -> bool:
    """Whether the column's values are the cells of others, so that rows agree in these by definition.

    They are not if several values lie in a cell. Nor are they if all crossed columns but one tell that one, which those
    of different people do not: then a cell's rows are one person's, as no two people have the same values.
    """
    own = columns[position].hashes
    first, second = _pairs(_joint(columns, shared, rows), rows)
    if len(first) and np.mean(own[first] == own[second]) <= _FINER:
        return False
    for left_out in crossed:
        rest = _joint(columns, [j for j in crossed if j != left_out], rows)
        constancy = columns[left_out].constancy(*_pairs(rest, rows))
        if constancy is not None and constancy >= VARYING:
            return False
    return True


def _pairs(keys: NDArray[np.uint64], rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of rows with equal keys."""
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    same = same[:: max(1, len(same) // MOST_PAIRS)]
    return rows[order[same]], rows[order[same + 1]]


def _joint(columns: Sequence[SampledColumn], wanted: Sequence[int], rows: NDArray[np.intp]) -> NDArray[np.uint64]:
    """A hash of the values of several columns; sums and products of such numbers are modulo 2^64."""
    joint = np.zeros(len(rows), np.uint64)
    for j in wanted:
        joint = joint * np.uint64(0x9E3779B97F4A7C15) + columns[j].hashes[rows]
        joint ^= joint >> np.uint64(29)
    return joint
