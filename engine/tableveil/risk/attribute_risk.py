"""Attribute risk and special uniques: what each subset of the quasi-identifiers tells apart, counted in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

from tableveil.risk.frequencies import Frequencies
from tableveil.risk.special_uniques import SpecialUniques, SpecialUniquesTally
from tableveil.risk.subsets import Subset, counted_subsets

LARGEST_SIZE = 3
"""Subsets of at most so many quasi-identifiers are counted unless more are asked for."""

FAST_COMBINATIONS = 500_000
"""With more distinct combinations, subsets of three would take longer than finding the combinations did."""

MOST_SUBSETS = 2_000
"""No more subsets are counted, whatever is asked for."""


@dataclass(frozen=True, slots=True)
class AttributeRisk:
    """What a subset of the quasi-identifiers tells apart, in whole numbers.

    Attributes:
        attributes: Positions of the quasi-identifiers, ascending.
        records: Records of the table.
        distinct: Distinct combinations of their values; NULL is a value.
        separated: Pairs of records that differ in at least one of them.
        unique: Records that are alone with their values of them.
        minimal_unique: Those of them that are not alone with fewer of these attributes: the subset is a minimal sample
            unique of theirs.
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
        """The share of pairs of records that differ; 0 if there is no pair. Source: the same, alpha-separation."""
        return self.separated / comb(self.records, 2) if self.records > 1 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class SubsetRisks:
    """All subsets of up to `size` quasi-identifiers, by size and then by attributes, and the special uniques."""

    size: int
    subsets: tuple[AttributeRisk, ...]
    special: SpecialUniques


def number_of_subsets(attributes: int, size: int) -> int:
    """How many subsets of 1 to `size` of so many attributes there are."""
    return sum(comb(attributes, members) for members in range(1, size + 1))


def largest_size(attributes: int) -> int:
    """Up to which size all subsets may be counted: with no more than `MOST_SUBSETS`. At least 1."""
    size = 1
    while size < attributes and number_of_subsets(attributes, size + 1) <= MOST_SUBSETS:
        size += 1
    return size


def default_size(attributes: int, combinations: int) -> int:
    """The size that is taken unless one is asked for: `LARGEST_SIZE`, less if that would take long."""
    size = LARGEST_SIZE if combinations <= FAST_COMBINATIONS else LARGEST_SIZE - 1
    return min(size, largest_size(attributes))


def subset_risks(frequencies: Frequencies, size: int, after_each: Callable[[], None] = lambda: None) -> SubsetRisks:
    """Counts all subsets of 1 to `size` quasi-identifiers; of fewer if there are not so many.

    `after_each` subset is called, and may raise what ends the work.

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
    """The minimal subsets that reach one of the thresholds, most telling first: guesses of what identifies people.

    Nothing is known here of what an adversary knows: a subset that tells all records apart may be a number nobody ever
    sees, and one that does not may be on everyone's doorbell.
    """
    reaching = [risk for risk in risks if risk.distinction >= distinction or risk.separation >= separation]
    found = {risk.attributes for risk in reaching}
    minimal = [risk for risk in reaching if not any(set(less) < set(risk.attributes) for less in found)]
    return sorted(minimal, key=lambda risk: (-risk.distinct, -risk.separated, risk.attributes))
