"""Generalization hierarchies: their definitions, the checks of these, and the labels and groups they give."""

from tableveil.hierarchy.bounds import Bounds, Point, bounds_kind, in_order, listed_labels, read_bounds
from tableveil.hierarchy.definition import (
    SAFE_HARBOR_LEVEL,
    Combination,
    HierarchyDefinition,
    InlineLevels,
    ListedHierarchy,
    RuleHierarchy,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborHierarchy,
    SafeHarborZip,
    StoredLevels,
    TableLevels,
    escaped,
    field_of,
    name_in,
    schema_of,
)
from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.labelling import (
    UncountableError,
    check_rule,
    label_values,
    log_leaves,
    representatives,
    require_discrete,
)
from tableveil.hierarchy.levels import AttributeLevels, attribute_levels
from tableveil.hierarchy.listed import check_levels
from tableveil.hierarchy.preview import PreviewGroup, PreviewLevel, preview_levels
