"""Widens the policy in a message by the values of its source."""

from tableveil.control import Control
from tableveil.convert import policy_from_proto
from tableveil.convert.hierarchy_rules import rule_to_proto
from tableveil.errors import InvalidError
from tableveil.pipelines.widen import Widening
from tableveil.v1 import policy_pb2


def widen(policy: policy_pb2.Policy, widening: Widening, control: Control) -> list[str]:
    """Changes the message, and returns the columns whose rules are wider now.

    Raises:
        InvalidError: the policy has other faults than its bounds.
    """
    read, faults = policy_from_proto(policy)
    if read is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy is invalid", faults)
    rules = widening.rules(read, control)
    for attribute in policy.attributes:
        if attribute.column in rules:
            attribute.hierarchy.CopyFrom(rule_to_proto(rules[attribute.column]))
    return [attribute.column for attribute in policy.attributes if attribute.column in rules]
