"""The parameters that a release reaches of privacy models: which ones its policy asks for, and how they are written."""

import math

from tableveil import wording
from tableveil.v1.policy_pb2 import Policy
from tableveil.v1.release_service_pb2 import Guarantee

LARGE = 1000
"""From this number on, which are sums of money, two decimal places are enough."""


def asked(one: Guarantee, policy: Policy) -> bool:
    """Whether the policy asks for the model; joint classes are of every policy."""
    if one.model.startswith("joint_k"):
        return True
    if one.model.startswith("publisher_payout"):
        return policy.HasField("game")
    for model in policy.privacy_models:
        kind = model.WhichOneof("kind")
        if kind == one.model.partition(" ")[0] and getattr(getattr(model, kind), "column", "") == one.column:
            return True
    return False


def reached(value: float) -> str:
    """A parameter as people read it."""
    if math.isinf(value):
        return "without bound"
    if value.is_integer():
        return wording.count(int(value))
    return wording.score(value) if abs(value) < LARGE else f"{value:,.2f}"
