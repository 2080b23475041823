"""The checks of how each column is aggregated."""

from collections.abc import Iterator

from tableveil.errors import Fault, shortened
from tableveil.policy.aggregation import FITTING, AggregateFunction, Scale
from tableveil.policy.model import AttributePolicy, NullHandling, Policy, Role, ValueOrder

_GRID = "For example: {function: INTERVAL, grid: '5'}."


def check_aggregations(policy: Policy) -> Iterator[Fault]:
    """Faults of every aggregation."""
    for i, attribute in enumerate(policy.attributes):
        if attribute.aggregation is not None:
            yield from _check_aggregation(attribute, f"attributes[{i}]")


def _check_aggregation(attribute: AttributePolicy, path: str) -> Iterator[Fault]:
    aggregation, field = attribute.aggregation, f"{path}.aggregation"
    assert aggregation is not None
    if attribute.role is not Role.QUASI_IDENTIFIER:
        actual = f"an aggregation for the role {attribute.role}"
        yield Fault(field, actual, "nothing, because only quasi-identifiers are aggregated", "Remove it.")
        return
    function, scale = aggregation.function, aggregation.scale
    if function not in FITTING[scale]:
        yield Fault(
            f"{field}.function", f"{function} of a scale that is {scale}", f"one of {', '.join(FITTING[scale])}"
        )
    if function is AggregateFunction.INTERVAL and aggregation.grid is None:
        hint = f"Ends that are not rounded would be the values of members. {_GRID}"
        yield Fault(f"{field}.grid", "nothing", "a width above 0", hint)
    if function is not AggregateFunction.INTERVAL and aggregation.grid is not None:
        yield Fault(f"{field}.grid", str(aggregation.grid), "nothing, because only INTERVAL has one", "Remove it.")
    elif aggregation.grid is not None and not (aggregation.grid.is_finite() and 0 < aggregation.grid <= 10**18):
        yield Fault(f"{field}.grid", str(aggregation.grid), "an exact decimal above 0", _GRID)
    if scale is not Scale.NUMERIC:
        for name in ("bottom_coding", "top_coding"):
            if getattr(aggregation, name):
                expected = "nothing, because only numeric columns are coded"
                yield Fault(f"{field}.{name}", shortened(getattr(aggregation, name)), expected, "Remove it.")
    if scale is Scale.NOMINAL and attribute.hierarchy is None:
        hint = "suppression_only: {} makes all different values equally far from each other."
        yield Fault(f"{path}.hierarchy", "nothing", "a hierarchy, by which distances are measured", hint)
    if scale is not Scale.NOMINAL and attribute.hierarchy is not None:
        expected = "nothing, because the column is aggregated instead of generalized"
        yield Fault(f"{path}.hierarchy", f"a hierarchy for a scale that is {scale}", expected, "Remove one of them.")
    if scale is not Scale.ORDINAL and attribute.order != ValueOrder():
        expected = "nothing, because only ordinal columns are aggregated by their order"
        yield Fault(f"{path}.order", f"an order for a scale that is {scale}", expected, "Remove it, or say ORDINAL.")
    elif attribute.order.nulls is not None:
        expected = "nothing, because records with a NULL are set aside"
        yield Fault(f"{path}.order.nulls", attribute.order.nulls, expected, "Remove it.")
    if attribute.nulls is NullHandling.VALUE:
        hint = "SUPPRESS sets their records aside; they count against the suppression limit."
        yield Fault(f"{path}.nulls", "VALUE for an aggregated column", "SUPPRESS or ERROR", hint)
    if attribute.minimum_level or attribute.maximum_level is not None:
        name = "minimum_level" if attribute.minimum_level else "maximum_level"
        yield Fault(
            f"{path}.{name}", str(getattr(attribute, name)), "nothing, because aggregated columns have no levels"
        )
