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
    field_of,
)
from tableveil.hierarchy.domains import UncountableError, log_leaves, require_discrete
from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.labelling import check_rule, label_values, representatives
from tableveil.hierarchy.levels import AttributeLevels, attribute_levels
from tableveil.hierarchy.listed import check_levels
from tableveil.hierarchy.names import escaped, name_in, schema_of
from tableveil.hierarchy.preview import PreviewGroup, PreviewLevel, preview_levels
