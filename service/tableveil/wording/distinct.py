"""How many distinct values a column has, in words: declared by its rule, before and after."""

import datetime
from collections.abc import Iterator

from tableveil import wording
from tableveil.v1 import policy_pb2, release_service_pb2

LARGEST_WRITTEN = 10**12
"""Larger numbers of codes are written as a power."""


def before_and_after(result: release_service_pb2.AttributeResult) -> str:
    """How many values occurred, and how many labels are left of them."""
    return f"{wording.count(result.distinct_before)} → {wording.count(result.distinct_after)}"


def is_erased(result: release_service_pb2.AttributeResult) -> bool:
    """Whether values that differed have one label now."""
    return result.distinct_after == 1 < result.distinct_before


def declared_domains(release: release_service_pb2.Release) -> Iterator[str]:
    """A line for each generalized column whose rule declares more values than occur; the first line explains them."""
    hierarchies = {attribute.column: attribute.hierarchy for attribute in release.policy.attributes}
    lines = []
    for result in release.attributes:
        declared = None if result.aggregation else _declared(hierarchies.get(result.column))
        if declared is not None and declared[0] > result.distinct_before:
            occurring = f"of which {wording.count(result.distinct_before)} occur"
            lines.append(f"  {wording.short(result.column)}: {declared[1]}, {occurring}")
    if lines:
        yield "A label's loss is its share of all values that the hierarchy declares, whether they occur or not:"
        yield from lines


def _declared(hierarchy: policy_pb2.Hierarchy | None) -> tuple[int, str] | None:
    """The number of values that a rule declares, and their description; None if the policy does not say."""
    if hierarchy is None:
        return None
    if hierarchy.HasField("redaction"):
        rule = hierarchy.redaction
        characters = len(set(rule.alphabet)) or rule.alphabet_size
        number = characters**rule.length
        written = wording.count(number) if number <= LARGEST_WRITTEN else f"{characters}^{rule.length}"
        return number, f"{written} codes of {rule.length} characters"
    ranges = (
        (hierarchy.intervals.minimum, hierarchy.intervals.maximum),
        (hierarchy.dates.minimum, hierarchy.dates.maximum),
    )
    for first, last in ranges:
        number = _between(first, last)
        if number is not None:
            return number, f"{wording.count(number)} from {wording.short(first)} to {wording.short(last)}"
    return None


def _between(first: str, last: str) -> int | None:
    """The number of whole numbers, or days, from the first to the last; None if these are neither."""
    try:
        return int(last) - int(first) + 1
    except ValueError:
        pass
    try:
        return (datetime.date.fromisoformat(last) - datetime.date.fromisoformat(first)).days + 1
    except ValueError:
        return None
