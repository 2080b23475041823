"""The part of a declared range over which loss is measured, and its checks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.notation import Notation


@dataclass(frozen=True, slots=True)
class LossRange:
    """The part of a declared range whose values loss counts, with bounds as the policy wrote them."""

    minimum: str
    maximum: str


def loss_range_faults(
    part: LossRange | None, field: str, notation: Notation, bounds: Mapping[str, str], ends: Mapping[str, Fraction]
) -> Iterator[Fault]:
    """Faults of a rule's loss range; `bounds` has the rule's minimum and maximum, `ends` those that can be read."""
    if part is None:
        return
    path = f"{field}.loss_range"
    low, high = (notation.read(text) for text in (part.minimum, part.maximum))
    for name, text, number in (("minimum", part.minimum, low), ("maximum", part.maximum, high)):
        if number is None:
            yield Fault(f"{path}.{name}", shortened(text), notation.value)
        elif ("minimum" in ends and number < ends["minimum"]) or ("maximum" in ends and number > ends["maximum"]):
            yield Fault(f"{path}.{name}", shortened(text), f"a value from {bounds['minimum']} to {bounds['maximum']}")
    if low is not None and high is not None and low >= high:
        yield Fault(f"{path}.maximum", shortened(part.maximum), "a bound above the minimum")
