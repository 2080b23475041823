"""The weights of generalization and suppression that a policy's one factor stands for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of the costs of generalized and of suppressed records; at least one of them is 1."""

    generalization: float
    suppression: float

    @classmethod
    def of(cls, factor: float) -> Factors:
        """The weights for a factor from 0 to 1: (1, 2 * factor) up to a half, (2 * (1 - factor), 1) from there."""
        return cls(min(1.0, 2.0 * (1.0 - factor)), min(1.0, 2.0 * factor))

    @property
    def balanced(self) -> bool:
        """Whether both count in full."""
        return self.generalization == self.suppression
