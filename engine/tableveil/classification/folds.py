"""The folds of a cross-validation: which records are evaluated on together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def assign_folds(classes: NDArray[np.integer[Any]], folds: int, seed: int) -> NDArray[np.int32]:
    """Per record its fold, from 0, stratified: folds differ by one record at most, in all and in each class.

    The folds depend on the classes and the seed alone, so input and output have the same ones.
    """
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    assigned = np.empty(len(classes), np.int32)
    assigned[by_class] = np.arange(len(classes)) % folds
    return assigned


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """The records' classes, as codes, and the fold of each record: both stay as they are, whatever is trained on."""

    classes: NDArray[np.integer[Any]]
    different: int
    of: NDArray[np.int32]

    def masks(self) -> list[NDArray[np.bool_]]:
        """Per fold the mask of its records."""
        return [self.of == fold for fold in range(int(self.of.max()) + 1)]

    def shares(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The shares of the classes among the chosen records."""
        return np.bincount(self.classes[chosen], minlength=self.different) / np.count_nonzero(chosen)

    def baseline(self) -> NDArray[np.float64]:
        """Per record the shares of the classes among the records of the other folds: ZeroR."""
        filled = np.empty((len(self.of), self.different))
        for evaluated in self.masks():
            filled[evaluated] = self.shares(~evaluated)
        return filled
