"""The quality model of a policy, for the counted table."""

from tableveil.classes import ClassCounter
from tableveil.counting import BaseHistogram
from tableveil.errors import InvalidError, shortened
from tableveil.hierarchy import UncountableError
from tableveil.pipelines.joint_features import features_of
from tableveil.policy import JobPart, Policy, described
from tableveil.quality import QualityModel, quality_of


def quality_for(policy: Policy, base: BaseHistogram, counter: ClassCounter, suppressible: int) -> QualityModel:
    """The model, for transformations that suppress at most so many records.

    Raises:
        InvalidError: It counts combinations of values, and the policy's hierarchies do not allow it.
    """
    try:
        weights = [attribute.weight for attribute in policy.quasi_identifiers]
        features = features_of(policy, base) if JobPart.CLASSIFICATION in policy.parts else None
        aggregated = [(i, dictionary.values) for i, dictionary in base.columns.aggregates]
        return quality_of(policy.quality_model, counter, weights, suppressible, policy.game, features, aggregated)
    except UncountableError as error:
        hint = "Or choose another quality model, such as loss."
        raise uncountable(policy, error, described(policy.quality_model), hint) from None


def uncountable(
    policy: Policy, error: UncountableError, counting: str, hint: str = "", code: str = "QUALITY_UNCOUNTABLE"
) -> InvalidError:
    """The error of a policy whose hierarchies do not let `counting` count values."""
    attributes = policy.quasi_identifiers
    if error.attribute is None:
        actual = f"{counting}, for hierarchies with too many combinations of values to be counted"
        return InvalidError.of(code, "quality_model", actual, "hierarchies of fewer values", hint)
    attribute = attributes[error.attribute]
    return InvalidError.of(
        code,
        f"attributes[{policy.attributes.index(attribute)}].hierarchy",
        f"a range of {shortened(attribute.column)} that is measured, not counted",
        f"values that can be counted, because {counting} counts combinations of them",
        f"Decimals, floats and times are measured: round or group them. {hint}".rstrip(),
    )
