"""Releases as targets will see them, before any row is read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tableveil.errors import Fault
from tableveil.policy import AttributePolicy, Policy, Role
from tableveil.publishing.edition import Item, Target
from tableveil.release.label_columns import CLASS_ID, has_labels, label_columns
from tableveil.source import Source
from tableveil.source.model import Column
from tableveil.state.release_objects import ObjectKind


def planned_faults(target: Target, policy: Policy, source: Source) -> Iterator[Fault]:
    """Faults for which a target would refuse each release of the policy, by the policy's fields."""
    release, related = policy.release, policy.related
    columns, fields = _released(policy, source, [f"attributes[{i}]" for i in range(len(policy.attributes))])
    if policy.marker_column:
        columns.append((policy.marker_column, "BOOLEAN"))
        fields[policy.marker_column] = "marker_column"
    if release.class_id:
        columns.append((CLASS_ID, "BIGINT"))
    items = [Item(release.name, ObjectKind.ROWS, tuple(columns), fields=fields)]
    for event, rows in zip(related.events if related else (), source.related, strict=True):
        own = replace(policy, attributes=event.attributes)
        columns, fields = _released(own, rows, [event.field(i) for i in range(len(event.attributes))])
        items.append(Item(release.event_name(event.name), ObjectKind.EVENTS, tuple(columns), fields=fields))
    named = {item.name for item in items}
    items += [Item(name, ObjectKind.CLASSES, ()) for name in release.object_names if name not in named]
    yield from target.faults(items)


def _released(
    policy: Policy, source: Source, attribute_fields: Sequence[str]
) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """The columns of the source that are released, those beside labels, and the fields that they are of."""
    columns, fields = list[tuple[str, str]](), dict[str, str]()
    beside = {each.name: each.types for each in label_columns(policy, source)}
    attributes = {
        attribute.column: (field, attribute)
        for field, attribute in zip(attribute_fields, policy.attributes, strict=True)
        if attribute.role is not Role.IDENTIFYING
    }
    for column in source.columns:
        if column.name in attributes:
            field, attribute = attributes[column.name]
            own = [(column.name, _type(attribute, column)), *beside.get(column.name, ())]
            columns += own
            fields |= dict.fromkeys((name for name, _ in own), f"{field}.column")
    return columns, fields


def _type(attribute: AttributePolicy, column: Column) -> str:
    """The type of a released column; those of aggregates fit any target."""
    if attribute.aggregation is not None or (attribute.role is Role.QUASI_IDENTIFIER and has_labels(attribute)):
        return "VARCHAR"
    return column.released_type
