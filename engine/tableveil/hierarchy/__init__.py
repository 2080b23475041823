"""Generalization hierarchies: how they are defined, what can be wrong with them, the labels and groups they give."""

from tableveil.hierarchy.definition import (
    SAFE_HARBOR_LEVEL,
    Dates,
    DateUnit,
    HierarchyDefinition,
    InlineLevels,
    Intervals,
    ListedHierarchy,
    MaskFrom,
    Redaction,
    RuleHierarchy,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborHierarchy,
    SafeHarborZip,
    StoredLevels,
    SuppressionOnly,
    TableLevels,
    field_of,
)
from tableveil.hierarchy.domains import UncountableError, log_leaves, require_discrete
from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.labelling import check_rule, label_values
from tableveil.hierarchy.levels import AttributeLevels, attribute_levels
from tableveil.hierarchy.listed import check_levels

__all__ = [
    "SAFE_HARBOR_LEVEL",
    "AttributeLevels",
    "DateUnit",
    "Dates",
    "HierarchyDefinition",
    "InlineLevels",
    "Intervals",
    "LabelledValues",
    "ListedHierarchy",
    "MaskFrom",
    "Redaction",
    "RuleHierarchy",
    "SafeHarborAge",
    "SafeHarborDate",
    "SafeHarborHierarchy",
    "SafeHarborZip",
    "StoredLevels",
    "SuppressionOnly",
    "TableLevels",
    "UncountableError",
    "ValueKind",
    "attribute_levels",
    "check_levels",
    "check_rule",
    "field_of",
    "label_values",
    "log_leaves",
    "require_discrete",
]
