"""Rules of hierarchies, which need no rows: messages to definitions and back."""

from tableveil.convert.collect import Faults
from tableveil.convert.fields import from_message, to_message
from tableveil.hierarchy import Combination, RuleHierarchy, field_of
from tableveil.hierarchy.rules import RULES, SimpleRule
from tableveil.v1 import policy_pb2

_SIMPLE: dict[str, type[SimpleRule]] = {traits.field: kind for kind, traits in RULES.items()}
RULE_FIELDS = (*_SIMPLE, "combination")
"""Members of the message's oneof that hold a rule."""


def rule_from_proto(message: policy_pb2.Hierarchy, path: str, faults: Faults) -> RuleHierarchy | None:
    """The rule in a message that holds one, or None after adding to `faults`; `path` is the message's."""
    if message.WhichOneof("kind") != "combination":
        return _simple(message, path, faults)
    rest = _simple(message.combination.rest, f"{path}.combination.rest", faults)
    rows = tuple(tuple(row.labels) for row in message.combination.rows)
    return None if rest is None else Combination(rows, rest)


def _simple(message: policy_pb2.Hierarchy, path: str, faults: Faults) -> SimpleRule | None:
    kind = message.WhichOneof("kind")
    rule = _SIMPLE.get(kind or "")
    if kind and rule is not None:
        return from_message(rule, getattr(message, kind), f"{path}.{kind}", faults)
    at = f"{path}.{kind}" if kind else path
    faults.add(at, kind or "nothing", f"one of {', '.join(_SIMPLE)}", "Values can have rows beside a rule only.")
    return None


def rule_to_proto(rule: RuleHierarchy) -> policy_pb2.Hierarchy:
    """The message for a rule."""
    message = policy_pb2.Hierarchy()
    if isinstance(rule, Combination):
        message.combination.rows.extend(policy_pb2.HierarchyRow(labels=row) for row in rule.rows)
        message.combination.rest.CopyFrom(rule_to_proto(rule.rest))
    else:
        to_message(rule, getattr(message, field_of(rule)))
    return message
