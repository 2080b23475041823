"""Columns that one quasi-identifier's values give, the rows that they leave of a class, and copies of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.unchanged import EVIDENCE, MOST_CELLS, SHARED, TELLING
from tableveil.verification.coded import Codes, HeldRows, Records, looked_up, spans, tally, totals

Flags = NDArray[np.bool_]

AT_ONCE = 2_000_000
"""So many own values times rows of their class are compared: an even part of the own values, if there are more.

Beyond `MOST_CELLS` nothing is: the release itself looked at a part.
"""

SURELY, FEWER, MORE, TINY = 0.95, 0.9 * TELLING, 5.0, 1e-9
"""The least share of right records, the largest of others, and how much more evidence there has to be."""


@dataclass(frozen=True, eq=False)
class Rule:
    """The values of column `i` that fit own values of quasi-identifier `j`: if it is `given`, those of its `pairs`.

    There are so many `values`.
    """

    j: int
    i: int
    given: Flags
    pairs: Codes
    values: int

    def fit(self, own: Codes, value: Codes) -> Flags:
        """Whether each value fits the own value beside it."""
        known = looked_up(self.pairs, np.ones(len(self.pairs), np.int64), own * self.values + value) > 0
        return known | ~self.given[own]


def rule_of(records: Records, j: int, i: int) -> Rule | None:
    """The rule by which own values give a column, if they do beyond doubt.

    Own values of about as many people are judged together: nearly everybody has a value that somebody else with the own
    value has, and clearly less than half of the others under the label have one of these.
    """
    own, values = records.own[j], records.values[i].number
    keys = own.code * values + records.values[i].code
    pairs, people = records.people_of(keys, own.number * values)
    alone = totals(pairs // values, people, own.number) == 1
    # A person alone with an own value shows nothing: the release judges them all as one own value of each label.
    under_label = np.arange(int(own.label.max(initial=0)) + 1)
    judged_as = np.where(alone, own.number + own.label, np.arange(own.number))
    labels, number = np.concatenate([own.label, under_label]), own.number + len(under_label)
    judged, people = tally(judged_as[pairs // values] * values + pairs % values, people, number * values)
    mine, of_label = judged // values, labels[judged // values] * values + judged % values
    of_own = totals(mine, people, number)
    right = totals(mine, np.where(people > 1, people, 0), number)
    rest = totals(labels, of_own, len(under_label))[labels] - of_own
    others = looked_up(*tally(of_label, people, len(under_label) * values), of_label) - people
    fitting = totals(mine, others, number) / np.maximum(rest, 1)
    tried = np.where((of_own > 1) & (rest > 0), of_own, 0)
    order = np.frexp(np.maximum(of_own, 1))[1]
    together = np.bincount(order, weights=tried)
    shares = (right / np.maximum(of_own, 1), fitting)
    means = [np.bincount(order, weights=tried * each) / np.maximum(together, 1) for each in shares]
    given = (sure(means[0], means[1], together)[order] & (tried > 0))[: own.number]
    return Rule(j, i, given, pairs, values) if given.any() else None


def sure(right: NDArray[np.float64], others: NDArray[np.float64], number: NDArray[Any]) -> Flags:
    """Whether a rule holds beyond doubt: clearly surer than the release itself asks for."""
    by_chance = number * right * np.log(np.maximum(right, TINY) / np.maximum(others, TINY))
    flags: Flags = (right >= SURELY) & (others <= FEWER) & (by_chance >= EVIDENCE + MORE)
    return flags


def least_of_one(records: Records, held: HeldRows, rules: Sequence[Rule], k: int, owned: HeldRows | None) -> int:
    """The least number of rows that the rules of a quasi-identifier leave, up to k, or of people whose are `owned`."""
    classes, owns = _compared(records, held, rules[0].j)
    if owned is None:
        # A row may be outside by several columns: at least the others are left.
        few = held.sizes[classes] - sum(_outside(held, rule, classes, owns) for rule in rules) < k
        at, pair = _fitting(held, rules, classes[few], owns[few])
        return int(totals(pair, held.rows[at], int(few.sum())).min(initial=k))
    # Classes that nobody has rows of, by the source's labels, are judged elsewhere.
    there = np.isin(held.numbers[classes], owned.numbers)
    at, pair = _fitting(owned, rules, np.searchsorted(owned.numbers, held.numbers[classes[there]]), owns[there])
    of_people = np.unique(pair * len(owned.rows) + owned.people[at])
    return int(np.bincount(of_people // len(owned.rows), minlength=int(there.sum())).min(initial=k))


def share_among_few(records: Records, held: HeldRows, rule: Rule, k: int) -> float:
    """The share of the people of whose class a rule leaves fewer than k rows."""
    classes, owns = _compared(records, held, rule.j)
    few = held.sizes[classes] - _outside(held, rule, classes, owns) < k
    own, here = records.own[rule.j], records.classes >= 0
    at = here & np.isin(records.classes * own.number + own.code, (classes * own.number + owns)[few])
    if records.people is not None:
        return len(np.unique(records.people[at])) / max(len(np.unique(records.people[here])), 1)
    times = np.ones(len(at)) if records.times is None else records.times
    return float(times[at].sum() / max(times[here].sum(), 1))


def _compared(records: Records, held: HeldRows, j: int) -> tuple[Codes, Codes]:
    """The classes and own values that are compared with each other's rows, where a class has several own values."""
    own, here, number = records.own[j], records.classes >= 0, len(held.numbers)
    times = None if records.times is None else records.times[here]
    of_class = records.classes[here]
    keys, _ = tally(of_class * own.number + own.code[here], times, number * own.number)
    classes, owns = keys // own.number, keys % own.number
    shared = np.bincount(classes, minlength=number)[classes] > 1
    compared = int(totals(of_class, times, number)[classes[shared]].sum())
    chosen = shared & (owns % (1 + compared // AT_ONCE) == 0) & (compared <= MOST_CELLS)
    return classes[chosen], owns[chosen]


def _outside(held: HeldRows, rule: Rule, classes: Codes, owns: Codes) -> Codes:
    """How many rows of each class do not fit the own value beside it."""
    of_class, value, rows = held.by_value(rule.i)
    at, pair = spans(of_class, classes)
    outside = ~rule.fit(owns[pair], value[at])
    return totals(pair[outside], rows[at[outside]], len(classes))


def _fitting(held: HeldRows, rules: Sequence[Rule], classes: Codes, owns: Codes) -> tuple[Codes, Codes]:
    """The rows of each class that fit the own value beside it by every rule, and the place of both."""
    at, pair = spans(held.classes, classes)
    for rule in rules:
        fit = rule.fit(owns[pair], held.values[rule.i][at])
        at, pair = at[fit], pair[fit]
    return at, pair


def determines(records: Records, j: int, i: int) -> bool:
    """Whether people with one value of a column agree in what a label hides of a quasi-identifier, beyond doubt."""
    own, value = records.own[j], records.values[i]
    number = int(own.finer.max(initial=0)) + 1
    label = np.zeros(number, np.int64)
    label[own.finer] = own.label
    if records.people is None:
        # No more can agree than the largest group has.
        most = totals(own.finer, records.counts[0][j], number).max(initial=1)
        sizes = records.counts[1][i]
        sizes = sizes[sizes > 1]
        if (sizes * np.minimum((most - 1) / (sizes - 1), 1)).sum() < (SURELY - TINY) * sizes.sum():
            return False
    keys, people = records.people_of(value.code * number + own.finer[own.code], value.number * number)
    of_value = totals(keys // number, people, value.number)[keys // number]
    tried, others = people[of_value > 1], of_value[of_value > 1] - 1
    if tried.sum() < 2 * SHARED * people.sum():
        return False
    right = (tried * (tried - 1) / others).sum() / tried.sum()
    of_group = totals(keys % number, people, number)
    of_label = totals(label, of_group, number)[label]
    agreeing = np.where(of_label > 1, of_group * (of_group - 1) / np.maximum(of_label - 1, 1), 0).sum()
    chance = agreeing / max(of_group[of_label > 1].sum(), 1)
    different = tried.sum() - len(np.unique(keys[of_value > 1] // number))
    return bool(sure(np.array([right]), np.array([chance]), np.array([different]))[0])
