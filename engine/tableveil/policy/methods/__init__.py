"""The methods of anonymization: a module of each has its options, their checks, and what it works with.

A policy that asks a method for more is refused by its entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tableveil.policy.methods.aggregated_columns import AGGREGATED_COLUMNS
from tableveil.policy.methods.differential_privacy import DIFFERENTIAL_PRIVACY
from tableveil.policy.methods.full_domain import FULL_DOMAIN
from tableveil.policy.methods.local_recoding import LOCAL_RECODING
from tableveil.policy.methods.microaggregation import MICROAGGREGATION
from tableveil.policy.methods.record_level import RECORD_LEVEL
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.policy.methods.traits import SEARCH_OPTIONS, Analysis, HandedOn, MethodTraits, Recoded, ReleaseNumber

if TYPE_CHECKING:
    from tableveil.policy.model import Policy

METHODS: tuple[MethodTraits[Any], ...] = (
    RELATED_TABLES,
    DIFFERENTIAL_PRIVACY,
    LOCAL_RECODING,
    RECORD_LEVEL,
    MICROAGGREGATION,
    AGGREGATED_COLUMNS,
    FULL_DOMAIN,
)
"""If a policy asks for several, the first of them refuses the others."""


def methods_of(policy: Policy) -> tuple[MethodTraits[Any], ...]:
    """The methods that a policy asks for: a valid one asks for one."""
    asked = tuple(method for method in METHODS if method.asked(policy))
    if policy.aggregated and MICROAGGREGATION not in asked:
        asked += (AGGREGATED_COLUMNS,)
    return asked or (FULL_DOMAIN,)
