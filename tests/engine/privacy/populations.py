"""Classes by their sizes, in the source and in the population."""

from collections.abc import Sequence

import numpy as np

from tableveil.classes import EquivalenceClasses, NumpyCounter
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values


def counter_of(counts: Sequence[int], population: Sequence[int] | None = None) -> NumpyCounter:
    """A class per count of one quasi-identifier that has only a top; one of no records is in the population only."""
    values = [f"{i:05}" for i in range(len(counts))]
    labelled = label_values(InlineLevels(tuple((value, "*") for value in values)), ValueKind.TEXT, values, values)
    people = None if population is None else np.array(population, np.int64)
    groups = [np.arange(len(counts), dtype=np.int32)]
    return NumpyCounter(
        [attribute_levels(labelled, has_null=False)], groups, np.array(counts, np.int64), population=people
    )


def classes_of(counts: Sequence[int], population: Sequence[int] | None = None) -> EquivalenceClasses:
    """The classes at level 0."""
    return counter_of(counts, population).classes((0,))
