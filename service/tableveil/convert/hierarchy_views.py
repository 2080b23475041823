"""Views of hierarchies: requests, and previews and comparisons as messages."""

from collections.abc import Sequence

from tableveil.convert.collect import Faults
from tableveil.convert.copied import copied
from tableveil.convert.hierarchies import hierarchy_from_proto, stored_hierarchy_to_proto
from tableveil.convert.names import table_from_proto
from tableveil.dictionary import Preview, PreviewRequest
from tableveil.errors import InvalidError
from tableveil.hierarchy import HierarchyDefinition, InlineLevels, PreviewGroup, PreviewLevel, StoredLevels
from tableveil.state.compare_hierarchies import HierarchyComparison, LevelDifference
from tableveil.v1 import hierarchy_service_pb2 as v1
from tableveil.v1 import policy_pb2

DEFAULT_GROUPS = 20
MOST_GROUPS = 1000
MOST_EXAMPLES = 1000


def preview_request_from_proto(message: v1.PreviewHierarchyRequest, rows: Sequence[tuple[str, ...]]) -> PreviewRequest:
    """The request of a preview; `rows` are those of an inline hierarchy, from any message.

    Raises:
        InvalidError: with all faults of the message.
    """
    faults = Faults()
    definition: HierarchyDefinition | None
    if message.hierarchy.WhichOneof("kind") == "inline":
        definition = InlineLevels(tuple(rows))
    else:
        definition = hierarchy_from_proto(message.hierarchy, message.column, "hierarchy", faults, before_upload=False)
    if bool(message.table.table) != bool(message.column):
        missing, given = ("column", "table") if message.table.table else ("table", "column")
        faults.add(missing, f"nothing beside a {given}", "a table and its column, or neither")
    _check_limit("groups", message.groups, MOST_GROUPS, faults)
    if definition is None or faults:
        raise InvalidError.about("PREVIEW_INVALID", "the hierarchy cannot be shown", faults.all())
    return PreviewRequest(
        definition,
        table_from_proto(message.table) if message.table.table else None,
        message.column,
        min(message.groups or DEFAULT_GROUPS, MOST_GROUPS),
        message.values,
    )


def stored_levels_from_proto(message: policy_pb2.StoredHierarchy) -> StoredLevels:
    """The reference to a stored hierarchy."""
    return StoredLevels(message.name, message.version)


def example_limit(message: v1.CompareHierarchiesRequest) -> int:
    """The requested number of examples of each kind of difference, limited to the largest allowed."""
    faults = Faults()
    _check_limit("examples", message.examples, MOST_EXAMPLES, faults)
    if faults:
        raise InvalidError.about("COMPARISON_INVALID", "the hierarchies cannot be compared", faults.all())
    return min(message.examples, MOST_EXAMPLES)


def _check_limit(field: str, number: int, most: int, faults: Faults) -> None:
    if number < 0:
        faults.add(field, str(number), f"a number from 0 to {most:,}")


def preview_to_proto(preview: Preview) -> v1.PreviewHierarchyResponse:
    """The message for a preview."""
    stored = stored_hierarchy_to_proto(preview.stored) if preview.stored else None
    return copied(preview, v1.PreviewHierarchyResponse, stored=stored, levels=map(_level, preview.levels))


def _level(level: PreviewLevel) -> v1.PreviewLevel:
    groups = {"first": map(_group, level.first), "last": map(_group, level.last)}
    rows = {"fewest_rows": level.fewest_records, "most_rows": level.most_records}
    return copied(level, v1.PreviewLevel, **groups, **rows)


def _group(group: PreviewGroup) -> v1.PreviewGroup:
    return copied(group, v1.PreviewGroup, rows=group.records)


def comparison_to_proto(comparison: HierarchyComparison) -> v1.CompareHierarchiesResponse:
    """The message for a comparison."""
    return v1.CompareHierarchiesResponse(
        earlier=stored_hierarchy_to_proto(comparison.earlier),
        later=stored_hierarchy_to_proto(comparison.later),
        values_added=comparison.added,
        values_removed=comparison.removed,
        values_unchanged=comparison.unchanged,
        levels=[_difference(level) for level in comparison.levels],
        added_examples=comparison.added_examples,
        removed_examples=comparison.removed_examples,
    )


def _difference(level: LevelDifference) -> v1.LevelDifference:
    examples = [v1.Relabelling(value=value, earlier=earlier, later=later) for value, earlier, later in level.examples]
    return copied(level, v1.LevelDifference, examples=examples)
