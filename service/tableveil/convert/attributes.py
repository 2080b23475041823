"""The columns of a policy, from the proto."""

from tableveil import policy
from tableveil.convert.collect import Faults
from tableveil.convert.enums import AGGREGATE_FUNCTIONS, NULL_HANDLING, NULL_POSITIONS, ORDERS, ROLES, SCALES
from tableveil.convert.fields import from_message
from tableveil.convert.hierarchies import hierarchy_from_proto
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.v1 import policy_pb2

USUAL = {
    policy.Scale.NUMERIC: policy.AggregateFunction.MEAN,
    policy.Scale.ORDINAL: policy.AggregateFunction.MEDIAN,
    policy.Scale.NOMINAL: policy.AggregateFunction.MODE,
}
"""The function that a policy means if it names none."""


def aggregation_from_proto(message: policy_pb2.Aggregation, path: str, faults: Faults) -> policy.Aggregation:
    """The aggregation of the attribute with the field `path`; faults are added to `faults`."""
    scale = faults.enum(message.scale, SCALES, f"{path}.scale", policy.Scale.NUMERIC)
    return policy.Aggregation(
        function=faults.enum(message.function, AGGREGATE_FUNCTIONS, f"{path}.function", USUAL[scale]),
        scale=scale,
        grid=faults.decimal(message.grid, f"{path}.grid"),
        bottom_coding=message.bottom_coding,
        top_coding=message.top_coding,
    )


def attribute_from_proto(
    message: policy_pb2.Attribute, default_role: policy.Role | None, path: str, faults: Faults, *, before_upload: bool
) -> policy.AttributePolicy:
    """The attribute in a message; placeholders replace wrong parts, whose faults are added to `faults`.

    Args:
        message: The policy's entry for a column.
        default_role: The role of columns that state none.
        path: The path of the entry in the policy.
        faults: Collects the faults.
        before_upload: Whether a CSV hierarchy stands for the stored one it will be; else it is a fault.
    """
    role = faults.enum_or_none(message.role, ROLES, f"{path}.role") if message.role else default_role
    if role is None:
        if not message.role:
            faults.add(f"{path}.role", "nothing", f"one of {ROLES.names}", "Or state a default_role.")
        # The right options of the column depend on its role, and so does whether it has a level.
        for guessed in (path, "search.levels", "search.linked"):
            faults.guess(guessed)
    hierarchy = None
    if message.HasField("hierarchy"):
        hierarchy = hierarchy_from_proto(
            message.hierarchy, message.column, f"{path}.hierarchy", faults, before_upload=before_upload
        )
        hierarchy = SuppressionOnly() if hierarchy is None else hierarchy
    aggregation = None
    if message.HasField("aggregation"):
        aggregation = aggregation_from_proto(message.aggregation, f"{path}.aggregation", faults)
    # An aggregate of NULL and another value would hide the NULL.
    usual_nulls = policy.NullHandling.VALUE if aggregation is None else policy.NullHandling.ERROR
    return policy.AttributePolicy(
        column=message.column,
        role=role or policy.Role.INSENSITIVE,
        hierarchy=hierarchy,
        minimum_level=message.minimum_level,
        maximum_level=message.maximum_level if message.HasField("maximum_level") else None,
        weight=message.weight if message.HasField("weight") else 1.0,
        nulls=faults.enum(message.nulls, NULL_HANDLING, f"{path}.nulls", usual_nulls),
        acknowledged=message.acknowledged,
        order=policy.ValueOrder(
            by=faults.enum(message.order.by, ORDERS, f"{path}.order.by", policy.OrderBy.TYPE),
            values=tuple(message.order.values),
            nulls=faults.enum_or_none(message.order.nulls, NULL_POSITIONS, f"{path}.order.nulls"),
        ),
        aggregation=aggregation,
        reason=message.reason,
        elements=(
            from_message(policy.Elements, message.elements, f"{path}.elements", faults)
            if message.HasField("elements")
            else None
        ),
    )
