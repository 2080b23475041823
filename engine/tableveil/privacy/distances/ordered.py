"""Ordered ground distance: values are as far apart as the number of steps between them in their order."""

from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, SensitiveColumn
from tableveil.privacy.distances.model import (
    LARGEST,
    ComparedClasses,
    Distributions,
    EarthMover,
    Integers,
    Shares,
    difference,
    products,
)

DENSE = 4
"""Up to this number of class-value pairs per entry, going through all values of all classes is faster."""

BLOCK = 4096
"""Classes processed at a time in that way, so that the sums stay in a core's cache."""

TABLE = 1 << 21
"""The most places of a table that answers searches in a distribution."""

EXACT_FLOAT = 2**51
"""Up to this n * N, a float quotient c * N / n is less than 1/n away from the exact one, with room to spare."""

PIECE = 1 << 15
"""Entries of classes processed at a time, so that numpy's intermediate arrays stay in the cache."""

SURVIVORS = 0.75
"""The share of classes up to which it pays to separate those that the quick bound did not reject."""


class OrderedDistance(EarthMover):
    """Sum of |cumulated q - p| over all values but the last, divided by their number (Li et al. 2007, section 5.1).

    Between two values that occur in a class the class's cumulative is constant, say c, and the other distribution's
    cumulative rises. So one search finds the place where it passes c, and two prefix sums give the sum on either side:
    the work grows with the values that occur in the class, however many there are in all.
    """

    def __init__(self, column: SensitiveColumn, distributions: Distributions) -> None:
        super().__init__(column, distributions)
        self._last = len(column.counts) - 1
        self._null_first = column.null_first and column.null_code is not None
        values = self._in_order(distributions.values, distributions.values.starts)
        self._placed = Distributions(values, distributions.sizes, distributions.complete)
        ends = np.append(values.starts, len(values.classes))[1:] - 1
        running = np.cumsum(values.counts)
        before = running[values.starts] - values.counts[values.starts]
        # From an entry to the next one or to the end, the cumulative stays constant: this is the number of values in
        # between.
        widths = np.diff(values.values, append=0)
        widths[ends] = 0
        self._cumulative = running - before[values.classes]
        self._ends = ends
        self._starts = values.starts
        self._widths = np.append(0, np.cumsum(widths))
        self._prefix = np.append(0, np.cumsum(widths * self._cumulative))
        self._stride = int(distributions.sizes.max(initial=0)) + 1
        self._keys = self._cumulative + values.classes * self._stride

    @property
    def unit(self) -> int:
        """The number of steps from the first value to the last."""
        return max(self._last, 1)

    def work(self, compared: ComparedClasses) -> Integers:
        """Goes through all values if classes have nearly all of them, else through those that occur."""
        if self._dense(compared):
            return self._by_all_values(compared)
        return difference(compared, self.shares(compared), self.unit)

    def within(self, compared: ComparedClasses, t: Fraction) -> NDArray[np.bool_]:
        """A quick bound spares rejected classes the sum."""
        # The bound goes up to four times the most work, which has to fit.
        if not self.distributions.complete or 4 * self._most_work(compared) > LARGEST or self._dense(compared):
            return super().within(compared, t)
        possible = self.least(compared) <= self.most(compared, t)
        if np.count_nonzero(possible) > SURVIVORS * len(possible):
            return super().within(compared, t)
        possible[possible] = super().within(compared.selected(possible), t)
        return possible

    def least(self, compared: ComparedClasses) -> Integers:
        """Per class, a lower bound of its work against the whole, from its mean, its first and its last value.

        Let d be the cumulated q - p. Its sum over all values is the difference of the mean ranks, M. The negative parts
        of d sum up to at least L, the sum before the first value of the class; the positive parts sum up to at least R,
        the sum from its last value on. The sum of |d| is M plus twice the negative part, and twice the positive part
        less M. So it is at least M + 2 L and 2 R - M, and |M| and L + R are at most the larger of these.
        """
        values, starts = self._in_order(compared.values, compared.starts), compared.starts
        sizes, whole = compared.sizes, int(self.distributions.sizes[0])
        first, last = values.values[starts], values.values[np.append(starts, len(values.values))[1:] - 1]
        total = int(self._prefix[-1])
        ranks = compared.sums(values.counts * values.values)
        mean = whole * (self._last * sizes - ranks) - sizes * total
        left = sizes * self._prefix[first]
        right = sizes * ((self._last - last) * whole - (total - self._prefix[last]))
        least: Integers = np.maximum(mean + 2 * left, 2 * right - mean)
        return least

    def sides(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The values up to each step are one side, those after it the other."""
        if self._null_first:
            table = np.roll(table, 1, axis=1)
        upto = np.cumsum(table, axis=1)
        return np.concatenate((upto[:, :-1], upto[:, -1:] - upto[:, :-1]), axis=1)

    def least_work(self, size: int) -> int:
        """The work if every cumulated number of records is the whole number next to its share."""
        whole = int(self.distributions.sizes[0])
        rests = self._cumulative * size % whole
        return int(np.minimum(rests, whole - rests).sum())

    def shares(self, compared: ComparedClasses) -> Shares:
        """Summed over the steps between neighbouring values: on the side of the step where the class has more.

        Each step splits the values into those up to it and those after it. The class's excess on one side has to cross
        the step.
        """
        number = len(compared.sizes)
        own, others = np.zeros(number, np.int64), np.zeros(number, np.int64)
        entries = np.append(compared.starts, len(compared.values.classes))
        low = 0
        while low < number:
            high = max(low + 1, int(np.searchsorted(entries, entries[low] + PIECE, "right")) - 1)
            own[low:high], others[low:high] = self._shares(self._piece(compared, entries, low, high))
            low = high
        return own, others

    def _piece(self, compared: ComparedClasses, entries: NDArray[np.intp], low: int, high: int) -> ComparedClasses:
        """Some neighbouring classes, by ranks, so that all intermediate arrays stay in a core's cache."""
        within, classes = slice(entries[low], entries[high]), slice(low, high)
        values = compared.values
        piece = ClassValues(values.classes[within] - low, values.values[within], values.counts[within])
        starts = compared.starts[classes] - entries[low]
        return ComparedClasses(
            self._in_order(piece, starts),
            starts,
            compared.sizes[classes],
            compared.of[classes],
            compared.records[classes],
        )

    def _shares(self, compared: ComparedClasses) -> Shares:
        values, sizes, of, starts = compared.values, compared.sizes, compared.of, compared.starts
        number = values.classes
        at = values.values if self.distributions.complete else self._placed.entries(of[number], values.values)
        cumulative = np.cumsum(values.counts)
        cumulative -= (cumulative[starts] - values.counts[starts])[number]
        passed = self._passed(cumulative, compared)
        until = np.empty_like(at)
        until[:-1] = at[1:]
        until[np.append(starts, len(at))[1:] - 1] = self._ends[of]
        np.minimum(np.maximum(passed, at, out=passed), until, out=passed)

        # From one value to the next the class has more than its share before each step up to `passed`, and after it
        # from there on.
        complete = self.distributions.complete  # then an entry's number is its place
        place, end, start = (
            at if complete else self._widths[at],
            self._widths[self._ends[of]],
            self._widths[self._starts[of]],
        )
        before = (passed if complete else self._widths[passed]) - place
        more_before, steps_before = compared.sums(cumulative * before), compared.sums(before)
        steps_after = end - start - steps_before
        # Summed by parts: the sum of c times the steps after each value is the sum, over records, of the steps after
        # it.
        own = 2 * more_before + sizes * (steps_after - end) + compared.sums(values.counts * place)
        risen = self._prefix[passed]
        risen -= self._prefix[at]
        others = 2 * compared.sums(risen) + self._prefix[self._starts[of]] - self._prefix[self._ends[of]]
        return own, others + compared.records * steps_after

    def _passed(self, cumulative: NDArray[np.int64], compared: ComparedClasses) -> NDArray[np.intp]:
        """The places where the distribution's cumulative N_j first exceeds the class's: N_j / N > c / n.

        If the two are equal, either side may count them: the difference is 0. Floats decide these cases one way or the
        other, and no others, as long as n * N is small enough.
        """
        sizes, records, number = compared.sizes, compared.records, compared.values.classes
        largest = int(sizes.max(initial=0)) * int(records.max(initial=0))
        share: NDArray[np.int64]
        if largest <= EXACT_FLOAT:
            share = (cumulative * (records / sizes)[number]).astype(np.int64)
        else:
            share = (products(cumulative, records[number]) // sizes[number]).astype(np.int64)
        if self.distributions.complete and self._stride <= TABLE:
            return self._table[share]
        if not self.distributions.complete:
            share += compared.of[number] * self._stride
        return np.searchsorted(self._keys, share, "right").astype(np.intp)

    @cached_property
    def _table(self) -> NDArray[np.intp]:
        """The answers to all possible searches."""
        return np.searchsorted(self._cumulative, np.arange(self._stride + 1), "right").astype(np.intp)

    def _dense(self, compared: ComparedClasses) -> bool:
        pairs = len(compared.sizes) * (self._last + 1)
        few = self.distributions.complete and pairs <= DENSE * len(compared.values.values)
        return few and self._most_work(compared) <= LARGEST

    def _most_work(self, compared: ComparedClasses) -> int:
        return int(compared.sizes.max(initial=0)) * self._stride * (self._last + 1)

    def _by_all_values(self, compared: ComparedClasses) -> NDArray[np.int64]:
        """Goes value by value, for many classes at once; work has to fit in 64 bits."""
        values, sizes = self._in_order(compared.values, compared.starts), compared.sizes
        whole = int(self.distributions.sizes[0])
        starts = np.append(compared.starts, len(values.classes))
        work = np.zeros(len(sizes), np.int64)
        for low in range(0, len(sizes), BLOCK):
            high = min(low + BLOCK, len(sizes))
            entries = slice(starts[low], starts[high])
            table = np.zeros((self._last + 1, high - low), np.int64)
            table[values.values[entries], values.classes[entries] - low] = values.counts[entries]
            cumulative = np.zeros(high - low, np.int64)
            extra, share = np.empty_like(cumulative), np.empty_like(cumulative)
            for counts, below in zip(table[:-1], self._cumulative[:-1].tolist(), strict=True):
                cumulative += counts
                np.multiply(cumulative, whole, out=extra)
                extra -= np.multiply(sizes[low:high], below, out=share)
                work[low:high] += np.abs(extra, out=extra)
        return work

    def _in_order(self, values: ClassValues, starts: NDArray[np.intp]) -> ClassValues:
        """The values by ranks instead of codes, in order: NULL has the last code, but may stand first."""
        if not self._null_first:
            return values
        null = values.values == self._last
        has_null = np.zeros(len(starts), np.int64)
        has_null[values.classes[null]] = 1
        places = np.arange(len(values.values)) + has_null[values.classes]
        places[null] = starts[values.classes[null]]
        ranks, counts = np.empty_like(values.values), np.empty_like(values.counts)
        ranks[places] = np.where(null, 0, values.values + 1)
        counts[places] = values.counts
        return ClassValues(values.classes, ranks, counts)
