"""Checks the part of a declared range over which loss is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.definition import Dates, Intervals
from tableveil.hierarchy.notation import Notation


def loss_range_faults(
    rule: Intervals | Dates, field: str, notation: Notation, ends: Mapping[str, Fraction]
) -> Iterator[Fault]:
    """Faults of the rule's loss range; `ends` has the minimum and maximum of the rule that can be read."""
    if rule.loss_range is None:
        return
    path = f"{field}.loss_range"
    low, high = (notation.read(text) for text in (rule.loss_range.minimum, rule.loss_range.maximum))
    for name, text, number in (("minimum", rule.loss_range.minimum, low), ("maximum", rule.loss_range.maximum, high)):
        if number is None:
            yield Fault(f"{path}.{name}", shortened(text), notation.value)
        elif ("minimum" in ends and number < ends["minimum"]) or ("maximum" in ends and number > ends["maximum"]):
            yield Fault(f"{path}.{name}", shortened(text), f"a value from {rule.minimum} to {rule.maximum}")
    if low is not None and high is not None and low >= high:
        yield Fault(f"{path}.maximum", shortened(rule.loss_range.maximum), "a bound above the minimum")
