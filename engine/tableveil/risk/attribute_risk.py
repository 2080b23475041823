"""Attribute risk and special uniques: how many records each subset of quasi-identifiers tells apart, in one pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

from tableveil.risk.frequencies import Frequencies
from tableveil.risk.special_uniques import SpecialUniques, SpecialUniquesTally
from tableveil.risk.subsets import Subset, counted_subsets

LARGEST_SIZE = 3
"""By default, subsets of at most so many quasi-identifiers are counted."""

FAST_COMBINATIONS = 500_000
"""With more distinct combinations, subsets of three would take longer than finding the combinations did."""

MOST_SUBSETS = 2_000
"""The most subsets that are counted, even on request."""


@dataclass(frozen=True, slots=True)
class AttributeRisk:
    """How many records and pairs a subset of the quasi-identifiers tells apart, in whole numbers.

    Attributes:
        attributes: Positions of the quasi-identifiers, ascending.
        records: Records of the table.
        distinct: Distinct combinations of the subset's values; NULL is a value.
        separated: Pairs of records that differ in at least one attribute of the subset.
        unique: Records that are alone with their values in the subset.
        minimal_unique: The unique records that are not alone with fewer of these attributes: the subset is a minimal
            sample unique of theirs.
    """

    attributes: Subset
    records: int
    distinct: int
    separated: int
    unique: int
    minimal_unique: int

    @property
    def distinction(self) -> float:
        """Distinct combinations / records; 0 for no records. The subset is an alpha-distinct quasi-key with this alpha.

        Source: Motwani and Xu 2007, "Efficient algorithms for masking and finding quasi-identifiers".
        """
        return self.distinct / self.records if self.records else 0.0

    @property
    def separation(self) -> float:
        """The share of pairs of records that differ; 0 if there is no pair.

        Source: Motwani and Xu 2007, alpha-separation.
        """
        return self.separated / comb(self.records, 2) if self.records > 1 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class SubsetRisks:
    """All subsets of up to `size` quasi-identifiers, by size and then by attributes, and the special uniques."""

    size: int
    subsets: tuple[AttributeRisk, ...]
    special: SpecialUniques


def number_of_subsets(attributes: int, size: int) -> int:
    """The number of subsets of 1 to `size` among so many attributes."""
    return sum(comb(attributes, members) for members in range(1, size + 1))


def largest_size(attributes: int) -> int:
    """The largest size up to which all subsets may be counted: there are no more than `MOST_SUBSETS`.

    The result is at least 1.
    """
    size = 1
    while size < attributes and number_of_subsets(attributes, size + 1) <= MOST_SUBSETS:
        size += 1
    return size


def default_size(attributes: int, combinations: int) -> int:
    """The size by default: `LARGEST_SIZE`, or less if that would take long."""
    size = LARGEST_SIZE if combinations <= FAST_COMBINATIONS else LARGEST_SIZE - 1
    return min(size, largest_size(attributes))


def subset_risks(frequencies: Frequencies, size: int, after_each: Callable[[], None] = lambda: None) -> SubsetRisks:
    """Counts all subsets of 1 to `size` quasi-identifiers, or of fewer if there are not so many.

    `after_each` is called after each subset, and may raise an error that ends the work.

    Raises:
        ValueError: the size is below 1, or there would be more than `MOST_SUBSETS`.
    """
    attributes, records = len(frequencies.values), frequencies.total
    if size < 1 or number_of_subsets(attributes, size) > MOST_SUBSETS:
        raise ValueError(f"size {size} of {attributes} attributes; 1 to {largest_size(attributes)} can be counted")
    size = min(size, attributes)
    tally = SpecialUniquesTally(attributes, len(frequencies.records), size)
    subsets = []
    for counted in counted_subsets(frequencies, size):
        alike = int(counted.counts @ counted.counts)
        subsets.append(
            AttributeRisk(
                attributes=counted.attributes,
                records=records,
                distinct=len(counted.counts),
                separated=(records**2 - alike) // 2,
                unique=len(counted.unique),
                minimal_unique=tally.add(counted.attributes, counted.unique),
            )
        )
        after_each()
    subsets.sort(key=lambda risk: (len(risk.attributes), risk.attributes))
    return SubsetRisks(size, tuple(subsets), tally.result())


def proposed_identifiers(risks: Sequence[AttributeRisk], distinction: float, separation: float) -> list[AttributeRisk]:
    """The minimal subsets that reach one of the thresholds, most distinctive first: guesses of what identifies people.

    An adversary's knowledge is not known here: a subset that tells all records apart may be a number that nobody ever
    sees, and a subset that does not may be on everyone's doorbell.
    """
    reaching = [risk for risk in risks if risk.distinction >= distinction or risk.separation >= separation]
    identifying = {risk.attributes for risk in reaching}
    minimal = [risk for risk in reaching if not any(set(less) < set(risk.attributes) for less in identifying)]
    return sorted(minimal, key=lambda risk: (-risk.distinct, -risk.separated, risk.attributes))
