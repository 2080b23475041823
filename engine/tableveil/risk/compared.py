"""The risks by some of the columns, from the combinations of all: for an adversary who knows no more columns."""

from collections.abc import Sequence

from tableveil.risk.frequencies import Frequencies
from tableveil.risk.prosecutor import ClassSizes
from tableveil.risk.subsets import records_by_values


def class_sizes_by(frequencies: Frequencies, attributes: Sequence[int]) -> ClassSizes:
    """The sizes of the classes by quasi-identifiers at these positions; there is at least one."""
    if len(set(attributes)) == len(frequencies.values):
        return frequencies.sizes
    return ClassSizes.of(records_by_values(frequencies, tuple(sorted(set(attributes)))))
