"""The gain of an adversary who knows all quasi-identifiers and runs local recoding again, in every world."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tableveil.classes import SensitiveRows
from tableveil.control import Control
from tableveil.local_recoding import LocalProblem, label_costs, recode
from tableveil.policy import LossModel, PrivacyModel
from tests.adversary.test_minimality import SIZES, TOWN_AND_TRADE, VALUES, WORLDS, Ill, problem, worst

Public = tuple[tuple[tuple[str, ...], int, int], ...]
"""Per class its labels, its number of records, and the number of ill people in it."""


def chosen(ill: Ill, models: Sequence[PrivacyModel]) -> Public:
    """The public part of the release by local recoding, with nothing suppressed."""
    of = problem(ill, models)
    classes = of.counter.classes((0, 0))
    spread = classes.values(0)
    rows = np.column_stack([classes.groups(j) for j in (0, 1)])
    levels = of.counter.levels
    costs = label_costs(LossModel(), levels, [1.0, 1.0], of.counter.marginals().counts)
    values = SensitiveRows(spread.classes, spread.values, spread.counts)
    sensitive = (of.counter.sensitive[0], values)
    local = LocalProblem(levels, rows, classes.counts, costs, (0, 0), (1, 1), of.privacy, sensitive=(sensitive,))
    found = recode(local, Control())
    infected = np.zeros(len(rows), np.int64)
    np.add.at(infected, spread.classes, spread.values * spread.counts)
    public = []
    for number, at in enumerate(found.levels):
        members = np.flatnonzero(found.classes == number)
        town, trade = (
            "*" if at[j] else sorted({person[j] for person in TOWN_AND_TRADE})[rows[members[0], j]] for j in (0, 1)
        )
        public.append(((town, trade), int(classes.counts[members].sum()), int(infected[members].sum())))
    return tuple(sorted(public))


def worlds_of(models: Sequence[PrivacyModel]) -> dict[Public, list[Ill]]:
    """Per release, the worlds in which it comes out."""
    worlds: dict[Public, list[Ill]] = defaultdict(list)
    for ill in WORLDS:
        worlds[chosen(ill, models)].append(ill)
    return worlds


def told(public: Public) -> float:
    """The highest share of ill people in a class, which the release shows to everybody."""
    return max(infected / records for _, records, infected in public)


def test_by_sizes_only_mixed_labels_tell_nothing_that_classes_do_not() -> None:
    worlds = worlds_of(SIZES)
    assert len({tuple(labels for labels, *_ in public) for public in worlds}) == 1
    for public, left in worlds.items():
        assert worst(left) == told(public)


def test_labels_that_depend_on_values_make_an_adversary_certain() -> None:
    """People of trade p would have had the trade as label, like the two of q, if the values had allowed it."""
    worlds = worlds_of((*SIZES, *VALUES))
    public = ((("*", "*"), 4, 2), (("*", "q"), 2, 0))
    assert told(public) == 0.5
    assert len(worlds[public]) == 1
    assert worst(worlds[public]) == 1
