"""The gain of an adversary who knows all quasi-identifiers and runs the method again: more than the models say."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.control import Control
from tableveil.hierarchy import AttributeLevels, ValueKind, attribute_levels, label_values
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import BetaLikeness, KAnonymity, LossModel, PrivacyModel
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem, exact

Ill = frozenset[int]
"""The positions of the people who are ill: a world that the adversary thinks possible."""

Public = tuple[Transformation, tuple[tuple[tuple[int, int], int, int], ...]]
"""The levels, and for every class its labels, its number of records, and the number of ill people in it."""

TOWN_AND_TRADE = (("a", "p"), ("a", "q"), ("b", "p"), ("b", "q"), ("c", "r"), ("c", "r"))
WORLDS = [frozenset(ill) for ill in combinations(range(len(TOWN_AND_TRADE)), 2)]
LAST_TWO = frozenset({4, 5})

SIZES = (KAnonymity(2),)
VALUES = (BetaLikeness("illness", Decimal("0.5")),)
"""A third are ill: nobody may be ill with a probability above 1/3 * (1 + 0.5) = 1/2."""


def problem(ill: Ill, models: Sequence[PrivacyModel]) -> Problem:
    """The search for a world in which these people are ill; towns and trades are released or hidden."""
    number = len(TOWN_AND_TRADE)
    levels, codes = zip(*(_attribute([person[j] for person in TOWN_AND_TRADE]) for j in (0, 1)), strict=True)
    values = np.array([int(i in ill) for i in range(number)])
    illness = SensitiveColumn("illness", np.bincount(values, minlength=2))
    rows = SensitiveRows(np.arange(number), values, np.ones(number, np.int64))
    counter = NumpyCounter(levels, codes, np.ones(number, np.int64), sensitive=[(illness, rows)])
    return Problem(
        lattice=Lattice((0, 0), (1, 1)),
        counter=counter,
        privacy=privacy_of(tuple(models), counter, None, None),
        quality=quality_of(LossModel(), counter, [1.0, 1.0], 0, None),
        suppressible=0,
    )


def _attribute(column: list[str]) -> tuple[AttributeLevels, NDArray[np.int32]]:
    values = sorted(set(column))
    labelled = label_values(SuppressionOnly(), ValueKind.TEXT, values, values)
    return attribute_levels(labelled, has_null=False), np.array([values.index(value) for value in column], np.int32)


def chosen(ill: Ill, models: Sequence[PrivacyModel]) -> Public:
    """The public part of the release."""
    of = problem(ill, models)
    best = exact(of, Control()).best
    assert best is not None
    classes = of.counter.classes(best.transformation)
    spread = classes.values(0)
    infected = [0] * len(classes.counts)
    for at, value, count in zip(spread.classes, spread.values, spread.counts, strict=True):
        infected[at] += int(value * count)
    labels = zip(classes.groups(0).tolist(), classes.groups(1).tolist(), strict=True)
    return best.transformation, tuple(zip(labels, classes.counts.tolist(), infected, strict=True))


def met(released: Public) -> bool:
    """Whether at least two share their labels, and at most half of them are ill; written without the product."""
    return all(records >= 2 and 2 * infected <= records for _, records, infected in released[1])


def worst(worlds: Sequence[Ill]) -> float:
    """The highest probability of a person's illness for the adversary, all worlds being equally likely."""
    return max(sum(i in ill for ill in worlds) / len(worlds) for i in range(len(TOWN_AND_TRADE)))


def test_an_adversary_who_runs_the_method_is_certain_of_two_people() -> None:
    """Towns fail in three worlds, trades in three others but for one: so everything was hidden in that one only."""
    released = chosen(LAST_TWO, SIZES + VALUES)
    assert met(released)
    assert released == ((1, 1), (((0, 0), 6, 2),)), "the release by itself says that a third are ill"
    assert len(WORLDS) == 15
    left = [ill for ill in WORLDS if chosen(ill, SIZES + VALUES) == released]
    assert left == [LAST_TWO]
    assert worst(left) == 1


def test_chosen_by_quasi_identifiers_only_no_release_says_more_than_its_models() -> None:
    """Some worlds have no release then. In worlds with a release, nobody is ill with a probability above a half."""
    released = {ill: chosen(ill, SIZES) for ill in WORLDS}
    assert len({levels for levels, _ in released.values()}) == 1
    passed = {ill: public for ill, public in released.items() if met(public)}
    assert LAST_TWO not in passed
    assert 0 < len(passed) < len(WORLDS)
    for public in passed.values():
        assert worst([ill for ill in passed if passed[ill] == public]) <= 0.5
