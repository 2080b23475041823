"""The checks of optimizing for classification: its columns and its penalties."""

import math
from collections.abc import Iterator

from tableveil.errors import Fault, NearestNames, shortened
from tableveil.policy.model import Choose, Policy, Role
from tableveil.policy.quality import FIELDS, ClassificationModel

FIELD = f"quality_model.{FIELDS[ClassificationModel]}"

_AS_THEY_ARE = (Role.SENSITIVE, Role.INSENSITIVE)

_CLASS = "a sensitive or insensitive column, which is released as it is"
_FEATURE = "a quasi-identifier that is generalized, or a sensitive or insensitive column"
_BLINDLY = f"Or choose another quality model, such as loss, or search.choose: {Choose.ALL_MODELS}."


def check_classification(policy: Policy) -> Iterator[Fault]:
    """Faults of the quality model, if it is this one."""
    model = policy.quality_model
    if not isinstance(model, ClassificationModel):
        return
    if not model.classes:
        yield Fault(f"{FIELD}.classes", "nothing", f"the column that is to be told: {_CLASS}")
    yield from check_classified_columns(policy, complete=policy.default_role in (None, Role.IDENTIFYING))
    penalties = {
        name: getattr(model, name) for name in ("suppressed_penalty", "minority_penalty", "no_majority_penalty")
    }
    for name, penalty in penalties.items():
        if not (math.isfinite(penalty) and 0 <= penalty <= 10**9):
            yield Fault(f"{FIELD}.{name}", str(penalty), f"a number from 0 to {10**9}")
    if not any(penalties.values()):
        yield Fault(FIELD, "penalties that are all 0", "one above 0", "Everything would be as good as anything else.")


def check_classified_columns(policy: Policy, complete: bool) -> Iterator[Fault]:
    """Faults of naming columns; if the policy is not `complete`, columns that it does not list may be usable."""
    model = policy.quality_model
    if not isinstance(model, ClassificationModel):
        return
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    generalized = {attribute.column for attribute in policy.quasi_identifiers}
    blindly = policy.search.choose is Choose.QUASI_IDENTIFIERS_ONLY
    shown = {column for column, role in roles.items() if role in _AS_THEY_ARE}
    for kind, names, usable, expected in (
        ("classes", model.classes, shown, _CLASS),
        ("features", model.features, shown | generalized, _FEATURE),
    ):
        nearest = NearestNames(usable)
        for i, name in enumerate(names):
            field = f"{FIELD}.{kind}[{i}]"
            if name in names[:i]:
                yield Fault(field, f"{shortened(name)} more than once", "each column once")
            elif kind == "features" and name in model.classes:
                yield Fault(field, f"{shortened(name)}, which is to be told", "columns to tell it by")
            elif roles.get(name) is Role.QUASI_IDENTIFIER and name not in generalized:
                hint = "The aggregates of its values are known only once the classes are."
                yield Fault(field, f"{shortened(name)}, whose values are aggregated", expected, hint)
            elif name in roles and name not in usable:
                yield Fault(field, f"{shortened(name)} of the role {roles[name]}", expected)
            elif blindly and roles.get(name) is Role.SENSITIVE:
                actual = f"{shortened(name)}, a sensitive column, with search.choose: {Choose.QUASI_IDENTIFIERS_ONLY}"
                yield Fault(field, actual, "a column that may decide which levels are chosen", _BLINDLY)
            elif name not in roles and complete:
                hint = nearest(name)
                yield Fault(field, f"{shortened(name)}, which is no column of the policy", expected, hint)
