"""All privacy models of a policy as one: a class may be released if every model releases it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.policy import KAnonymity, PrivacyModel
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.privacy.model import ReleaseRule

RULES: dict[type[PrivacyModel], Callable[[PrivacyModel], ReleaseRule]] = {KAnonymity: KAnonymityRule}


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Every rule must hold."""

    rules: tuple[ReleaseRule, ...]

    @property
    def minimum_class_size(self) -> int:
        """The largest size any of the rules implies."""
        return max((rule.minimum_class_size for rule in self.rules), default=1)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes that every rule releases."""
        mask = np.ones(len(classes.counts), np.bool_)
        for rule in self.rules:
            mask &= rule.releasable(classes)
        return mask


def privacy_of(models: Iterable[PrivacyModel]) -> Conjunction:
    """The rule that all the policy's models together make."""
    return Conjunction(tuple(RULES[type(model)](model) for model in models))
