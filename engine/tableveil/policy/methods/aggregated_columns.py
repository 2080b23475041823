"""Aggregated columns beside generalized ones: all that can be wrong with asking for them, and what they work with."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import TYPE_CHECKING

from tableveil.errors import Fault
from tableveil.hierarchy.definition import SafeHarborHierarchy
from tableveil.policy.methods.traits import Analysis, MethodTraits
from tableveil.policy.privacy import OF_EVENTS, PRIVACY_FIELDS, Profitability, SafeHarbor
from tableveil.policy.quality import FIELDS, WITH_PARTS, LossModel, PublisherPayoutModel

if TYPE_CHECKING:
    from tableveil.policy.model import Policy


def check_mixed(policy: Policy, options: None) -> Iterator[Fault]:
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


AGGREGATED_COLUMNS = MethodTraits(
    name="aggregated columns inside classes",
    called="aggregated columns",
    kind=NoneType,
    check=check_mixed,
    models=tuple(kind for kind in PRIVACY_FIELDS if kind not in (Profitability, *OF_EVENTS)),
    models_hint="It measures information loss by labels. no_attack looks at the sizes of classes only.",
    quality=tuple(kind for kind in FIELDS if kind is not PublisherPayoutModel),
    shows_suppressed_hint="Records set aside are in no class.",
    analyses=frozenset({Analysis.FRONTIER, Analysis.CLASSIFICATION, Analysis.CLASSIFICATION_INSIDE_FOLDS}),
)
