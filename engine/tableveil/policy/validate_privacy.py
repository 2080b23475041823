"""The checks of a policy's privacy models: thresholds, columns, models that repeat or promise nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from decimal import Decimal

from tableveil.errors import Fault, shortened
from tableveil.policy.model import AttributePolicy, Policy, Role
from tableveil.policy.privacy import (
    OF_ELEMENTS,
    PRIVACY_FIELDS,
    THRESHOLDS,
    DeltaPresence,
    Distance,
    Inclusion,
    KAnonymity,
    NTCloseness,
    PrivacyModel,
    SensitiveModel,
    TCloseness,
)
from tableveil.policy.validate_attributes import no_such_column

_EXAMPLE = "For example: k_anonymity: {k: 5}."


def check_privacy(policy: Policy) -> Iterator[Fault]:
    """Faults of each privacy model, then of all together."""
    listed = {attribute.column: attribute for attribute in policy.attributes}
    for i, model in enumerate(policy.privacy_models):
        field = f"privacy_models[{i}].{PRIVACY_FIELDS[type(model)]}"
        yield from _check_thresholds(model, field)
        if isinstance(model, SensitiveModel):
            yield from _check_column(model, listed, policy.default_role, field, i + 1)
    yield from _check_together(policy)


def _check_thresholds(model: PrivacyModel, field: str) -> Iterator[Fault]:
    sound = True
    for name, allowed in THRESHOLDS[type(model)].items():
        value: int | Decimal = getattr(model, name)
        if not allowed.contains(value):
            shown = str(value) if isinstance(value, int) else f"{value:f}"
            yield Fault(f"{field}.{name}", shown, allowed.expected, allowed.hint)
            sound = False
    if sound and isinstance(model, DeltaPresence):
        if model.maximum < model.minimum:
            yield Fault(f"{field}.maximum", f"{model.maximum:f}", f"at least the minimum, {model.minimum:f}")
        elif model.minimum == 0 and model.maximum == 1:
            expected = "a minimum above 0 or a maximum below 1"
            yield Fault(field, "a share from 0 to 1, which any share is", expected)


def _check_column(
    model: SensitiveModel, listed: Mapping[str, AttributePolicy], default_role: Role | None, field: str, number: int
) -> Iterator[Fault]:
    """Faults of the named column.

    A column that is not listed may exist with the default role: only the database knows.
    """
    attribute = listed.get(model.column)
    if not model.column:
        yield Fault(f"{field}.column", "nothing", "the name of a sensitive column")
    elif attribute is not None and attribute.role is not Role.SENSITIVE:
        actual = f"{shortened(model.column)}, whose role is {attribute.role}"
        yield Fault(f"{field}.column", actual, "a column with the role SENSITIVE")
    elif attribute is None and default_role is not Role.SENSITIVE:
        sensitive = [other.column for other in listed.values() if other.role is Role.SENSITIVE]
        yield no_such_column(f"{field}.column", model.column, "sensitive column", sensitive, number)
    elif _needs_hierarchy(model) and (attribute is None or attribute.hierarchy is None):
        actual = f"HIERARCHICAL, although {shortened(model.column)} has no hierarchy"
        hint = "Give the column a hierarchy under `attributes`, or choose another distance."
        yield Fault(f"{field}.distance", actual, "a column with a hierarchy", hint)
    elif attribute is not None and attribute.listed_elements is not None:
        yield from _check_of_elements(model, field)


def _check_of_elements(model: SensitiveModel, field: str) -> Iterator[Fault]:
    """The fault of a model that would judge whole cells of a column whose elements are to be judged."""
    name = shortened(model.column)
    if isinstance(model, TCloseness) and model.distance is not Distance.EQUAL:
        hint = "Elements have no order: each one's share is compared."
        yield Fault(f"{field}.distance", f"{model.distance} for {name}, whose cells are lists", "EQUAL", hint)
    elif not isinstance(model, OF_ELEMENTS):
        expected = " or ".join(PRIVACY_FIELDS[kind] for kind in OF_ELEMENTS)
        hint = "Two different lists may share an element. Or say elements: NONE."
        yield Fault(field, f"{PRIVACY_FIELDS[type(model)]} of {name}, whose cells are lists", expected, hint)


def _needs_hierarchy(model: SensitiveModel) -> bool:
    return isinstance(model, TCloseness | NTCloseness) and model.distance is Distance.HIERARCHICAL


def _check_together(policy: Policy) -> Iterator[Fault]:
    models = policy.privacy_models
    if not models:
        judged = KAnonymity in policy.method.models
        example = _EXAMPLE if judged else "For example: profitability: {success: JOURNALIST}."
        yield Fault("privacy_models", "none", "at least one privacy model", example)
    elif all(isinstance(model, Inclusion) for model in models):
        actual = "inclusion only, which promises nothing by itself"
        yield Fault("privacy_models", actual, "at least one model that protects", _EXAMPLE)
    first: dict[tuple[object, ...], int] = {}
    for i, model in enumerate(models):
        j = first.setdefault(_identity(model), i)
        if i != j:
            expected = "each model once, or with another column or variant"
            yield Fault(f"privacy_models[{i}]", f"the same model as privacy_models[{j}]", expected)


def _identity(model: PrivacyModel) -> tuple[object, ...]:
    """Everything but the thresholds: the kind, the column, and the variant."""
    values = (getattr(model, field.name) for field in fields(model))
    return (type(model), *(value for value in values if isinstance(value, str | bool)))
