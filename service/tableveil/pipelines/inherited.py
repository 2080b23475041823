"""The models of earlier releases' policies: joint classes meet them as well, or the account names the others."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tableveil.policy import (
    Distance,
    Dominance,
    KAnonymity,
    NTCloseness,
    Policy,
    PrivacyModel,
    SensitiveModel,
    TCloseness,
)


@dataclass(frozen=True, slots=True)
class Inherited:
    """The policy with the `models` that it inherits; `met` and `unjudged` name them and their releases."""

    policy: Policy
    models: tuple[PrivacyModel, ...] = ()
    met: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


def with_earlier_models(policy: Policy, earlier: Iterable[tuple[str, Policy]]) -> Inherited:
    """The policy with the models that the policies of earlier releases, by name, ask for and joint classes can meet.

    The largest k and the least share count. Models of a column hold of its new values: it has to be sensitive in both
    policies, with the same elements, and with the same order and hierarchy where the model looks at these. Other models
    are not judged: they are of a population, of a whole release, of labels, or of columns that this release does not
    have.
    """
    inherited = Inherited(policy)
    for release, earlier_policy in earlier:
        for model in earlier_policy.privacy_models:
            name = f"{model} ({release})"
            merged = _with(inherited.policy, model, earlier_policy)
            if merged is None:
                inherited = replace(inherited, unjudged=(*inherited.unjudged, name))
            elif merged != inherited.policy:
                models, met = (*inherited.models, model), (*inherited.met, name)
                inherited = replace(inherited, policy=merged, models=models, met=met)
    return inherited


def also_meeting(policy: Policy, models: Iterable[PrivacyModel]) -> Policy:
    """The policy with the models that it inherits, whatever it asks for itself."""
    for model in models:
        policy = _strictly(policy, model)
    return policy


def _with(policy: Policy, model: PrivacyModel, theirs: Policy) -> Policy | None:
    """The policy with the model, as it is if its own are as strict, or None if its classes cannot meet the model."""
    if isinstance(model, KAnonymity | Dominance):
        return _strictly(policy, model)
    if not isinstance(model, SensitiveModel) or isinstance(model, NTCloseness):
        return None
    mine, other = (
        next((attribute for attribute in of.sensitive if attribute.column == model.column), None)
        for of in (policy, theirs)
    )
    if mine is None or other is None:
        return None
    if mine.listed_elements != other.listed_elements:
        return None
    ordered = isinstance(model, TCloseness) and model.distance is not Distance.EQUAL
    if ordered and (mine.order, mine.hierarchy) != (other.order, other.hierarchy):
        return None
    return _strictly(policy, model)


def _strictly(policy: Policy, model: PrivacyModel) -> Policy:
    """The policy with the model, unless one of its own is as strict. Models of its own keep their positions."""
    models = policy.privacy_models
    if isinstance(model, KAnonymity | Dominance) and any(isinstance(own, type(model)) for own in models):
        return replace(policy, privacy_models=tuple(_stricter(own, model) for own in models))
    return policy if model in models else replace(policy, privacy_models=(*models, model))


def _stricter(own: PrivacyModel, model: KAnonymity | Dominance) -> PrivacyModel:
    """The stricter of two models of one kind; models of other kinds stay."""
    if isinstance(own, KAnonymity) and isinstance(model, KAnonymity):
        return KAnonymity(max(own.k, model.k))
    if isinstance(own, Dominance) and isinstance(model, Dominance):
        return Dominance(min(own.share, model.share))
    return own
