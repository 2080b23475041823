"""All privacy models of a policy as one: a class may be released if every model releases it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.privacy.model import ReleaseRule


@dataclass(frozen=True)
class Conjunction(ReleaseRule):
    """Every rule must hold."""

    rules: tuple[ReleaseRule, ...]

    @property
    def sizes_only(self) -> bool:  # type: ignore[override]
        """Whether all rules do."""
        return all(rule.sizes_only for rule in self.rules)

    @property
    def minimum_class_size(self) -> int:
        """The largest size that any of the rules implies."""
        return max((rule.minimum_class_size for rule in self.rules), default=1)

    @property
    def knows_lost(self) -> bool:
        """Whether any rule vetoes."""
        return any(rule.knows_lost for rule in self.rules)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes that every rule releases; rules by sample judge the rest of the others, in their order."""
        kept = np.ones(len(classes.counts), np.bool_)
        for rule in self.rules:
            if not rule.by_sample:
                kept &= rule.releasable(classes)
        by_sample = [rule for rule in self.rules if rule.by_sample]
        before = len(kept) + 1
        # One rule may suppress classes that another rule needs to hold: this repeats until none suppresses any more.
        while by_sample and np.count_nonzero(kept) < before:
            before = np.count_nonzero(kept)
            for rule in by_sample:
                # The right side is evaluated first: it judges the classes that are kept so far.
                kept[kept] = rule.releasable(classes.selected(kept))
        return kept

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64] | None:
        """Per class, the largest loss that any rule knows: which records of a class are lost is not known."""
        most: NDArray[np.int64] | None = None
        for rule in self.rules:
            lost = rule.lost(classes)
            if lost is not None:
                most = lost if most is None else np.maximum(most, lost)
        return most

    def lost_together(self, classes: EquivalenceClasses) -> int:
        """The largest loss that any rule knows: several rules may lose the same records."""
        return max((rule.lost_together(classes) for rule in self.rules), default=0)

    def vetoes(self, classes: EquivalenceClasses) -> bool:
        """Whether any rule refuses all below."""
        return any(rule.vetoes(classes) for rule in self.rules)

    def refuses_all_below(self, classes: EquivalenceClasses) -> bool:
        """Whether any rule does."""
        return any(rule.refuses_all_below(classes) for rule in self.rules)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """A conjunction has no parameter of its own: its rules have."""
        return None
