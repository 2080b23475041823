"""Months that follow, played by people of the months that are there."""

from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.risk.turnover import History, PlayedMonth, Turnover, played


def history(seed: int, months: int, stay: float = 0.9, visit: float = 0.8, people: int = 4000) -> History:
    """Visitors who each have a group for good, an age that grows, and a mood of each month that follows the group."""
    random = np.random.default_rng(seed)
    ids = np.arange(people)
    group, age = random.integers(0, 5, people), random.integers(0, 60, people)
    rows: list[NDArray[np.int64]] = []
    for month in range(months):
        if month:
            stays = random.random(len(ids)) < stay
            new = round((1 - stay) * people)
            ids = np.concatenate((ids[stays], ids.max() + 1 + np.arange(new)))
            group = np.concatenate((group[stays], random.integers(0, 5, new)))
            age = np.concatenate((age[stays] + (random.random(stays.sum()) < 1 / 12), random.integers(0, 60, new)))
        there = random.random(len(ids)) < visit
        mood = 10 * group + random.integers(0, 2, len(ids))
        rows.append(np.stack([np.full(len(ids), month), ids, group, age, mood])[:, there])
    month, who, *columns = np.concatenate(rows, axis=1)
    return History(month, np.unique(who, return_inverse=True)[1].astype(np.int64), np.stack(columns, axis=1))


def values(known: History, month: PlayedMonth) -> NDArray[np.int64]:
    """The values of a month's rows."""
    return np.stack([known.codes[month.taken_from[:, j], j] for j in range(known.codes.shape[1])], axis=1)


@pytest.mark.parametrize(("stay", "visit"), [(0.9, 0.8), (0.98, 0.95), (1.0, 0.6)])
def test_shares_are_learned(stay: float, visit: float) -> None:
    turnover = Turnover.learned(history(1, 6, stay, visit))
    assert turnover.stays[1] == pytest.approx(stay * visit, abs=0.02)
    assert turnover.stays[0] == pytest.approx(stay * visit, abs=0.04)
    # The months before six leave nobody unseen who was there all the time.
    assert turnover.come == pytest.approx(1 - stay, abs=0.03)


def test_played_months_go_on_as_real_ones() -> None:
    known = history(2, 4)
    later = history(2, 12)
    real = [np.flatnonzero(later.months == month) for month in range(3, 12)]
    months = list(islice(played(known, Turnover.learned(known), np.random.default_rng(0)), 9))
    for month, rows in zip(months, real, strict=True):
        assert len(month.people) == pytest.approx(len(rows), rel=0.1)
    chains = [set(month.people.tolist()) for month in months]
    truth = [set(later.people[rows].tolist()) for rows in real]
    for both in ((0, 1), (0, 4), (0, 8), (4, 8)):
        expected = len(truth[both[0]] & truth[both[1]])
        assert len(chains[both[0]] & chains[both[1]]) == pytest.approx(expected, rel=0.15)


def test_the_newest_month_comes_first_as_it_is() -> None:
    known = history(3, 3)
    first = next(played(known, Turnover.learned(known), np.random.default_rng(0)))
    newest = np.flatnonzero(known.months == 2)
    assert sorted(first.people.tolist()) == sorted(known.people[newest].tolist())
    order = np.argsort(first.people)
    assert (values(known, first)[order] == known.codes[newest][np.argsort(known.people[newest])]).all()


def test_columns_go_on_to_depend_on_each_other() -> None:
    known = history(4, 4)
    months = list(islice(played(known, Turnover.learned(known), np.random.default_rng(0)), 6))
    before = dict(zip(months[0].people.tolist(), values(known, months[0]).tolist(), strict=True))
    for later, month in enumerate(months[1:], 1):
        of_month = values(known, month)
        assert (of_month[:, 2] // 10 == of_month[:, 0]).mean() > 0.97
        stayed = [(before[p], v) for p, v in zip(month.people.tolist(), of_month.tolist(), strict=True) if p in before]
        # A group stays for good, and nobody grows by years.
        assert all(old[0] == new[0] for old, new in stayed)
        assert np.mean([0 <= new[1] - old[1] <= later for old, new in stayed]) > 0.97


def test_stated_shares_let_nobody_return() -> None:
    known = history(5, 1)
    months = list(islice(played(known, Turnover.stated(0.1, 0.2), np.random.default_rng(0)), 6))
    for earlier, month, later in zip(months, months[1:], months[2:], strict=False):
        gone = set(earlier.people.tolist()) - set(month.people.tolist())
        assert len(gone) == pytest.approx(0.2 * len(earlier.people), rel=0.15)
        assert not gone & set(later.people.tolist())
        new = set(month.people.tolist()) - set(earlier.people.tolist())
        assert len(new) == pytest.approx(0.1 * len(earlier.people), rel=0.25)


def test_records_recur_as_they_did() -> None:
    ids = np.arange(300)
    people = np.concatenate([np.repeat(ids, 2)] * 3)
    months = np.repeat([0, 1, 2], 600)
    kept = np.concatenate([np.arange(600)] * 3)
    new = np.arange(1800)
    codes = np.zeros((1800, 1), np.int64)
    for records, share in ((kept, 1.0), (new, 0.0)):
        known = History(months, people, codes, records)
        turnover = Turnover.learned(known)
        assert turnover.recurring_records == share
        first, second = islice(played(known, turnover, np.random.default_rng(0)), 2)
        assert np.isin(second.records, first.records).mean() == share
        assert len(second.records) == len(set(second.records.tolist())) == 600


def test_one_person_of_one_month_is_played() -> None:
    one = History(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 2), np.int64))
    months = islice(played(one, Turnover.stated(0, 0), np.random.default_rng(0)), 3)
    assert [month.people.tolist() for month in months] == [[0]] * 3
