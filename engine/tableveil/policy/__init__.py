"""Policies: what a user asks for, and everything that can be wrong with it before any data is looked at."""

from tableveil.policy.model import (
    DEFAULT_RISK_THRESHOLDS,
    Aggregate,
    AttributePolicy,
    IfExists,
    KAnonymity,
    LossModel,
    NullHandling,
    Policy,
    PrivacyModel,
    QualityModel,
    ReleaseKind,
    ReleaseTarget,
    Role,
    SearchOptions,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.validate import validate_policy

__all__ = [
    "DEFAULT_RISK_THRESHOLDS",
    "Aggregate",
    "AttributePolicy",
    "IfExists",
    "KAnonymity",
    "LossModel",
    "NullHandling",
    "Policy",
    "PrivacyModel",
    "QualityModel",
    "ReleaseKind",
    "ReleaseTarget",
    "Role",
    "SearchOptions",
    "SuppressedRecords",
    "TableReference",
    "validate_policy",
]
