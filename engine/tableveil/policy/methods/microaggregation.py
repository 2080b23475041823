"""Microaggregation: its options in a policy, all that can be wrong with them, and what it works with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from tableveil.errors import Fault, shortened
from tableveil.policy import privacy
from tableveil.policy.aggregation import Scale
from tableveil.policy.methods.traits import Analysis, HandedOn, MethodTraits, Recoded

if TYPE_CHECKING:
    from tableveil.policy.model import Policy


class Clustering(StrEnum):
    """How clusters of at least k records are formed; `AUTO` chooses by the data."""

    AUTO = "AUTO"
    MDAV = "MDAV"
    V_MDAV = "V_MDAV"
    UNIVARIATE = "UNIVARIATE"
    PARTITION = "PARTITION"


class ClosenessAlgorithm(StrEnum):
    """How t-closeness is reached (Soria-Comas et al. 2015).

    `MERGE` merges clusters that are not close enough. `K_ANONYMITY_FIRST` swaps records in and out of each cluster as
    it is formed. `T_CLOSENESS_FIRST` takes records of all parts of the sensitive column into each cluster.
    """

    MERGE = "MERGE"
    K_ANONYMITY_FIRST = "K_ANONYMITY_FIRST"
    T_CLOSENESS_FIRST = "T_CLOSENESS_FIRST"


@dataclass(frozen=True, slots=True)
class Microaggregation:
    """Clusters of the whole table by all of its quasi-identifiers; each of these says how it is aggregated.

    `gain` (gamma) is for V_MDAV: how much closer than others an outside record must be to join a cluster that is large
    enough already. With 0 none joins, with larger values more do.
    """

    clustering: Clustering = Clustering.AUTO
    closeness: ClosenessAlgorithm = ClosenessAlgorithm.MERGE
    gain: Decimal = Decimal("0.2")


def check_microaggregation(policy: Policy, options: Microaggregation) -> Iterator[Fault]:
    """Faults of what clusters need, and of their options."""
    for i, attribute in enumerate(policy.attributes):
        if attribute.role == "QUASI_IDENTIFIER" and attribute.aggregation is None:
            hint = "For example: aggregation: {}, the mean. Or leave out microaggregation, to generalize this column."
            expected = "how its values are aggregated, because of microaggregation"
            yield Fault(f"attributes[{i}].aggregation", "nothing", expected, hint)
    if not any(isinstance(model, privacy.KAnonymity) for model in policy.privacy_models):
        hint = "For example: k_anonymity: {k: 5}."
        yield Fault(
            "privacy_models", "no k_anonymity", "the least size of a cluster, because of microaggregation", hint
        )
    listed = {attribute.column for attribute in policy.attributes if attribute.listed_elements is not None}
    for i, model in enumerate(policy.privacy_models):
        field = f"privacy_models[{i}].{privacy.PRIVACY_FIELDS[type(model)]}"
        yield from _check_united(model, field)
        if isinstance(model, privacy.TCloseness) and model.column in listed:
            actual = f"t_closeness of {shortened(model.column)}, whose cells are lists, with microaggregation"
            yield Fault(field, actual, "another model", "Clusters are made close by whole values.")
    if not (options.gain.is_finite() and 0 <= options.gain <= 10**6):
        yield Fault("microaggregation.gain", str(options.gain), "an exact decimal of at least 0")
    if options.clustering is Clustering.UNIVARIATE:
        clustered = policy.aggregated
        nominal = any(a.aggregation is not None and a.aggregation.scale is Scale.NOMINAL for a in clustered)
        if len(clustered) != 1 or nominal:
            columns = "a nominal column" if len(clustered) == 1 else f"{len(clustered)} columns"
            expected = "one numeric or ordinal quasi-identifier"
            yield Fault("microaggregation.clustering", f"UNIVARIATE for {columns}", expected, "Leave it out.")


def _check_united(model: privacy.PrivacyModel, field: str) -> Iterator[Fault]:
    """Faults of models that may hold for clusters and not for their union, which clusters of equal aggregates form."""
    hint = "It may hold of two clusters and not of both together, which they are if their aggregates are the same."
    if isinstance(model, privacy.EntropyLDiversity) and model.estimator is not privacy.EntropyEstimator.SHANNON:
        yield Fault(f"{field}.estimator", f"{model.estimator} with microaggregation", "SHANNON", hint)
    if isinstance(model, privacy.DeltaDisclosure) and model.absent_values is not privacy.AbsentValues.REJECT:
        yield Fault(f"{field}.absent_values", f"{model.absent_values} with microaggregation", "REJECT", hint)


MICROAGGREGATION = MethodTraits(
    name="microaggregation",
    called="microaggregation",
    field="microaggregation",
    kind=Microaggregation,
    check=check_microaggregation,
    recoded=Recoded.CLUSTERS,
    models=(
        privacy.KAnonymity,
        privacy.Dominance,
        *(kind for kind in privacy.SensitiveModel.__args__ if kind is not privacy.NTCloseness),
    ),
    quality=(),
    search=(),
    search_hint="Clusters are merged until all models hold: no lattice is searched.",
    interim=False,
    # Clusters depend on the order of records that are equally near.
    ordered_people=True,
    refuses=(("population", "population"), ("game", "game")),
    shows_suppressed_hint="Records set aside are in no class.",
    hands_on=HandedOn.NOTHING,
    analyses=frozenset({Analysis.CLASSIFICATION}),
)
