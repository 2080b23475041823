"""Transformations, and the box of the lattice that a policy's level limits and linked attributes allow."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Transformation = tuple[int, ...]
"""One generalization level per quasi-identifier, in policy order."""

Axis = tuple[int, ...]
"""Positions of quasi-identifiers that always have the same level; most axes have one position."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """All transformations x with `bottom` <= x <= `top`, attribute by attribute, in which linked attributes agree.

    `axes` partitions the attributes, ordered by the first attribute of each; by default no attributes are linked.
    """

    bottom: Transformation
    top: Transformation
    axes: tuple[Axis, ...] = ()

    def __post_init__(self) -> None:
        if len(self.bottom) != len(self.top) or any(b > t for b, t in zip(self.bottom, self.top, strict=True)):
            raise ValueError(f"not a lattice: {self.bottom} to {self.top}")
        if not self.axes:
            object.__setattr__(self, "axes", tuple((j,) for j in range(len(self.bottom))))
        if sorted(itertools.chain(*self.axes)) != list(range(len(self.bottom))):
            raise ValueError(f"not a partition of {len(self.bottom)} attributes: {self.axes}")
        for axis in self.axes:
            if len({(self.bottom[j], self.top[j]) for j in axis}) > 1:
                raise ValueError(f"linked attributes {axis} have other limits: {self.bottom} to {self.top}")

    @property
    def size(self) -> int:
        """Number of transformations; may exceed any fixed-width integer."""
        return self.count(self.bottom, self.top)

    def __iter__(self) -> Iterator[Transformation]:
        """Every transformation, in lexicographic order of the axes' levels."""
        for levels in itertools.product(*(range(self.bottom[a[0]], self.top[a[0]] + 1) for a in self.axes)):
            yield self.at(levels)

    def at(self, levels: Sequence[int]) -> Transformation:
        """The transformation whose axes have these levels."""
        transformation = [0] * len(self.bottom)
        for axis, level in zip(self.axes, levels, strict=True):
            for j in axis:
                transformation[j] = level
        return tuple(transformation)

    def moved(self, transformation: Transformation, axis: Axis, level: int) -> Transformation:
        """The transformation with one axis at another level."""
        levels = list(transformation)
        for j in axis:
            levels[j] = level
        return tuple(levels)

    def count(self, lo: Transformation, hi: Transformation) -> int:
        """Number of transformations from `lo` to `hi`."""
        return math.prod([hi[axis[0]] - lo[axis[0]] + 1 for axis in self.axes])
