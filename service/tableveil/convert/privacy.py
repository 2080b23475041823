"""Privacy models between proto and domain, both directions: the fields of a model's message are its dataclass's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from enum import StrEnum
from typing import Any, get_type_hints

from tableveil.convert.collect import Faults
from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import (
    ABSENT_VALUES,
    BREAK_EVEN,
    CELL_SIZES,
    DISTANCES,
    ENTROPY_ESTIMATORS,
    SUCCESS,
    UNIQUENESS_ESTIMATORS,
    EnumMap,
)
from tableveil.policy import (
    PRIVACY_FIELDS,
    AbsentValues,
    BreakEven,
    CellSizes,
    DeltaPresence,
    Distance,
    EntropyEstimator,
    EstimatedKMap,
    PrivacyModel,
    Success,
    UniquenessEstimator,
)
from tableveil.v1 import policy_pb2

_MODELS = {name: model for model, name in PRIVACY_FIELDS.items()}

_ENUMS: Mapping[type[StrEnum], EnumMap[Any]] = {
    AbsentValues: ABSENT_VALUES,
    BreakEven: BREAK_EVEN,
    CellSizes: CELL_SIZES,
    Distance: DISTANCES,
    EntropyEstimator: ENTROPY_ESTIMATORS,
    Success: SUCCESS,
    UniquenessEstimator: UNIQUENESS_ESTIMATORS,
}

_IF_EMPTY: Mapping[tuple[type[PrivacyModel], str], Decimal] = {
    (EstimatedKMap, "significance"): Decimal("0.05"),
    (DeltaPresence, "minimum"): Decimal(0),
    (DeltaPresence, "maximum"): Decimal(1),
}
"""What thresholds are if they are not stated. All others must be."""


def privacy_from_proto(message: policy_pb2.PrivacyModel, path: str, faults: Faults) -> PrivacyModel | None:
    """The model in a member of `privacy_models`, or None after adding to `faults` that it names none.

    Other things that are wrong are added too; placeholders take their places.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        kinds = ", ".join(policy_pb2.PrivacyModel.DESCRIPTOR.fields_by_name)
        faults.add(path, "nothing", f"one of {kinds}", "For example: k_anonymity: {k: 5}.")
        return None
    model, stated = _MODELS[kind], getattr(message, kind)
    types = get_type_hints(model)
    values: dict[str, Any] = {}
    for field in fields(model):
        name, value, place = field.name, getattr(stated, field.name), f"{path}.{kind}.{field.name}"
        if types[name] is Decimal:
            default = _IF_EMPTY.get((model, name))
            if value or default is None:
                value = faults.required_decimal(value, place, Decimal(1) if default is None else default)
            else:
                value = default
        elif types[name] in _ENUMS:
            value = faults.enum(value, _ENUMS[types[name]], place, field.default)
        values[name] = value
    return model(**values)


def privacy_to_proto(model: PrivacyModel) -> policy_pb2.PrivacyModel:
    """The message for a model; variants that the proto defaults to are left unset."""
    message = policy_pb2.PrivacyModel()
    stated = getattr(message, PRIVACY_FIELDS[type(model)])
    stated.SetInParent()
    for field in fields(model):
        value = getattr(model, field.name)
        if isinstance(value, Decimal):
            value = decimal_to_text(value)
        elif isinstance(value, StrEnum):
            value = _ENUMS[type(value)].to_proto(None if value is field.default else value)
        setattr(stated, field.name, value)
    return message


def privacy_in_words(message: policy_pb2.PrivacyModel) -> str:
    """What people call the model, whether or not a policy with it is valid."""
    model = privacy_from_proto(message, "", Faults())
    return "a model that only newer versions know" if model is None else str(model)
