"""Transformations and the box of the lattice that a policy's level limits leave open."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

Transformation = tuple[int, ...]
"""One generalization level per quasi-identifier, in policy order."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """All transformations x with `bottom` <= x <= `top`, attribute by attribute."""

    bottom: Transformation
    top: Transformation

    def __post_init__(self) -> None:
        if len(self.bottom) != len(self.top) or any(b > t for b, t in zip(self.bottom, self.top, strict=True)):
            raise ValueError(f"not a lattice: {self.bottom} to {self.top}")

    @property
    def size(self) -> int:
        """Number of transformations; may exceed any fixed-width integer."""
        return math.prod(t - b + 1 for b, t in zip(self.bottom, self.top, strict=True))

    def __iter__(self) -> Iterator[Transformation]:
        """Every transformation, in lexicographic order."""
        return itertools.product(*(range(b, t + 1) for b, t in zip(self.bottom, self.top, strict=True)))
