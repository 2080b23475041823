"""Resolves the event tables of people: their columns, roles and keys."""

from dataclasses import replace

from tableveil.backend import WarehouseSession
from tableveil.errors import Fault, NearestNames, nearest, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import AttributePolicy, EventTable, Policy, RelatedTables, Role
from tableveil.source.model import Column, Source
from tableveil.source.tables import columns_of, find_table, shown_type


def resolve_related(
    session: WarehouseSession, people: Source, policy: Policy, related: RelatedTables
) -> tuple[Source, Policy, list[Fault]]:
    """The people's source with those of their events, the policy with roles for all columns, and the faults found."""
    sources, events, faults = list[Source](), list[EventTable](), list[Fault]()
    for i, event in enumerate(related.events):
        source, resolved, found = _resolved(session, people, policy, event, f"tables.events[{i}]")
        sources += [source] if source is not None else []
        events.append(resolved)
        faults += found
    options = replace(related, events=tuple(events))
    methods = tuple(options if each is related else each for each in policy.methods)
    return replace(people, related=tuple(sources)), replace(policy, methods=methods), faults


def _resolved(
    session: WarehouseSession, people: Source, policy: Policy, event: EventTable, field: str
) -> tuple[Source | None, EventTable, list[Fault]]:
    reference, faults = find_table(session, event.table, field)
    if reference is None:
        return None, event, faults
    columns = columns_of(session, reference)
    types = {each.name: each.type for each in columns if isinstance(each, Column)}
    types |= {each[0]: each[1] for each in columns if not isinstance(each, Column)}
    hint = NearestNames(list(types))
    expected = f"a column of {shortened(str(reference))}"
    faults = [
        Fault(f"{event.field(j)}.column", shortened(attribute.column), expected, hint(attribute.column))
        for j, attribute in enumerate(event.attributes)
        if attribute.column not in types
    ]
    if event.person not in types:
        faults.append(Fault(f"{field}.person", shortened(event.person), expected, nearest(event.person, list(types))))
    else:
        faults += _check_key(people, policy, event, columns, types[event.person], field)
    listed = {attribute.column for attribute in event.attributes}
    added = []
    for each in columns:
        name = each.name if isinstance(each, Column) else each[0]
        role = next((a.role for a in event.attributes if a.column == name), policy.default_role)
        if name not in listed and name == event.person:
            role = Role.IDENTIFYING
        if role is None:
            hint_ = "List the column with its table and role, or state a default_role."
            faults.append(Fault(f"{field}.{shortened(name)}", "no role", "a role for every column", hint_))
            continue
        if not isinstance(each, Column) and role is not Role.IDENTIFYING:
            allowed = "a scalar type other than INTERVAL, and text without a collation"
            faults.append(Fault(f"{field}.{shortened(name)}", f"type {shown_type(each[1])}", allowed))
        if name not in listed:
            added.append(AttributePolicy(name, role, listed=False))
    scalars = tuple(each for each in columns if isinstance(each, Column))
    return Source(reference, scalars), replace(event, attributes=(*event.attributes, *added)), faults


def _check_key(
    people: Source, policy: Policy, event: EventTable, columns: list[Column | tuple[str, str]], type_: str, field: str
) -> list[Fault]:
    """The fault of a person's column whose values are not compared with the people's key as they are."""
    key = next((each for each in people.columns if each.name == policy.person_column), None)
    own = next((each for each in columns if isinstance(each, Column) and each.name == event.person), None)
    if key is None:
        return []
    # Types without a kind of their own have little in common: a database may fail to cast one to the other.
    of_others = key.kind is ValueKind.OTHER and own is not None and own.type != key.type
    if own is None or own.kind is not key.kind or of_others:
        expected = f"type {shown_type(key.type)}, as that of the people's key"
        return [Fault(f"{field}.person", f"type {shown_type(type_)}", expected, "Cast one of them in a table or view.")]
    return []
