"""Releases as targets will see them, before any row is read."""

from __future__ import annotations

from collections.abc import Iterator

from tableveil.errors import Fault
from tableveil.policy import AttributePolicy, Policy, Role
from tableveil.publishing.edition import Item
from tableveil.publishing.target import Target
from tableveil.release.label_columns import CLASS_ID, has_labels, label_columns
from tableveil.source import Source
from tableveil.source.model import Column
from tableveil.state.release_objects import ObjectKind


def planned_faults(target: Target, policy: Policy, source: Source) -> Iterator[Fault]:
    """Faults for which a target would refuse each release of the policy, by the policy's fields."""
    release, beside = policy.release, {columns.name: columns.types for columns in label_columns(policy, source)}
    columns: list[tuple[str, str]] = []
    fields: dict[str, str] = {}
    attributes = {a.column: (i, a) for i, a in enumerate(policy.attributes) if a.role is not Role.IDENTIFYING}
    for column in source.columns:
        if column.name in attributes:
            i, attribute = attributes[column.name]
            own = [(column.name, _type(attribute, column)), *beside.get(column.name, ())]
            columns += own
            fields |= dict.fromkeys((name for name, _ in own), f"attributes[{i}].column")
    if policy.marker_column:
        columns.append((policy.marker_column, "BOOLEAN"))
        fields[policy.marker_column] = "marker_column"
    if release.class_id:
        columns.append((CLASS_ID, "BIGINT"))
    yield from target.faults([Item(release.name, ObjectKind.ROWS, tuple(columns), fields=fields)])
    others = [Item(name, ObjectKind.CLASSES, ()) for name in release.object_names[1:]]
    yield from target.faults(others)


def _type(attribute: AttributePolicy, column: Column) -> str:
    """The type of a released column; those of aggregates fit any target."""
    if attribute.aggregation is not None or (attribute.role is Role.QUASI_IDENTIFIER and has_labels(attribute)):
        return "VARCHAR"
    return column.released_type
