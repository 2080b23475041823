"""k-anonymity releases classes of at least k records; several models release what all of them do."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, KeyLayout
from tableveil.privacy import Conjunction, ReleaseRule
from tests.engine.rules import k_anonymity


def classes(*counts: int) -> EquivalenceClasses:
    return EquivalenceClasses(KeyLayout.of([len(counts)]), (np.arange(len(counts)),), np.array(counts, np.int64), (0,))


@dataclass(frozen=True)
class EvenSizes(ReleaseRule):
    """A rule that implies no size."""

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        even: NDArray[np.bool_] = classes.counts % 2 == 0
        return even

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        return None


def test_k_is_the_least_size() -> None:
    rule = k_anonymity(3)
    assert rule.minimum_class_size == 3
    assert rule.releasable(classes(1, 2, 3, 4)).tolist() == [False, False, True, True]


def test_every_rule_must_hold() -> None:
    rule = Conjunction((*k_anonymity(3).rules, EvenSizes()))
    assert rule.minimum_class_size == 3
    assert rule.releasable(classes(2, 3, 4)).tolist() == [False, False, True]


def test_no_classes() -> None:
    assert k_anonymity(2).releasable(classes()).tolist() == []
