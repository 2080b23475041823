"""Better partitions from a partition: combinations move along paths and cycles of classes, classes are dissolved.

A path frees a combination from a class that can spare it; it takes the place of another in the next class, and so on,
until the last joins a class. All moves are valued by the change of the score. This is the multi-exchange neighbourhood
of Ahuja, Orlin and Sharma (2003) for partitions, over an improvement graph of near classes only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

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

TOGETHER = 1 << 16
"""Combinations in the classes of the moves that are judged at a time."""

EPSILON = 1e-12
"""Changes of a score below this are rounding."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Move:
    """`rows[i]` goes to `to[i]`, a class or `SUPPRESSED`; the score changes by `gain` < 0.

    `pair` is the near class that is not tried again if privacy refuses the outcome.
    """

    gain: float
    rows: Sequence[int]
    to: Sequence[int]
    pair: tuple[int, int]


def _listed(gains: Floats, rows: Integers, to: Integers, pair: tuple[Integers, Integers]) -> Iterator[_Move]:
    """Moves of as many combinations each, shape (moves, combinations); none may move twice."""
    ordered = np.sort(rows, axis=1)
    once = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    columns = (gains[once], rows[once], to[once], pair[0][once], pair[1][once])
    for gain, moving, target, row, near in zip(*(column.tolist() for column in columns), strict=True):
        yield _Move(gain, moving, target, (row, near))


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
            np.zeros((rows, values.shape[1]), np.int32), np.zeros((rows, values.shape[1]), np.int64), np.zeros(rows)
        )
        self._sets.values[numbers], self._sets.levels[numbers], self._sets.costs[numbers] = (
            of.values,
            of.levels,
            of.costs,
        )
        self._first = np.zeros(rows, np.int64)
        self._members = np.zeros(rows, np.int64)
        self._first[numbers], self._members[numbers] = starts, self._lengths
        self._position = np.zeros(len(self.classes), np.int64)
        self._position[order] = np.arange(len(order))
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
        rows = np.flatnonzero(moving + cheapest < -EPSILON)
        yield from _listed(moving[rows] + cheapest[rows], rows[:, None], target[rows, None], (rows, best[rows]))
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
            last = np.flatnonzero(moving + cheapest < -EPSILON)
            path, to = [last], [target[last]]
            for back in reversed(came):
                to.append(classes[path[-1]])
                path.append(taker[back[path[-1]]])
            gains = moving[last] + cheapest[last]
            first = divmod(pair[by[last]], width)
            yield from _listed(gains, np.column_stack(path), np.column_stack(to), first)
        # Two that change places.
        hopeful = np.flatnonzero(inside[taker] & (change + without[taker] < -EPSILON))
        swapped = change[hopeful] + self._replaced(taker[hopeful], leaver[hopeful])
        pays = swapped < -EPSILON
        edge = hopeful[pays]
        both = np.column_stack([taker[edge], leaver[edge]])
        yield from _listed(swapped[pays], both, classes[both[:, ::-1]], divmod(pair[edge], width))

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

        Classes are costed and judged again: a path may visit a class twice, and privacy may refuse the result. No two
        moves of a class are made, so that each is judged by the classes as they were.
        """
        saved, taken, moved = 0.0, set[int](), set[int]()
        classes, members = self.classes.tolist(), self._members.tolist()

        def held_up(move: _Move, touched: set[int]) -> bool:
            # Suppressed combinations are in no class that would show that they were moved.
            return not (taken.isdisjoint(touched) and moved.isdisjoint(move.rows))

        waiting = iter(moves)
        while True:
            self._control.raise_if_stopped()
            judged, size = [], 0
            for move in waiting:
                touched = {*(classes[row] for row in move.rows), *move.to} - {SUPPRESSED}
                if not held_up(move, touched):
                    judged.append((move, touched))
                    size += sum(members[number] for number in touched)
                    if size >= TOGETHER:
                        break
            if not judged:
                return saved
            changes, out = self._outcomes([move for move, _ in judged])
            for (move, touched), change, suppressed in zip(judged, changes.tolist(), out.tolist(), strict=True):
                if held_up(move, touched) or suppressed > self.suppressible:
                    continue
                if change < -EPSILON:
                    saved -= change
                    self.suppressible -= suppressed
                    self.classes[move.rows] = move.to
                    taken |= touched
                    moved.update(move.rows)
                else:
                    refused[move.pair] = True

    def _outcomes(self, moves: Sequence[_Move]) -> tuple[Floats, Integers]:
        """The change of the score by each move alone, infinite if it may not be made; and the records it suppresses."""
        number = np.repeat(np.arange(len(moves)), [len(move.rows) for move in moves])
        rows = np.fromiter(chain.from_iterable(move.rows for move in moves), np.int64, len(number))
        to = np.fromiter(chain.from_iterable(move.to for move in moves), np.int64, len(number))
        before = self.classes[rows]
        leaving, joining = before != SUPPRESSED, to != SUPPRESSED
        left, joined = number * self._several + before, number * self._several + to
        # A class that a move touches: its members but those that leave, and those that join.
        touched = np.unique(np.concatenate([left[leaving], joined[joining]]))
        of = touched % self._several
        ends = np.cumsum(self._members[of])
        first = ends - self._members[of]
        position = np.repeat(self._first[of] - first, self._members[of]) + np.arange(int(ends[-1]) if len(ends) else 0)
        stays = np.ones(len(position), np.bool_)
        at = np.searchsorted(touched, left[leaving])
        stays[first[at] + self._position[rows[leaving]] - self._first[of[at]]] = False
        sets = np.repeat(np.arange(len(touched)), self._members[of])[stays]
        sets = np.concatenate([sets, np.searchsorted(touched, joined[joining])])
        order, starts = sets_of(sets)
        within = np.concatenate([self._order[position[stays]], rows[joining]])[order]
        changes = -self._sizes[of] * self._sets.costs[of]
        changes[sets[order[starts]]] += self._costs(within, starts)
        out = np.bincount(number, self._counts[rows] * (leaving.astype(np.int64) - joining), len(moves))
        whole = np.bincount(touched // self._several, changes, len(moves)) + out * self._suppressed
        return whole, out.astype(np.int64)

    def _changes(self, touched: NDArray[np.bool_]) -> Floats:
        """The increase of the touched classes' cost; infinite if they may not be released."""
        changes = -self._sizes * self._sets.costs
        rows = np.flatnonzero((self.classes != SUPPRESSED) & touched[self.classes])
        if len(rows):
            order, starts = sets_of(self.classes[rows])
            rows = rows[order]
            numbers = self.classes[rows[starts]]
            changes[numbers] += self._costs(rows, starts)
        return changes

    def _costs(self, rows: Integers, starts: Integers) -> Floats:
        """The cost of sets of combinations; infinite if they may not be released."""
        if not len(starts):
            return np.zeros(0)
        costs = self._labels.of_sets(rows, starts).costs * np.add.reduceat(self._counts[rows], starts)
        return np.where(self._judge.releasable(self._rows[rows], starts), costs, np.inf)
