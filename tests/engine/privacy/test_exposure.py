"""The values that follow of columns, and who is found by them, against plain loops over random tables."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from tableveil.privacy.exposure.cells import Codes, Flags, ValuePairs, counted, ranked
from tableveil.privacy.exposure.fits import given_by
from tableveil.privacy.exposure.formulas import Reading
from tableveil.privacy.exposure.found import alone_and_few
from tableveil.privacy.exposure.judged import (
    ColumnJudgement,
    Judgements,
    OwnValues,
    Readings,
    Unchanged,
    judge,
    what_follows,
)
from tableveil.privacy.exposure.pairs import PairEvidence, telling_pairs
from tableveil.privacy.exposure.rows import ByValues, ClassRows, HeldValues, few_left

K = 4


def drawn(chance: Random, *, people: bool) -> tuple[ClassRows, Codes, Codes]:
    """Rows by class, with an own value and a value each."""
    number = chance.randrange(20, 120)
    classes = np.sort(np.array([chance.randrange(8) for _ in range(number)]))
    classes = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    own = np.array([chance.randrange(6) for _ in range(number)])
    value = np.array([chance.randrange(5) if chance.random() < 0.3 else int(mine) % 5 for mine in own])
    whose = np.array([chance.randrange(1 + number // 3) for _ in range(number)]) if people else None
    records = None if people or chance.random() < 0.5 else np.array([chance.randrange(1, 4) for _ in range(number)])
    return ClassRows(classes, records, whose), own, value


@pytest.mark.parametrize("people", [False, True])
def test_rows_among_few_are_those_of_the_definition(people: bool) -> None:
    found = 0
    for seed in range(30):
        chance = Random(seed)
        rows, own, value = drawn(chance, people=people)
        judgements, allowed = [], []
        for _ in range(chance.randrange(1, 3)):
            fits = {mine: {v for v in range(5) if chance.random() < 0.5 or v == mine % 5} for mine in range(6)}
            given = [chance.random() < 0.8 for _ in range(6)]
            listed = [sorted(fits[mine]) if given[mine] else [] for mine in range(6)]
            fitting = [(o, v) for o, each in enumerate(listed) for v in each]
            own_listed, values_listed = np.array(fitting, np.int64).reshape(-1, 2).T
            pairs = ValuePairs(own_listed, values_listed, np.ones(len(own_listed), np.int64), 6, 5)
            judgements.append(ByValues(own, HeldValues(rows, value, 5), pairs, np.array(given)))
            allowed.append({mine: fits[mine] if given[mine] else set(range(5)) for mine in range(6)})
        few = few_left(rows, np.ones(len(rows.sizes), np.bool_), judgements, K)
        for row in range(len(rows)):
            others = [
                other
                for other in range(len(rows))
                if rows.classes[other] == rows.classes[row] and all(value[other] in by[own[row]] for by in allowed)
            ]
            if rows.people is not None:
                left = len({rows.people[other] for other in others})
            else:
                left = sum(1 if rows.records is None else int(rows.records[other]) for other in others)
            same = all(
                value[other] in by[own[row]]
                for by in allowed
                for other in range(len(rows))
                if rows.classes[other] == rows.classes[row]
            )
            assert few[row] == (left < K and not same), (seed, row)
        found += int(few.sum())
    assert found > 100


@pytest.mark.parametrize("people", [False, True])
def test_those_who_are_found_are_those_of_the_definition(people: bool) -> None:
    for seed in range(20):
        rows, own, value = drawn(Random(seed), people=people)
        groups = defaultdict(list)
        for row in range(len(rows)):
            groups[int(rows.classes[row]), int(value[row]), int(own[row])].append(row)
        found, few = set[object](), set[object]()
        for members in groups.values():
            units = {
                (int(rows.people[row]),) if rows.people is not None else (row, copy)
                for row in members
                for copy in range(1 if rows.records is None else int(rows.records[row]))
            }
            found |= units if len(units) == 1 else set()
            few |= units if len(units) < K else set()
        assert alone_and_few(rows, [value, own], K, people=people) == (len(found), len(few))


@pytest.mark.parametrize("wide", [3, 400, 40_000])
def test_pairs_are_counted_and_numbered_however_many_are_possible(wide: int) -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        own, value = random.integers(0, 40, 300), random.integers(0, wide, 300)
        records = random.integers(1, 5, 300) if seed % 2 else None
        pairs = Counter[tuple[int, int]]()
        for row, pair in enumerate(zip(own.tolist(), value.tolist(), strict=True)):
            pairs[pair] += 1 if records is None else int(records[row])
        cells = counted(own, value, records, 40, wide)
        assert list(zip(*(of.tolist() for of in (cells.own, cells.value, cells.records)), strict=True)) == [
            (*pair, number) for pair, number in sorted(pairs.items())
        ]
        place = {pair: number for number, pair in enumerate(sorted(pairs))}
        codes, number = ranked(own, value)
        assert codes.tolist() == [place[pair] for pair in zip(own.tolist(), value.tolist(), strict=True)]
        assert number == len(pairs)
        # Rare own values are one under each label.
        rare, label = random.random(40) < 0.3, np.arange(40) % 3
        expected = counted(np.where(rare, 40 + label, np.arange(40))[own], value, records, 43, wide)
        found = cells.pooled(rare, label)
        assert (found.owns, found.keys.tolist()) == (43, expected.keys.tolist())
        assert found.records.tolist() == expected.records.tolist()


def test_the_rule_leaves_each_record_out() -> None:
    """Both shares, and the values that are listed, by plain loops."""
    telling = 0
    for seed in range(60):
        chance = Random(seed)
        owns, number = chance.choice((10, 40)), chance.choice((60, 300))
        own = np.array([chance.randrange(owns) for _ in range(number)])
        depends = chance.random()
        value = np.array([int(o) * 7 % 13 if chance.random() < depends else chance.randrange(13) for o in own])
        label = np.arange(owns) % 3
        cells = counted(own, value, None, owns, 13)
        given = given_by(cells, [label], minorities=False)
        of_own, pairs = Counter(own.tolist()), Counter(zip(own.tolist(), value.tolist(), strict=True))
        tried = [row for row in range(number) if of_own[own[row]] > 1]
        right = sum(pairs[own[row], value[row]] > 1 for row in tried) / max(len(tried), 1)
        by_others = []
        for row in tried:
            others = [o for o in range(number) if label[own[o]] == label[own[row]] and own[o] != own[row]]
            by_others.append(sum((own[row], value[o]) in pairs for o in others) / len(others))
        chances = sum(by_others) / max(len(by_others), 1)
        holds = right >= 0.9 and (chances <= 0.5 or (1 - chances >= 4 * (1 - right) and chances < 0.9))
        if holds:
            miss = (1 - right) * math.log((1 - right) / (1 - chances)) if right < 1 else 0.0
            holds = len(tried) * (right * math.log(right / max(chances, 1e-9)) + miss) >= 11.5
        assert given.any() == holds, seed
        if holds:
            telling += 1
            for o in range(owns):
                listed = cells.value[(cells.own == o) & given[o]].tolist()
                assert listed == (sorted(v for (mine, v) in pairs if mine == o) if of_own[o] > 1 else [])
    assert 5 < telling < 40


def told(own: Codes, value: Codes, classes: int, k: int = 5) -> bool:
    """Whether something follows of a column beside a hidden quasi-identifier, in classes that are chance."""
    order = np.argsort(np.arange(len(own)) % classes, kind="stable")
    rows = ClassRows((np.arange(len(own)) % classes)[order], None, None)
    own, value = own[order], np.unique(value[order], return_inverse=True)[1].astype(np.int64)
    held = HeldValues(rows, value, int(value.max()) + 1)
    labels = np.zeros(int(own.max()) + 1, np.int64)

    def cells(_: int, __: int) -> object:
        return counted(own, value, None, len(labels), held.values)

    suppressed = np.zeros(classes, np.bool_)
    table = Unchanged(rows, [OwnValues(own, labels, True)], [held], cells, suppressed, False)  # type: ignore[arg-type]
    nothing = Readings([], lambda _: None)
    return bool(what_follows(table, judge(table, [nothing], lambda _: nothing), k))


def test_independent_columns_are_hardly_ever_told_of() -> None:
    """They have few, many and unique values, beside own values of few and of many people."""
    random, refused, tried = np.random.default_rng(7), 0, 0
    for _ in range(60):
        number, owns = int(random.choice([300, 1_000, 4_000])), int(random.choice([4, 30, 300]))
        own = np.unique(random.integers(0, owns, number), return_inverse=True)[1].astype(np.int64)
        for values in (2, 5, 12, 40, number // 3, 0):
            value = random.integers(0, values, number) if values else random.permutation(number)
            refused += told(own, value, number // 10)
            tried += 1
    assert refused <= tried // 100


@pytest.mark.parametrize("size", [2, 3, 8, 40])
def test_columns_that_own_values_give_are_told_of(size: int) -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        own = np.repeat(np.arange(200), size)
        code = random.integers(0, 30, 200)
        assert told(own, code[own], len(own) // 10)


def test_towns_of_one_person_that_share_a_code_are_told_of() -> None:
    random = np.random.default_rng(1)
    own = np.concatenate([np.repeat(np.arange(300), 40), np.arange(300, 360)])
    value = np.concatenate([random.integers(0, 5, 300 * 40), np.full(60, 5)])
    assert told(own, value, 400)


def test_infinite_and_huge_numbers_have_no_difference_that_tells() -> None:
    """It warns of nothing: warnings are errors here."""
    numbers = np.array([np.inf, -np.inf, 1.7e308, -1.7e308, np.nan] * 8)
    codes = np.arange(len(numbers))
    rows = ClassRows(np.zeros(len(codes), np.int64), None, None)
    own = [OwnValues(codes, np.zeros(len(codes), np.int64), hidden=True)] * 2
    evidence = PairEvidence([HeldValues(rows, codes % 5, 5)], codes)
    with np.errstate(all="raise"):
        told = list(telling_pairs(own, [Reading(j, of, True) for j, of in enumerate((numbers, -numbers))], evidence))
    assert not told


@dataclass(frozen=True)
class LeavesFew:
    """A judgement that leaves the first rows of one class alone, and says nothing of the others."""

    rows: int
    first: int

    @property
    def own(self) -> Codes:
        return np.arange(self.rows)

    def outside(self) -> Codes:
        return np.where(self.own < self.first, self.rows - 1, 0)

    def fits(self, mine: Codes, others: Codes) -> Flags:
        fit: Flags = (mine >= self.first) | (mine == others)
        return fit


@pytest.mark.parametrize(("of_two", "knows"), [(52, (0,)), (60, (0, 1))])
def test_more_knowledge_is_named_for_clearly_more_people(of_two: int, knows: tuple[int, ...]) -> None:
    """An age within a year follows from the age, although a day beside it happens to leave two more rows."""
    rows = ClassRows(np.zeros(100, np.int64), None, None)
    hidden = OwnValues(np.arange(100), np.zeros(100, np.int64), hidden=True)
    table = Unchanged(
        rows, [hidden, hidden], [HeldValues(rows, np.arange(100), 100)], no_cells, np.array([False]), False
    )
    by_one = ColumnJudgement(frozenset([0]), frozenset([0]), LeavesFew(100, 50))
    by_two = ColumnJudgement(frozenset([0]), frozenset([0, 1]), LeavesFew(100, of_two))
    (found,) = what_follows(table, Judgements([by_one, by_two], []), 5)
    assert (found.knows, rows.counted(found.few)) == (knows, 50 if knows == (0,) else of_two)


def no_cells(own: int, column: int) -> ValuePairs:
    raise AssertionError((own, column))
