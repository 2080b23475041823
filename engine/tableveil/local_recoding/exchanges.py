"""Better partitions from a partition: combinations move along paths and cycles of classes, classes are dissolved.

A path frees a combination from a class that can spare it; it takes the place of another in the next class, and so on,
until the last joins a class. All moves are valued by the change of the score. This is the multi-exchange neighbourhood
of Ahuja, Orlin and Sharma (2003) for partitions, over an improvement graph of near classes only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import FORBIDDEN, CombinationLabels, Integers, Sets, sets_of
from tableveil.local_recoding.near import NEVER, Joins, nearest
from tableveil.local_recoding.problem import SUPPRESSED

LONGEST = 5
"""Combinations on a path."""

CROWD = 64
"""Combinations of a class up to which others take their places; a larger one can spare them."""

SHAKEN = 0.05
"""The share of the combinations that change places when a partition is shaken."""

SHAKEN_NEAR = 4
"""They change places with one of so many nearest classes."""

AFTER_SHAKE = 5
"""Exchanges after that."""

EPSILON = 1e-12
"""Changes of a score below this are rounding."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Move:
    """`rows[i]` goes to `to[i]`, a class or `SUPPRESSED`; the score changes by `gain` < 0.

    `pair` is the near class that is not tried again if privacy refuses the outcome.
    """

    gain: float
    rows: list[int]
    to: list[int]
    pair: tuple[int, int]


class Exchanges:
    """Improves the classes of some combinations; `rows` are their positions in the problem."""

    def __init__(
        self,
        labels: CombinationLabels,
        counts: NDArray[np.int64],
        classes: NDArray[np.int64],
        rows: Integers,
        judge: Judge,
        suppressed_cost: float,
        suppressible: int,
        control: Control,
    ) -> None:
        self.classes = classes
        self.suppressible = suppressible
        self._labels = labels
        self._counts = counts.astype(np.float64)
        self._rows = rows
        self._judge = judge
        self._suppressed = suppressed_cost
        self._control = control
        self._joins = Joins(labels)
        self._several = int(classes.max(initial=-1)) + 1
        self._known: tuple[NDArray[np.int64], Sets, Floats] | None = None
        self._own = labels.between(labels.values, labels.values).costs

    def improve(self, rounds: int, enough: float) -> float:
        """Returns the decrease of the cost.

        Near classes are found once, later from those that changed. Exchanges go on while a round saves `enough`.
        """
        saved = 0.0
        self._look()
        if not len(self._starts):
            return 0.0
        near = self._near_all()
        refused = np.zeros(near.shape, np.bool_)
        for _ in range(rounds):
            self._control.raise_if_stopped()
            accepted = self._accepted(sorted(self._moves(near, refused), key=lambda move: move.gain), refused)
            saved += accepted
            if accepted <= enough:
                break
            self._look()
        return saved

    def shake(self, random: np.random.Generator) -> float:
        """Lets random neighbours change places, improves that, and keeps the changes that pay; returns the decrease.

        An iterated local search (Lourenço, Martin, Stützle 2003), in all parts of the table at once: classes that
        exchanged combinations are a part, which is kept or put back as a whole.
        """
        self._look()
        if not len(self._starts):
            return 0.0
        before, costs, suppressible = self.classes.copy(), self._sizes * self._sets.costs, self.suppressible
        try:
            self._change_places(random)
            self.improve(AFTER_SHAKE, 0.0)
        finally:
            saved = self._put_back(before, costs, suppressible)
        return saved

    def _change_places(self, random: np.random.Generator) -> None:
        """A share of the combinations change places with one of a near class."""
        near, smallest = self._near_all(), self._judge.smallest
        rows = random.permutation(np.flatnonzero(self.classes != SUPPRESSED))
        rows = rows[: 1 + int(SHAKEN * len(rows))]
        choice = random.integers(0, min(SHAKEN_NEAR, near.shape[1]), len(rows))
        nearest = np.argsort(self._join_changes(near[rows], rows), axis=1)[np.arange(len(rows)), choice]
        touched = np.zeros(self._several, np.bool_)
        pairs = []
        for row, to in zip(rows.tolist(), near[rows, nearest].tolist(), strict=True):
            own = int(self.classes[row])
            if touched[own] or touched[to] or own == to or not self._members[to]:
                continue
            other = int(self._order[self._first[to] + random.integers(self._members[to])])
            more = self._counts[row] - self._counts[other]
            if self._sizes[own] - more >= smallest and self._sizes[to] + more >= smallest:
                touched[[own, to]] = True
                self.classes[row], self.classes[other] = to, own
                pairs.append((row, other, own, to))
        refused = self._changes(touched) >= FORBIDDEN
        for row, other, own, to in pairs:
            if refused[own] or refused[to]:
                self.classes[row], self.classes[other] = own, to

    def _put_back(self, before: NDArray[np.int64], costs: Floats, suppressible: int) -> float:
        """Puts the parts back that cost no less; the suppressed records are one class of a part."""
        # Loading scipy takes longer than most commands.
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        self._look()
        moved = np.flatnonzero(before != self.classes)
        one, other = (np.where(c == SUPPRESSED, self._several, c) for c in (before[moved], self.classes[moved]))
        shape = (self._several + 1, self._several + 1)
        part = connected_components(coo_array((np.ones(len(moved)), (one, other)), shape), directed=False)[1]
        out = float(self._counts[self.classes == SUPPRESSED].sum() - self._counts[before == SUPPRESSED].sum())
        changes = np.bincount(part, np.append(self._sizes * self._sets.costs - costs, out * self._suppressed))
        pays = changes < -EPSILON
        back = moved[~pays[part[one]]]
        self.classes[back] = before[back]
        if not pays[part[-1]]:
            self.suppressible = suppressible
        return float(-changes[pays].sum())

    def place(self) -> None:
        """Puts combinations without a class into the nearest that may be released with them, as long as there is one.

        They join classes one after the other; a combination that no near class can take is left.
        """
        left = np.flatnonzero((self.classes == SUPPRESSED) & (self._counts > 0))
        while len(left):
            self._look()
            near = self._nearest(left, self.classes[self._order[self._starts]])
            before = len(left)
            for choice in range(near.shape[1]):
                self._control.raise_if_stopped()
                open_ = np.flatnonzero(self.classes[left] == SUPPRESSED)
                _, first = np.unique(near[open_, choice], return_index=True)
                rows = left[open_[first]]
                self.classes[rows] = near[open_[first], choice]
                touched = np.zeros(self._several, np.bool_)
                touched[self.classes[rows]] = True
                worse = self._changes(touched)[self.classes[rows]]
                self.classes[rows[worse >= FORBIDDEN]] = SUPPRESSED
            left = left[self.classes[left] == SUPPRESSED]
            if len(left) == before:
                return

    def _look(self) -> None:
        """Computes the labels of the classes, and those of each class without one of its combinations."""
        inside = np.flatnonzero(self.classes != SUPPRESSED)
        order, starts = sets_of(self.classes[inside])
        self._order, self._starts = order, starts = inside[order], starts
        self._lengths = np.diff(starts, append=len(order))
        numbers = self.classes[order[starts]]
        rows = self._several
        member = np.repeat(np.arange(len(starts)), self._lengths)
        self._sizes = np.zeros(rows)
        if not len(starts):
            return
        self._sizes[numbers] = np.add.reduceat(self._counts[order], starts)
        values = self._labels.values[order]
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        of = self._labels.between(low, high)
        self._sets = Sets(
            np.zeros((rows, values.shape[1]), np.int32),
            np.zeros((rows, values.shape[1]), np.int64),
            np.zeros(rows),
        )
        self._sets.values[numbers], self._sets.levels[numbers], self._sets.costs[numbers] = (
            of.values,
            of.levels,
            of.costs,
        )
        self._first = np.zeros(rows, np.int64)
        self._members = np.zeros(rows, np.int64)
        self._first[numbers], self._members[numbers] = starts, self._lengths
        # The first and last values of the others: the second ones, if this combination alone has the first.
        lows, highs = low[member], high[member]
        only_low = (values == lows) & (np.add.reduceat(values == lows, starts, dtype=np.int32) == 1)[member]
        only_high = (values == highs) & (np.add.reduceat(values == highs, starts, dtype=np.int32) == 1)[member]
        second_low = np.minimum.reduceat(np.where(values == lows, np.iinfo(np.int32).max, values), starts)[member]
        second_high = np.maximum.reduceat(np.where(values == highs, -1, values), starts)[member]
        alone = np.repeat(self._lengths == 1, self._lengths)[:, None]
        others = self._labels.between(
            np.where(only_low & ~alone, second_low, lows), np.where(only_high & ~alone, second_high, highs)
        )
        count = len(self.classes)
        self._without = Sets(
            np.zeros((count, values.shape[1]), np.int32), np.zeros((count, values.shape[1]), np.int64), np.zeros(count)
        )
        self._without.values[order], self._without.levels[order] = others.values, others.levels
        self._without.costs[order] = others.costs
        self._without_states = self._joins.states(self._without)
        self._alone = np.zeros(count, np.bool_)
        self._alone[order] = alone[:, 0]

    def _near_all(self) -> NDArray[np.int64]:
        """Near classes of all combinations: of those known before and of those that changed since."""
        everyone, all_classes = np.arange(len(self.classes)), self._known
        present = self.classes[self._order[self._starts]]
        if all_classes is not None:
            near, sets, sizes = all_classes
            same = (self._sizes == sizes) & (self._sets.levels == sets.levels).all(axis=1)
            changed = present[~(same & (self._sets.values == sets.values).all(axis=1))[present]]
        if all_classes is None or 2 * len(changed) > len(present):
            near = self._nearest(everyone, present)
        elif len(changed):
            stale = np.isin(near, changed)
            near = np.concatenate([near, self._nearest(everyone, changed)], axis=1)
            costs = self._join_changes(near)
            costs[:, : stale.shape[1]][stale] = NEVER
            near = np.take_along_axis(near, np.argpartition(costs, stale.shape[1] - 1)[:, : stale.shape[1]], axis=1)
        self._known = near, self._sets, self._sizes
        return near

    def _nearest(self, rows: NDArray[np.intp], among: NDArray[np.int64]) -> NDArray[np.int64]:
        classes, counts = self.classes[rows], self._counts[rows]
        return nearest(self._labels.chosen(rows), counts, classes, self._sets, self._sizes, among, self._control)

    def _join_changes(self, near: NDArray[np.int64], rows: NDArray[np.intp] | None = None) -> Floats:
        """The change of cost if each of the rows joins its near classes; `NEVER` for its own and for empty ones."""
        where, who = near.ravel(), np.repeat(np.arange(len(near)) if rows is None else rows, near.shape[1])
        costs = self._joins.costs(self._joins.states(self._sets), where, who)
        changes = (self._sizes[where] + self._counts[who]) * costs - self._sizes[where] * self._sets.costs[where]
        changes[(where == self.classes[who]) | (self._sizes[where] == 0)] = NEVER
        shaped: Floats = changes.reshape(near.shape)
        return shaped

    def _moves(self, near: NDArray[np.int64], refused: NDArray[np.bool_]) -> Iterator[_Move]:
        counts, classes, smallest = self._counts, self.classes, self._judge.smallest
        everyone = np.arange(len(classes))
        inside = classes != SUPPRESSED
        own_sizes = np.where(inside, self._sizes[classes], 0)
        own_costs = np.where(inside, self._sets.costs[classes], self._suppressed)
        # The change of cost if each leaves its class.
        without = (own_sizes - counts) * self._without.costs - own_sizes * own_costs
        spared = np.where(inside & ~self._alone, without, -counts * own_costs)
        free = ~inside | self._alone | (own_sizes - counts >= smallest)
        # The change of cost if it joins a near class.
        width = near.shape[1]
        joins = self._join_changes(near)
        joins[refused] = NEVER
        best = joins.argmin(axis=1)
        target, cheapest = near[everyone, best], joins[everyone, best]
        out = inside & (counts * self._suppressed < cheapest) & (counts <= self.suppressible) & (counts > 0)
        target, cheapest = np.where(out, SUPPRESSED, target), np.where(out, counts * self._suppressed, cheapest)
        moving = np.where(free, spared, NEVER)
        for row in np.flatnonzero(moving + cheapest < -EPSILON):
            yield _Move(moving[row] + cheapest[row], [row], [target[row]], (row, best[row]))
        if len(self._starts):
            yield from self._dissolved(cheapest, target, best, out)

        # Edges: `taker` takes the place of `leaver`; those of a leaver stand together.
        where = near.ravel()
        pairs = np.flatnonzero((joins.ravel() < NEVER) & (self._members[where] <= CROWD))
        pairs = pairs[np.argsort(where[pairs], kind="stable")]
        coming = np.bincount(where[pairs], minlength=self._several)
        edges = coming[classes[self._order]]
        offset = np.repeat((np.cumsum(coming) - coming)[classes[self._order]] - np.cumsum(edges) + edges, edges)
        leaver = np.repeat(self._order, edges)
        pair = pairs[offset + np.arange(len(leaver))]
        taker = pair // width
        change = self._replaced(leaver, taker)
        starts = np.flatnonzero(np.diff(leaver, prepend=-1))
        if not len(starts):
            return
        slots, lengths = leaver[starts], np.diff(starts, append=len(leaver))
        came: list[NDArray[np.int64]] = []
        for _ in range(1, LONGEST):
            cost = moving[taker] + change
            least = np.minimum.reduceat(cost, starts)
            edge = np.flatnonzero(cost == np.repeat(least, lengths))
            edge = edge[np.diff(np.repeat(np.arange(len(starts)), lengths)[edge], prepend=-1) > 0]
            by = np.full(len(classes), -1)
            by[slots] = edge
            came.append(by)
            moving = np.full(len(classes), NEVER)
            moving[slots] = least
            for row in np.flatnonzero(moving + cheapest < -EPSILON):
                rows, to, at = [int(row)], [int(target[row])], int(row)
                for back in reversed(came):
                    to.append(int(classes[at]))
                    at = int(taker[back[at]])
                    rows.append(at)
                first = int(pair[came[-1][row]])
                yield _Move(moving[row] + cheapest[row], rows, to, divmod(first, width))
        # Two that change places.
        hopeful = np.flatnonzero(inside[taker] & (change + without[taker] < -EPSILON))
        swapped = change[hopeful] + self._replaced(taker[hopeful], leaver[hopeful])
        for edge, gain in zip(hopeful[swapped < -EPSILON], swapped[swapped < -EPSILON], strict=True):
            one, other = int(taker[edge]), int(leaver[edge])
            yield _Move(gain, [one, other], [int(classes[other]), int(classes[one])], divmod(int(pair[edge]), width))

    def _replaced(self, leaver: Integers, taker: Integers) -> Floats:
        """The change of a class's cost if one combination takes another's place."""
        of = self.classes[leaver]
        costs = self._joins.costs(self._without_states, leaver, taker)
        costs = np.where(self._alone[leaver], self._own[taker], costs)
        sizes = self._sizes[of] - self._counts[leaver] + self._counts[taker]
        change = sizes * costs - self._sizes[of] * self._sets.costs[of]
        return np.where(sizes >= self._judge.smallest, change, NEVER)

    def _dissolved(self, cheapest: Floats, target: Integers, best: Integers, out: NDArray[np.bool_]) -> Iterator[_Move]:
        """Classes all of whose combinations join others."""
        changes = np.add.reduceat(cheapest[self._order], self._starts)
        numbers = self.classes[self._order[self._starts]]
        changes -= self._sizes[numbers] * self._sets.costs[numbers]
        for number in np.flatnonzero(changes < -EPSILON):
            start = self._starts[number]
            rows = self._order[start : start + self._lengths[number]]
            if not out[rows].any():
                yield _Move(changes[number], rows.tolist(), target[rows].tolist(), (int(rows[0]), int(best[rows[0]])))

    def _accepted(self, moves: list[_Move], refused: NDArray[np.bool_]) -> float:
        """Makes the best moves that touch different classes, each if it saves what was expected; returns the savings.

        Classes are costed and judged again: a path may visit a class twice, and privacy may refuse the result.
        """
        saved = 0.0
        while moves:
            self._control.raise_if_stopped()
            taken: set[int] = set()
            moved: set[int] = set()
            chosen, later = [], []
            for move in moves:
                before = self.classes[move.rows]
                involved = {*before.tolist(), *move.to} - {SUPPRESSED}
                # Suppressed combinations are in no class that would show that they were moved.
                if not taken.isdisjoint(involved) or not moved.isdisjoint(move.rows):
                    later.append((move, involved))
                    continue
                out = self._suppressed_by(move, before)
                if len(set(move.rows)) < len(move.rows) or out > self.suppressible:
                    continue
                taken |= involved
                moved.update(move.rows)
                self.suppressible -= max(out, 0)
                chosen.append((move, before, involved, out))
            for move, _, _, _ in chosen:
                self.classes[move.rows] = move.to
            touched = np.zeros(self._several, np.bool_)
            touched[list(taken)] = True
            changes = self._changes(touched)
            for move, before, involved, out in chosen:
                change = changes[list(involved)].sum() + out * self._suppressed
                if change < -EPSILON:
                    saved -= change
                    self.suppressible -= min(out, 0)
                else:
                    self.classes[move.rows] = before
                    self.suppressible += max(out, 0)
                    refused[move.pair] = True
                    taken -= involved
                    moved.difference_update(move.rows)
            # Others were held up by a move that was not made.
            moves = [move for move, involved in later if taken.isdisjoint(involved) and moved.isdisjoint(move.rows)]
        return saved

    def _suppressed_by(self, move: _Move, before: NDArray[np.int64]) -> int:
        """How many more records are suppressed by it."""
        if SUPPRESSED not in move.to and not (before == SUPPRESSED).any():
            return 0
        counts = self._counts[move.rows]
        return int(counts[np.array(move.to) == SUPPRESSED].sum() - counts[before == SUPPRESSED].sum())

    def _changes(self, touched: NDArray[np.bool_]) -> Floats:
        """The increase of the touched classes' cost; infinite if they may not be released."""
        changes = -self._sizes * self._sets.costs
        rows = np.flatnonzero((self.classes != SUPPRESSED) & touched[self.classes])
        if len(rows):
            order, starts = sets_of(self.classes[rows])
            rows = rows[order]
            numbers = self.classes[rows[starts]]
            costs = self._labels.of_sets(rows, starts).costs * np.add.reduceat(self._counts[rows], starts)
            changes[numbers] += np.where(self._judge.releasable(self._rows[rows], starts), costs, np.inf)
        return changes
