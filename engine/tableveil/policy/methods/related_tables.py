"""Related tables, people and their events: all that can be wrong with asking for them, and what they work with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tableveil.errors import Fault, nearest, shortened
from tableveil.policy.methods.traits import MethodTraits
from tableveil.policy.privacy import PRIVACY_FIELDS, KAnonymity, KnownFacts, SensitiveShare
from tableveil.policy.quality import LossModel
from tableveil.policy.related import Anchor, EventTable, RelatedTables

if TYPE_CHECKING:
    from tableveil.policy.model import AttributePolicy, Policy

FIELD = "tables"
MOST_EVENT_TABLES = 3
_BECAUSE = "because of tables"


def check_related(policy: Policy, options: RelatedTables) -> Iterator[Fault]:
    """Faults of the tables and of their columns, and of all else that this method does not work with."""
    yield from _check_numbers(options)
    yield from _check_tables(policy, options)
    yield from _check_names(policy, options)
    yield from _check_order(policy, options)
    yield from _check_people(policy)
    for event in options.events:
        yield from _check_event(policy, event)
    yield from _check_time(policy, options)
    yield from _check_models(policy, options)
    yield from _check_rest(policy)


def _check_numbers(options: RelatedTables) -> Iterator[Fault]:
    limit, most = options.rows_limit, options.most_rows_of_a_person
    # Decimals raise an error when they are compared with NaN.
    if not (limit.is_finite() and 0 <= limit <= 1):
        yield Fault(f"{FIELD}.rows_limit", str(limit), "an exact decimal from 0 to 1")
    if most is not None and most < 1:
        yield Fault(f"{FIELD}.most_rows_of_a_person", str(most), "a number of at least 1, or nothing")


def _check_tables(policy: Policy, options: RelatedTables) -> Iterator[Fault]:
    number = len(options.events)
    if not 1 <= number <= MOST_EVENT_TABLES:
        hint = "Without events, name the table as source, and its key as person_column." if not number else ""
        yield Fault(f"{FIELD}.events", f"{number} event tables", f"1 to {MOST_EVENT_TABLES} event tables", hint)
    taken = {_folded(policy.source.schema, policy.source.table): "the table of the people"}
    for i, event in enumerate(options.events):
        field, key = f"{FIELD}.events[{i}]", _folded(event.table.schema, event.table.table)
        if not event.table.table:
            yield Fault(f"{field}.table", "nothing", "the name of a table")
        elif key in taken:
            hint = "Every row of a table is one event."
            yield Fault(f"{field}.table", f"{shortened(str(event.table))}, {taken[key]}", "each table once", hint)
        taken.setdefault(key, f"the table of {FIELD}.events[{i}]")


def _check_names(policy: Policy, options: RelatedTables) -> Iterator[Fault]:
    """Faults of names of event tables, which name objects of the release, and columns where those of all stand."""
    release, alone = policy.release, Counter[str]()
    for name in release.object_names:
        alone[name.casefold()] += 1
    for i, event in enumerate(options.events):
        field, found = f"{FIELD}.events[{i}].name", shortened(event.name)
        own = [release.event_name(event.name)]
        if release.label_columns:
            own += [release.event_columns_name(event.name), release.event_labels_name(event.name)]
        twice = [name for name in own if alone[name.casefold()] > 1]
        if not event.name:
            yield Fault(field, "nothing", "a name for the table, which its rows have in the release")
        elif "\0" in event.name:
            yield Fault(field, f"{found}, in which there is a null character", "a name without one")
        elif event.name.casefold() == policy.source.table.casefold():
            yield Fault(field, f"{found}, the name of the people's table", "another name", "Attributes name it.")
        elif twice:
            actual = f"{found}, so that two objects of the release would be called {shortened(twice[0])}"
            yield Fault(field, actual, "a name that no other table of the release needs")
    others = {attribute.column: "the people's table" for attribute in policy.attributes}
    for event in options.events:
        names = [event.qualified(attribute.column) for attribute in event.attributes]
        for j, name in enumerate(names):
            if name in others:
                actual = f"{shortened(name)}, which would be a column of {others[name]}, too"
                yield Fault(f"{event.field(j)}.column", actual, "a name that no column of another table has")
        others |= dict.fromkeys(names, shortened(event.name))


def _check_order(policy: Policy, options: RelatedTables) -> Iterator[Fault]:
    """The fault of columns that stand in another order than their tables: a fault names a column by its place."""
    place = sum(attribute.listed for attribute in policy.attributes)
    for event in options.events:
        if event.attributes and event.first != place:
            hint = "First the columns of the people, then those of each event table, in the order of tables.events."
            yield Fault(f"attributes[{event.first}].table", f"{shortened(event.name)} here", "its columns later", hint)
        place += sum(attribute.listed for attribute in event.attributes)


# --- columns --------------------------------------------------------------------------------------------------------


def _check_people(policy: Policy) -> Iterator[Fault]:
    for i, attribute in enumerate(policy.attributes):
        yield from _check_attribute(attribute, f"attributes[{i}]", policy.role_field(i))
    if policy.default_role == "INSENSITIVE":
        yield Fault("default_role", "INSENSITIVE", f"another role, {_BECAUSE}", _INSENSITIVE)


_INSENSITIVE = "Values that leave as they are single out rows, and these their people: make it a QUASI_IDENTIFIER."


def _check_attribute(attribute: AttributePolicy, field: str, role_field: str) -> Iterator[Fault]:
    """Faults of a column of any table."""
    if attribute.role == "INSENSITIVE" and attribute.listed:
        expected = f"QUASI_IDENTIFIER, SENSITIVE or IDENTIFYING, {_BECAUSE}"
        yield Fault(role_field, f"INSENSITIVE for {shortened(attribute.column)}", expected, _INSENSITIVE)
    if attribute.role == "QUASI_IDENTIFIER" and attribute.nulls == "SUPPRESS":
        hint = "NULL is a label of its own with VALUE."
        yield Fault(f"{field}.nulls", "SUPPRESS", f"VALUE or ERROR, {_BECAUSE}", hint)
    if attribute.aggregation is not None:
        yield Fault(f"{field}.aggregation", "an aggregation", f"a hierarchy, {_BECAUSE}")
    if attribute.acknowledged and attribute.role == "SENSITIVE":
        hint = "Rows of events may be few of a kind: nothing is released that a check refuses."
        yield Fault(f"{field}.acknowledged", "true", f"nothing, {_BECAUSE}", hint)
    if attribute.role != "SENSITIVE":
        return
    unused = {"hierarchy": attribute.hierarchy, "elements": attribute.listed_elements}
    for name, stated in unused.items():
        if stated is not None:
            hint = "sensitive_share compares whole values, and no distances."
            yield Fault(f"{field}.{name}", f"{name} of a sensitive column", f"nothing, {_BECAUSE}", hint)
    if attribute.order != type(attribute.order)():
        yield Fault(f"{field}.order", "an order", f"nothing, {_BECAUSE}", "No model with tables compares by order.")


def _check_event(policy: Policy, event: EventTable) -> Iterator[Fault]:
    place = next(i for i, each in enumerate(policy.related.events if policy.related else ()) if each is event)
    field = f"{FIELD}.events[{place}]"
    if not event.person:
        yield Fault(f"{field}.person", "nothing", "the column that has the people's key")
    key = policy.person_column or ""
    for j, attribute in enumerate(event.attributes):
        yield from _check_attribute(attribute, event.field(j), event.role_field(j))
        if attribute.role == "IDENTIFYING":
            continue
        if attribute.column == event.person:
            hint = "The release has a fresh key in its place."
            yield Fault(event.role_field(j), f"{attribute.role} for the people's key", "IDENTIFYING", hint)
        elif attribute.column.casefold() == "rowid":
            hint = "The database numbers rows by this name. Rename the column, or make it IDENTIFYING."
            yield Fault(f"{event.field(j)}.column", shortened(attribute.column), "another name", hint)
        elif attribute.column.casefold() == key.casefold():
            hint = "A fresh key of this name joins the tables of the release. Rename it, or make it IDENTIFYING."
            yield Fault(f"{event.field(j)}.column", shortened(attribute.column), "a name other than the key's", hint)
    if not event.quasi_identifiers:
        hint = "Somebody may know that there was such an event: suppression_only: {} is the least one can say."
        actual = f"no quasi-identifier of {shortened(event.name)}"
        yield Fault("attributes", actual, "at least one of each event table", hint)


def _check_time(policy: Policy, options: RelatedTables) -> Iterator[Fault]:
    time = options.relative_time
    if time is None:
        return
    field = f"{FIELD}.relative_time.column"
    if time.anchor is not Anchor.COLUMN:
        if time.column:
            yield Fault(field, f"{shortened(time.column)} with {time.anchor}", "nothing, or the anchor COLUMN")
        return
    if not time.column:
        yield Fault(field, "nothing", "a date of the people's table, because of the anchor COLUMN")
        return
    names = [attribute.column for attribute in policy.attributes]
    anchor = next((attribute for attribute in policy.attributes if attribute.column == time.column), None)
    if anchor is None and policy.default_role is None:
        yield Fault(field, shortened(time.column), "a column of the people's table", nearest(time.column, names))
    elif (policy.default_role if anchor is None else anchor.role) == "SENSITIVE":
        hint = "Released as it is, it would tell the dates of all events."
        yield Fault(field, f"{shortened(time.column)}, which is SENSITIVE", "IDENTIFYING or QUASI_IDENTIFIER", hint)


# --- models and all else --------------------------------------------------------------------------------------------


def _check_models(policy: Policy, options: RelatedTables) -> Iterator[Fault]:
    models = policy.privacy_models
    for kind, example in ((KAnonymity, "k_anonymity: {k: 5}"), (KnownFacts, "known_facts: {m: 2}")):
        number = sum(isinstance(model, kind) for model in models)
        if number != 1:
            found = f"{PRIVACY_FIELDS[kind]} {number} times" if number else f"no {PRIVACY_FIELDS[kind]}"
            yield Fault("privacy_models", found, f"one, {_BECAUSE}", f"For example: {example}.")
    for i, model in enumerate(models):
        if isinstance(model, SensitiveShare):
            yield from _check_share(policy, options, model, f"privacy_models[{i}].sensitive_share")


def _check_share(policy: Policy, options: RelatedTables, model: SensitiveShare, field: str) -> Iterator[Fault]:
    event = options.event(model.table) if model.table else None
    if model.table and event is None:
        names = [each.name for each in options.events]
        expected = "the name of an event table, or nothing for the people"
        yield Fault(f"{field}.table", shortened(model.table), expected, nearest(model.table, names))
        return
    attributes = policy.attributes if event is None else event.attributes
    found = next((attribute for attribute in attributes if attribute.column == model.column), None)
    if not model.column:
        yield Fault(f"{field}.column", "nothing", "the name of a sensitive column")
    elif found is not None and found.role != "SENSITIVE":
        actual = f"{shortened(model.column)}, whose role is {found.role}"
        yield Fault(f"{field}.column", actual, "a column with the role SENSITIVE")
    elif found is None and policy.default_role != "SENSITIVE":
        sensitive = [attribute.column for attribute in attributes if attribute.role == "SENSITIVE"]
        actual = f"{shortened(model.column)}, which is no sensitive column of that table"
        yield Fault(f"{field}.column", actual, "a sensitive column", nearest(model.column, sensitive))
    seen = set[str]()
    for i, value in enumerate(model.values):
        if value in seen:
            yield Fault(f"{field}.values[{i}]", f"{shortened(value)} more than once", "each value once")
        seen.add(value)


_TOGETHER = "Two releases of related tables are not judged together: replace the first one."


def _check_rest(policy: Policy) -> Iterator[Fault]:
    target = policy.release
    if policy.quality_model != LossModel():
        hint = "The score is the mean of the columns' losses, by their weights, with removed rows as lost."
        yield Fault("quality_model", "a quality model", f"nothing, {_BECAUSE}", hint)
    elif policy.leveled and not any(attribute.weight for _, attribute in policy.leveled):
        yield Fault("attributes[0].weight", "0 for every column", "a weight above 0")
    refused = {
        "record_column": (policy.record_column, "The people's table has one row for each person."),
        "no_person_digests": (policy.no_person_digests, "The ledger finds later releases of these people by them."),
        "suppressed_records.handling": (policy.suppressed_records != "DROP", "Suppressed people go with their events."),
        "release.kind": (target.kind != "TABLE", "All tables of the release are written as tables."),
        "release.class_id": (target.class_id, "The rows of events have their person's key, and no class."),
        "release.suppressed_by": (target.suppressed_by, "_about counts suppressed people and removed rows."),
        "release.close_open_ends": (target.close_open_ends, "Whether values of events lie beyond is not declared."),
        "release.estimates": (target.estimates, "Nobody measured what removed rows do to drawn values."),
        "release.left_behind": (target.left_behind is not None, _TOGETHER),
        "release.together_with": (target.together_with, _TOGETHER),
    }
    for field, (stated, hint) in refused.items():
        if stated:
            actual = str(stated) if isinstance(stated, str) else f"{field.rpartition('.')[2]} beside {FIELD}"
            yield Fault(field, actual, f"nothing, {_BECAUSE}", hint)


def _folded(*names: str) -> tuple[str, ...]:
    return tuple(name.casefold() for name in names)


RELATED_TABLES = MethodTraits(
    name="related tables",
    called=FIELD,
    field=FIELD,
    kind=RelatedTables,
    check=check_related,
    models=(KAnonymity, KnownFacts, SensitiveShare),
    models_hint="Others judge classes of records, and nothing that is known of events. Name values in sensitive_share.",
    quality=(LossModel,),
    search=("time_limit_seconds", "levels", "choose"),
    search_hint="People's and events' levels are searched together, by the rows that have to be removed.",
    refuses=(("population", "population"), ("game", "game")),
    shows_suppressed_hint="Suppressed people go with their events.",
    people=False,
)
