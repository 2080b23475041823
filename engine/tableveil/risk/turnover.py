"""People who come, return and leave: learned from the months of a table, and played on by its own rows.

A played month has rows of the table: everybody keeps the values of their latest row, or gets those that somebody like
them got. So columns depend on each other as they do in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_MONTHS = 3

_NEARLY_ALL = 0.9
_TRIES = 24
"""How many changes of values are drawn for a person, of which the one of the person most alike is taken."""


@dataclass(frozen=True, slots=True)
class History:
    """The rows of some months, by month: the month and the person of each, from 0, and its codes, one per column.

    Codes are ranks of the column's values.
    `records` tells the records apart, if people may have several in a month.
    """

    months: NDArray[np.int64]
    people: NDArray[np.int64]
    codes: NDArray[np.int64]
    records: NDArray[np.int64] | None = None

    @property
    def number(self) -> int:
        """How many months there are."""
        return int(self.months.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True)
class Turnover:
    """The shares by which people come and go.

    `stays` are the chances of a month's people to be in the next: of those who were not in the month before, and of
    those who were. `returns` is that of people who were away for one month; with each further one it is a `wanes` part.
    `come` is the share of new people among a month's.
    """

    stays: tuple[float, float]
    returns: float
    wanes: float
    come: float
    recurring_records: float = 1.0

    @property
    def leave(self) -> float:
        """About the share of a month's people who are not in the next."""
        return 1 - self.stays[1]

    @classmethod
    def stated(cls, come: float, leave: float) -> Turnover:
        """The turnover of stated shares: nobody returns."""
        return cls((1 - leave, 1 - leave), 0.0, 0.0, come)

    @classmethod
    def learned(cls, history: History) -> Turnover:
        """The turnover of at least `LEAST_MONTHS` months."""
        there = _presence(history)
        seen = np.maximum.accumulate(there, axis=1)
        stayed, might, back, gone = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
        for month in range(1, history.number - 1):
            now, before, after = there[:, month], there[:, month - 1], there[:, month + 1]
            might += np.bincount(before[now], minlength=2)
            stayed += np.bincount(before[now], after[now], minlength=2)
            # Away for one month, or for more.
            away = seen[:, month] & ~now
            gone += np.bincount(~before[away], minlength=2)
            back += np.bincount(~before[away], after[away], minlength=2)
        everybody = stayed.sum() / max(might.sum(), 1)
        stays = [float(stayed[s] / might[s]) if might[s] else float(everybody) for s in range(2)]
        returns = float(back[0] / max(gone[0], 1))
        wanes = min(float(back[1] / gone[1]) / returns, 1.0) if gone[1] and returns else 1.0
        new = int((seen[:, -1] & ~seen[:, -2]).sum())
        come = new / max(int(there[:, -1].sum()), 1)
        return cls((stays[0], stays[1]), returns, wanes, come, _recurring(history))

    def chances(self, away: NDArray[np.int64], before: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Everybody's chance to be in the next month by the months since the last one of theirs, and the one before."""
        returns = self.returns * self.wanes ** np.maximum(away - 1, 0)
        return np.where(away == 0, np.where(before, self.stays[1], self.stays[0]), returns)


@dataclass(frozen=True, slots=True)
class PlayedMonth:
    """The rows of a month: whose and which record each is, and per column the row of the table that has its value."""

    people: NDArray[np.int64]
    records: NDArray[np.int64]
    taken_from: NDArray[np.int64]


def played(history: History, turnover: Turnover, random: np.random.Generator) -> Iterator[PlayedMonth]:
    """The newest month as it is, and months that follow it, without an end."""
    number, last = history.number, history.number - 1
    there = _presence(history)
    newest = _newest_rows(history)
    people, rows = history.people[newest], np.repeat(newest[:, None], history.codes.shape[1], axis=1)
    records = newest if history.records is None else history.records[newest]
    away = last - np.where(there, np.arange(number), -1).max(axis=1, initial=-1)
    before = there[:, last - 1] if number > 1 else there[:, last]
    changes = _Changes.of(history) if number > 1 and history.records is None else None
    arriving = _arrivals(history, there)
    next_record = (
        int(records.max(initial=-1)) if history.records is None else int(history.records.max(initial=-1))
    ) + 1
    while True:
        now = away == 0
        in_month = now[people]
        yield PlayedMonth(people[in_month], records[in_month], rows[in_month])
        following = random.random(len(now)) < turnover.chances(away, before)
        stays = following[people]
        if changes is not None:
            rows[stays] = changes.drawn(rows[stays], random)
        renewed = stays & (random.random(len(stays)) >= turnover.recurring_records)
        records = np.where(renewed, next_record + np.arange(len(records)), records)
        next_record += len(records)
        came = random.poisson(turnover.come * int(now.sum())) if len(arriving) else 0
        drawn = random.integers(0, max(len(arriving), 1), came)
        owners = np.repeat(np.arange(came), [len(arriving[d]) for d in drawn])
        new_rows = np.concatenate([arriving[d] for d in drawn]) if came else np.zeros(0, np.int64)
        people = np.concatenate((people, len(now) + owners))
        rows = np.concatenate((rows, np.repeat(new_rows[:, None], rows.shape[1], axis=1)))
        records = np.concatenate((records, next_record + np.arange(len(new_rows))))
        next_record += len(new_rows)
        before = np.concatenate((now, np.zeros(came, np.bool_)))
        away = np.concatenate((np.where(following, 0, away + 1), np.zeros(came, np.int64)))


def _presence(history: History) -> NDArray[np.bool_]:
    """Per person and month, whether the person has a row."""
    there = np.zeros((int(history.people.max(initial=-1)) + 1, history.number), np.bool_)
    there[history.people, history.months] = True
    return there


def _newest_rows(history: History) -> NDArray[np.int64]:
    """The rows of each person's newest month."""
    newest = np.zeros(int(history.people.max(initial=-1)) + 1, np.int64)
    np.maximum.at(newest, history.people, history.months)
    return np.flatnonzero(history.months == newest[history.people])


def _arrivals(history: History, there: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Per person who came after the first month, or per person where nobody did, the rows of that month."""
    first = there.argmax(axis=1)
    of = np.flatnonzero(history.months == first[history.people])
    late = of[first[history.people[of]] > 0]
    of = late if len(late) else of
    order = of[np.argsort(history.people[of], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(history.people[order])) + 1) if len(order) else []


def _recurring(history: History) -> float:
    """The share of the records of a month, of people who are in the next, that are in the next, too."""
    if history.records is None:
        return 1.0
    there = _presence(history)
    among = (history.months < history.number - 1) & there[
        history.people, np.minimum(history.months + 1, history.number - 1)
    ]
    most = int(history.records.max(initial=0)) + 1
    keys = history.months * most + history.records
    return float(np.isin(keys[among] + most, keys).mean()) if among.any() else 1.0


def _common(steps: NDArray[np.int64]) -> int:
    """The step that nearly all are, or 0."""
    different, times = np.unique(steps, return_counts=True)
    return int(different[times.argmax()]) if len(steps) and times.max() >= _NEARLY_ALL * len(steps) else 0


@dataclass(frozen=True, slots=True)
class _Changes:
    """The changes of values of people from one of their months to their next, in groups that change the same columns.

    Each is from a row `before` to a row `after`. `order` has them by group; a group begins at its `start` and has so
    many as its `size`. Columns that mostly change by one step, as ages do, have that as their `drift`, others 0.
    """

    codes: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    order: NDArray[np.int64]
    group: NDArray[np.int64]
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    drift: NDArray[np.int64]

    @classmethod
    def of(cls, history: History) -> _Changes | None:
        order = np.lexsort((history.months, history.people))
        same = history.people[order[1:]] == history.people[order[:-1]]
        before, after = order[:-1][same], order[1:][same]
        if not len(before):
            return None
        changed = history.codes[before] != history.codes[after]
        _, group = np.unique(changed, axis=0, return_inverse=True)
        group = group.reshape(-1).astype(np.int64)
        size = np.bincount(group).astype(np.int64)
        start = np.cumsum(size) - size
        steps = history.codes[after] - history.codes[before]
        drift = np.array([_common(steps[changed[:, j], j]) for j in range(steps.shape[1])], np.int64)
        return cls(history.codes, before, after, np.argsort(group, kind="stable"), group, start, size, drift)

    def drawn(self, rows: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """The rows with new values where somebody's changed: of some with the same changes, of the one most alike."""
        number = len(rows)
        group = self.group[random.integers(0, len(self.group), number)]
        places = self.start[group][:, None] + (random.random((number, _TRIES)) * self.size[group][:, None]).astype(
            np.int64
        )
        tried = self.order[places]
        own = np.stack([self.codes[rows[:, j], j] for j in range(rows.shape[1])], axis=1)
        alike = (self.codes[self.before[tried]] == own[:, None, :]).sum(axis=2)
        best = tried[np.arange(number), alike.argmax(axis=1)]
        changed = self.codes[self.before[best]] != self.codes[self.after[best]]
        drawn = np.where(changed, self.after[best][:, None], rows)
        for j in np.flatnonzero(self.drift):
            codes, a_row = np.unique(self.codes[:, j], return_index=True)
            moved = np.clip(own[:, j] + self.drift[j], 0, codes[-1])
            drawn[:, j] = np.where(changed[:, j], a_row[np.searchsorted(codes, moved)], rows[:, j])
        return drawn
