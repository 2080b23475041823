"""The columns that the quality model of classification needs, and how they are counted."""

from tableveil.backend import WarehouseSession
from tableveil.counting import BaseHistogram
from tableveil.dictionary import JointDictionary, build_joint
from tableveil.errors import Fault
from tableveil.policy import ClassificationModel, Policy
from tableveil.quality import ClassColumn, Features
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
