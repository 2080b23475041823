"""The checks of aggregated columns, and of microaggregation."""

from __future__ import annotations

from collections.abc import Iterator

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.definition import SafeHarborHierarchy
from tableveil.policy.microaggregation import FITTING, AggregateFunction, Clustering, Microaggregation, Scale
from tableveil.policy.model import (
    AttributePolicy,
    NullHandling,
    Policy,
    Role,
    ValueOrder,
)
from tableveil.policy.privacy import (
    PRIVACY_FIELDS,
    AbsentValues,
    DeltaDisclosure,
    EntropyEstimator,
    EntropyLDiversity,
    KAnonymity,
    PrivacyModel,
    SafeHarbor,
)
from tableveil.policy.quality import WITH_PARTS, LossModel

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


def check_microaggregation(policy: Policy, options: Microaggregation) -> Iterator[Fault]:
    """Faults of what clusters need, and of their options."""
    for i, attribute in enumerate(policy.attributes):
        if attribute.role is Role.QUASI_IDENTIFIER and attribute.aggregation is None:
            hint = "For example: aggregation: {}, the mean. Or leave out microaggregation, to generalize this column."
            expected = "how its values are aggregated, because of microaggregation"
            yield Fault(f"attributes[{i}].aggregation", "nothing", expected, hint)
    if not any(isinstance(model, KAnonymity) for model in policy.privacy_models):
        hint = "For example: k_anonymity: {k: 5}."
        yield Fault(
            "privacy_models", "no k_anonymity", "the least size of a cluster, because of microaggregation", hint
        )
    for i, model in enumerate(policy.privacy_models):
        yield from _check_united(model, f"privacy_models[{i}].{PRIVACY_FIELDS[type(model)]}")
    if not (options.gain.is_finite() and 0 <= options.gain <= 10**6):
        yield Fault("microaggregation.gain", str(options.gain), "an exact decimal of at least 0")
    if options.clustering is Clustering.UNIVARIATE:
        clustered = policy.aggregated
        nominal = any(a.aggregation is not None and a.aggregation.scale is Scale.NOMINAL for a in clustered)
        if len(clustered) != 1 or nominal:
            columns = "a nominal column" if len(clustered) == 1 else f"{len(clustered)} columns"
            expected = "one numeric or ordinal quasi-identifier"
            yield Fault("microaggregation.clustering", f"UNIVARIATE for {columns}", expected, "Leave it out.")


def _check_united(model: PrivacyModel, field: str) -> Iterator[Fault]:
    """Faults of models that may hold for clusters and not for their union, which clusters of equal aggregates form."""
    hint = "It may hold of two clusters and not of both together, which they are if their aggregates are the same."
    if isinstance(model, EntropyLDiversity) and model.estimator is not EntropyEstimator.SHANNON:
        yield Fault(f"{field}.estimator", f"{model.estimator} with microaggregation", "SHANNON", hint)
    if isinstance(model, DeltaDisclosure) and model.absent_values is not AbsentValues.REJECT:
        yield Fault(f"{field}.absent_values", f"{model.absent_values} with microaggregation", "REJECT", hint)


def check_mixed(policy: Policy) -> Iterator[Fault]:
    """Faults of aggregated columns beside generalized ones."""
    if not policy.quasi_identifiers:
        hint = "Say microaggregation: {} to form clusters of the whole table, or give one of them a hierarchy only."
        yield Fault("attributes", "only aggregated quasi-identifiers", "one that is generalized at least", hint)
    yield from _check_weights(policy)
    yield from _check_safe_harbor(policy)


def _check_weights(policy: Policy) -> Iterator[Fault]:
    """Faults of weights without effect; for models without parts, all weights are faults."""
    if isinstance(policy.quality_model, WITH_PARTS) and not isinstance(policy.quality_model, LossModel):
        for i, attribute in enumerate(policy.attributes):
            if attribute.aggregation is not None and attribute.weight != 1.0:
                expected = "nothing, because only loss has parts of aggregated columns"
                yield Fault(f"attributes[{i}].weight", str(attribute.weight), expected, "Leave it out.")


def _check_safe_harbor(policy: Policy) -> Iterator[Fault]:
    if any(isinstance(model, SafeHarbor) for model in policy.privacy_models):
        for i, attribute in enumerate(policy.attributes):
            if attribute.aggregation is not None and isinstance(attribute.hierarchy, SafeHarborHierarchy):
                hint = "Generalized it is released as that allows."
                yield Fault(f"attributes[{i}].aggregation", "an aggregation", "nothing, because of safe_harbor", hint)
