"""An attribute of a policy whose values get codes."""

from dataclasses import dataclass

from tableveil.hierarchy import InlineLevels, RuleHierarchy
from tableveil.policy import AttributePolicy


@dataclass(frozen=True, slots=True)
class CodedAttribute:
    """An attribute with its hierarchy, which has its rows if it is a listed one.

    `reference` is the hierarchy's name in the evidence. `number` tells the dictionaries of a job apart, and `field` is
    the attribute's path in the policy.
    """

    attribute: AttributePolicy
    hierarchy: InlineLevels | RuleHierarchy | None
    reference: str
    number: int
    field: str
