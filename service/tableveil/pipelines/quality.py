"""The quality model of a policy, for the counted table."""

from tableveil.backend import WarehouseSession
from tableveil.classes import ClassCounter
from tableveil.counting import BaseHistogram
from tableveil.dictionary import JointDictionary, build_joint
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.hierarchy import UncountableError
from tableveil.policy import ClassificationModel, JobPart, Policy, described
from tableveil.quality import ClassColumn, Features, QualityModel, quality_of
from tableveil.source import Source


def joint_dictionaries(
    session: WarehouseSession, source: Source, policy: Policy
) -> tuple[list[JointDictionary], list[Fault]]:
    """Per class, a dictionary for it together with the features that are released unchanged."""
    model = policy.quality_model
    if not isinstance(model, ClassificationModel):
        return [], []
    generalized = {attribute.column for attribute in policy.quasi_identifiers}
    features = [source.column(name) for name in model.features if name not in generalized]
    dictionaries, faults = [], []
    for i, name in enumerate(model.classes):
        field = f"quality_model.classification.classes[{i}]"
        dictionary, unfit = build_joint(session, source, (*features, source.column(name)), i, field)
        dictionaries += [dictionary] if dictionary is not None else []
        faults += unfit
    return dictionaries, faults


def features_of(policy: Policy, base: BaseHistogram) -> Features | None:
    """The features that predict the classes, and their places in the counter; None if the policy has another model."""
    model = policy.quality_model
    if not isinstance(model, ClassificationModel):
        return None
    attributes = [
        j
        for j, attribute in enumerate(policy.quasi_identifiers)
        if not model.features or attribute.column in model.features
    ]
    class_columns = [ClassColumn(i, joint.features, joint.classes) for i, joint in base.columns.joint_columns]
    return Features(tuple(attributes), tuple(class_columns))


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
