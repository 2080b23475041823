"""The checks of a policy's privacy models: thresholds, columns, models that repeat or promise nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from tableveil.errors import Fault, shortened
from tableveil.policy.model import AttributePolicy, Policy, Role
from tableveil.policy.privacy import (
    PRIVACY_FIELDS,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    Distance,
    DistinctLDiversity,
    EntropyLDiversity,
    EstimatedKMap,
    Inclusion,
    KAnonymity,
    KMap,
    NoAttack,
    NTCloseness,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    RecursiveCLDiversity,
    SafeHarbor,
    SampleUniqueness,
    SensitiveModel,
    TCloseness,
)
from tableveil.policy.validate_attributes import no_such_column

LARGEST_K = 2**31 - 1

_EXAMPLE = "For example: k_anonymity: {k: 5}."


@dataclass(frozen=True, slots=True)
class _Range:
    """The values of a threshold that promise something and can be met."""

    expected: str
    holds: Callable[[Any], bool]
    hint: str = ""

    def contains(self, value: int | Decimal) -> bool:
        # Decimals raise an error when they are compared with NaN.
        return (isinstance(value, int) or value.is_finite()) and self.holds(value)


_FROM_2 = f"a number from 2 to {LARGEST_K}"
_K = _Range(_FROM_2, lambda k: 2 <= k <= LARGEST_K, "k = 1 would promise nothing.")
_WHOLE_L = _Range(_FROM_2, lambda l: 2 <= l <= LARGEST_K, "l = 1 would promise nothing.")  # noqa: E741
_DECIMAL_L = _Range("an exact decimal above 1", lambda l: l > 1, "l = 1 would promise nothing.")  # noqa: E741
_N = _Range("a number from 2 on", lambda n: n >= 2, "n = 1 would promise nothing.")
_T = _Range("an exact decimal from 0 up to but not 1", lambda t: 0 <= t < 1, "No distance is above 1.")
_POSITIVE = _Range("an exact decimal above 0", lambda number: number > 0)
_SHARE = _Range("an exact decimal from 0 to 1", lambda share: 0 <= share <= 1)
_INSIDE = _Range("an exact decimal above 0 and below 1", lambda share: 0 < share < 1)
_UNIQUE = _Range("an exact decimal from 0 up to but not 1", lambda share: 0 <= share < 1, "No share is above 1.")

_THRESHOLDS: Mapping[type[PrivacyModel], Mapping[str, _Range]] = {
    KAnonymity: {"k": _K},
    KMap: {"k": _K},
    EstimatedKMap: {"k": _K, "significance": _INSIDE},
    DeltaPresence: {"minimum": _SHARE, "maximum": _SHARE},
    Inclusion: {},
    AverageRisk: {"threshold": _INSIDE},
    SampleUniqueness: {"threshold": _UNIQUE},
    PopulationUniqueness: {"threshold": _UNIQUE},
    Profitability: {},
    NoAttack: {},
    SafeHarbor: {},
    DistinctLDiversity: {"l": _WHOLE_L},
    ProbabilisticLDiversity: {"l": _DECIMAL_L},
    EntropyLDiversity: {"l": _DECIMAL_L},
    RecursiveCLDiversity: {"c": _POSITIVE, "l": _WHOLE_L},
    TCloseness: {"t": _T},
    NTCloseness: {"n": _N, "t": _T},
    DeltaDisclosure: {"delta": _POSITIVE},
    BetaLikeness: {"beta": _POSITIVE},
}


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
    for name, allowed in _THRESHOLDS[type(model)].items():
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
        found = f"{shortened(model.column)}, whose role is {attribute.role}"
        yield Fault(f"{field}.column", found, "a column with the role SENSITIVE")
    elif attribute is None and default_role is not Role.SENSITIVE:
        sensitive = [other.column for other in listed.values() if other.role is Role.SENSITIVE]
        yield no_such_column(f"{field}.column", model.column, "sensitive column", sensitive, number)
    elif _needs_hierarchy(model) and (attribute is None or attribute.hierarchy is None):
        found = f"HIERARCHICAL, although {shortened(model.column)} has no hierarchy"
        hint = "Give the column a hierarchy under `attributes`, or choose another distance."
        yield Fault(f"{field}.distance", found, "a column with a hierarchy", hint)


def _needs_hierarchy(model: SensitiveModel) -> bool:
    return isinstance(model, TCloseness | NTCloseness) and model.distance is Distance.HIERARCHICAL


def _check_together(policy: Policy) -> Iterator[Fault]:
    models = policy.privacy_models
    if not models:
        example = _EXAMPLE if policy.record_level is None else "For example: profitability: {success: JOURNALIST}."
        yield Fault("privacy_models", "none", "at least one privacy model", example)
    elif all(isinstance(model, Inclusion) for model in models):
        found = "inclusion only, which promises nothing by itself"
        yield Fault("privacy_models", found, "at least one model that protects", _EXAMPLE)
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
